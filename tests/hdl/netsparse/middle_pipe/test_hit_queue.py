"""Turns properties that were found into the responses that they leave as."""

import random
from collections import deque

from cocotb.triggers import FallingEdge, RisingEdge

from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.middle_pipe.hit_queue import HitQueue
from sim.harness.bench import Bench
from sim.harness.payloads import unpack
from sim.harness.streams import STALLS, Stalls, crossed, cycle, never
from tests.hdl.netsparse.middle_pipe.bench import PIPE
from tests.simulated import simulated

PATH = PIPE.cache.latency  #: cycles of a lookup
PLACES = PIPE.entries(1).depth

test_hit_queue = simulated(HitQueue, [PIPE], __name__)


def some_hit(length):
    """Return an entry with a property, and the response's beats, with garbage after its end.

    The beats lack what their groups make of them.
    """
    bits = random.choice((0, *[random.getrandbits(PIPE.read_entry.size)] * 9))
    entry = unpack(PIPE.read_entry, bits)
    entry["read"]["length"] = length
    whole = random.randbytes(PIPE.cache.max_bytes)
    read, count = entry["read"], -(-length // BEAT_BYTES)
    beats = []
    for k in range(count):
        data = whole[BEAT_BYTES * k : min(length, BEAT_BYTES * (k + 1))]
        pr = read["pr"] | {"src": read["dest"]}
        beat = {"dest": read["pr"]["src"], "length": length, "pr": pr, "error": 0}
        beats.append((entry["home"], beat | {"last": int(k == count - 1)}, data))
    return entry, int.from_bytes(whole, "little"), beats


async def run(dut, lengths, sink, misses=0.0, most=1, cuts=0.0):
    """Look up as soon as there is room, for each of ``lengths``; some find nothing.

    They come in packets of up to ``most`` reads. Some cycles are ``cuts``.
    """
    bench = await Bench(dut, (never, sink)).begin()
    out = bench.o
    edge, path, expected, pushed, reserved = RisingEdge(dut.clk), deque(), [], [], []
    lengths, groups, left = deque(lengths), [[]], 0
    now, going = 0, True
    while going:
        await FallingEdge(dut.clk)
        room = bool(dut.room.value)  # a register
        dut.reserve.value = int(bool(lengths) and room)
        if lengths and room:
            hit = None if random.random() < misses else some_hit(lengths[0])
            lengths.popleft()
            path.append((now + PATH, hit))
            reserved.append(now)
        ends = path.popleft() if path and path[0][0] == now else None
        hits = ends is not None and ends[1] is not None
        dut.cancel.value, dut.push.value = int(ends is not None and not hits), int(hits)
        dut.comes.value = int(ends is not None)
        if ends is not None:
            left = (left or random.randint(1, most)) - 1 if path or lengths else 0
            dut.ends.value = int(not left)
        if hits:
            entry, whole, beats = ends[1]
            bench.set(entry=entry, property=whole)
            expected += beats
            groups[-1].append(len(beats))
        dut.cut.value = cut = random.random() < cuts
        over = (ends is not None and not left) or (cut and not hits)
        if over and groups[-1]:
            groups.append([])
        await edge
        if hits:
            pushed.append((cycle(), len(beats)))
        now += 1
        going = bool(lengths or path or len(out.beats) < len(expected))
    assert len(out.beats) == len(expected)
    for (egress, beat, data), got in zip(expected, out.beats, strict=True):
        fields = {**got["beat"]}
        octets = fields.pop("data").to_bytes(BEAT_BYTES, "little")
        assert {name: fields[name] for name in beat} == beat
        assert (fields["label"], octets[: len(data)]) == (egress, data)
    check_groups(out, groups, sink is never)
    return pushed, out.cycles, reserved


def check_groups(out, groups, flows):
    """Check that beats wait only where groups start and end, or others may follow."""
    beats = iter(zip(out.beats, out.cycles, strict=True))
    offered, before = 0, None
    for group in groups:
        for k, count in enumerate(group):
            for index in range(count):
                got, at = next(beats)
                last = index == count - 1
                offered += last
                assert got["beat"]["starts"] == (k == 0)
                assert got["beat"]["ends"] == (last and k == len(group) - 1)
                assert got["turn"] == (last and (got["beat"]["ends"] or offered == PLACES - 1))
                assert not flows or before in (None, at - 1), "a beat is late"
                offered, before = (0, None) if got["turn"] else (offered, at)


@crossed(stalls=STALLS, most=[1, PLACES // 2, 3 * PLACES])
async def each_hit_is_a_response(dut, stalls, most):
    """It may have any length that the cache holds, even to a beat's end; misses leave nothing."""
    sizes = [4, 60, 64, 65, 68, PIPE.cache.max_bytes - 4, PIPE.cache.max_bytes]
    lengths = random.choices(sizes, k=150)
    await run(dut, lengths, stalls.value[1], misses=0.4, most=most, cuts=0.02)


@crossed(length=[32, 128])
async def a_beat_leaves_every_cycle(dut, length):
    """It leaves one latency after its push; the cache's latency costs nothing."""
    pushed, left, reserved = await run(dut, [length] * 60, Stalls.NONE.value[1])
    first, beats = pushed[0]
    assert left == [*range(first + HitQueue.latency, first + HitQueue.latency + 60 * beats)]
    if beats == 1:
        assert reserved == [*range(reserved[0], reserved[0] + 60)]
