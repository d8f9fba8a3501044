"""Splits beats with any number of completions that begin, end and go on into steps."""

import random

import pytest
from amaranth.lib import data

from hdl.pcie.completion_splitter import CompletionSplitter
from hdl.pcie.params import ReadRequesterParams
from sim.harness.bench import Bench
from sim.harness.coincidences import reset
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, Sink, crossed
from sim.harness.verilator import simulate
from tests.hdl.pcie.read_bench import RcPacker


@pytest.mark.parametrize("data_bits", [256, 512])
def test_completion_splitter(data_bits):
    params = ReadRequesterParams(data_bits=data_bits, tags=4, max_read=128)
    simulate(CompletionSplitter(params), __name__)


def some_packet(longest):
    """Draw a descriptor of any bits, and at most this many dwords of data."""
    count = 3 + random.randrange(longest + 1)
    return [random.choice([0, random.getrandbits(32), 0xFFFFFFFF]) for _ in range(count)]


def steps_of(rest, packets):
    """Return what one beat has of a packet that goes on and of those that begin.

    ``rest`` and ``packets`` are of (first dword in the beat, dwords here, whether it ends, whole).
    """
    empty = {"valid": 0, "count": 0, "ends": 0}
    tails = [{"valid": 1, "count": rest[1], "ends": rest[2]}] if rest else [empty]
    heads = [
        {
            "valid": 1,
            "segment": first // 4,
            "count": count - 3,
            "ends": ends,
            "descriptor": sum(whole[k] << 32 * k for k in range(3)),
            "remaining": -(-(whole[0] >> 16 & 0x1FFF) // 4),  # of whose bytes, in dwords
        }
        for first, count, ends, whole in packets
    ]
    if not heads:
        return [(tails[0], None)]
    return [(tails[0], heads[0]), *((empty, head) for head in heads[1:])]


def rc_beat(packer):
    return dict(zip(("tdata", "tuser"), packer.beat(), strict=True))


@crossed(stalls=STALLS, longest=[2, 12, 40])
async def each_begin_has_a_step(dut, stalls, longest):
    bench = Bench(dut, stalls)
    params, packer, rc = bench.params, RcPacker(bench.params), bench.rc
    discontinue = pack(packer.user, {"discontinue": 1})
    head = data.StructLayout(params.step["head"].shape.members | {"descriptor": 96})
    shape = data.StructLayout(params.step.members | {"head": head})  # any bits in a descriptor
    steps = Sink(dut, "steps", stall=bench.sink_stall, shape=shape)
    await bench.begin()
    # A reset in the midst of a completion, and of those that begin in a beat.
    before = RcPacker(params)
    before.packets.extend((some_packet(longest), 0) for _ in range(random.randrange(1, 20)))
    while before.packets:
        await rc.send_all([rc_beat(before)])
    await reset(dut, steps.take, rc)
    packer.packets.extend((some_packet(longest), 0) for _ in range(60))
    wholes = [dwords for dwords, _ in packer.packets]
    beats, expected, at, left = [], [], 0, 0  # dwords of the packet before ``at`` that are left
    while packer.packets or packer.rest:
        beats.append(rc_beat(packer))
        rest, begins, place = None, [], 0
        if left:
            count = min(left, params.lanes)
            rest, left = (0, count, count == left), left - count
            place = count
        place = -(-place // 4) * 4
        while place < params.lanes and not left and at < len(wholes):
            whole = wholes[at]
            count = min(len(whole), params.lanes - place)
            begins.append((place, count, count == len(whole), whole))
            at, left = at + 1, len(whole) - count
            place += -(-count // 4) * 4
        # Lost data, of whatever lies in the beat.
        corrupt = random.getrandbits(1)
        beats[-1]["tuser"] |= corrupt * discontinue
        expected += [(*step, corrupt) for step in steps_of(rest, begins)]
    await rc.send_all(beats)
    await steps.wait_for(len(expected))
    for k, (step, (tail, head, corrupt)) in enumerate(zip(steps.beats, expected, strict=True)):
        assert step["corrupt"] == corrupt, k
        assert step["tail"] == tail, k
        assert step["head"]["valid"] == (head is not None), k
        if head is not None:
            assert step["head"] == head, k
    if stalls.absent:
        assert steps.cycles[-1] - steps.cycles[0] == len(expected) - 1
