import random
from functools import partial

import cocotb
from cocotb.triggers import ClockCycles

from hdl.common.stream_arbiter import StreamArbiter, StreamArbiterParams
from sim.harness.streams import STALLS, Sink, Source, crossed, cycle, start
from sim.harness.upset import start_upset
from sim.harness.verilator import params_in_simulator
from tests.hdl.common.cuts import stand_still
from tests.rejects import rejects
from tests.simulated import simulated

SIZES = [
    StreamArbiterParams(shape=9, count=1, last_bit=8),
    StreamArbiterParams(shape=8, count=2),
    StreamArbiterParams(shape=40, count=5, last_bit=0),
    StreamArbiterParams(shape=9, count=3, last_bit=8, holds=True),
]

test_stream_arbiter = simulated(
    StreamArbiter, SIZES, __name__, each=True, plusargs=["+verilator+noassert"]
)


test_rejects = rejects(
    partial(StreamArbiterParams, shape=4, count=2),
    ({"last_bit": 4}, "last_bit must be a whole number from 0 to 3: 4"),
)


def packets(params, count):
    """Return ``count`` packets of any length; without a last bit they have a beat each."""
    built = []
    for _ in range(count):
        length = 1 if params.last_bit is None else random.choice((1, 1, 2, 5))
        beats = [random.getrandbits(params.width) for _ in range(length)]
        if params.last_bit is not None:
            beats = [beat & ~(1 << params.last_bit) for beat in beats]
            beats[-1] |= 1 << params.last_bit
        built.append(beats)
    return built


def offer(source, packets):
    source.extend([beat for packet in packets for beat in packet])


def split(params, beats):
    """Return packets again, with their inputs; none is mixed with another."""
    result, at = [], 0
    while at < len(beats):
        index, packet = beats[at]["index"], []
        while not packet or not ends(params, packet[-1]):
            assert beats[at]["index"] == index, "packets are mixed"
            packet.append(beats[at]["payload"])
            at += 1
        result.append((index, packet))
    return result


def ends(params, beat):
    return params.last_bit is None or beat >> params.last_bit & 1


@crossed(stalls=STALLS)
async def every_packet_whole_and_in_turn(dut, stalls):
    params = params_in_simulator(StreamArbiterParams)
    sent = [packets(params, 40) for _ in range(params.count)]
    await start_upset(dut)
    sources = [Source(dut, f"i_{k}", stall=stalls.value[0]) for k in range(params.count)]
    sink = Sink(dut, "o", stall=stalls.value[1])
    for source, own in zip(sources, sent, strict=True):
        offer(source, own)
    total = sum(len(packet) for own in sent for packet in own)
    await sink.wait_for(total)
    await ClockCycles(dut.clk, 5)
    assert len(sink.beats) == total
    left = split(params, sink.beats)
    assert [[packet for index, packet in left if index == k] for k in range(params.count)] == sent
    taken = sorted(at for source in sources for at in source.cycles)
    assert taken == sorted(set(taken))
    if stalls.absent:
        # All wait all the time, so it is each one's turn, and a beat moves in every cycle.
        order = [params.count - 1, *range(params.count - 1)]
        assert [index for index, _ in left] == order * 40
        assert sink.cycles == list(range(sink.cycles[0], sink.cycles[0] + total))
        assert sink.cycles == [at + StreamArbiter.latency for at in taken]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def inputs_do_not_see_the_output(dut):
    """Whatever the output's reader does within a cycle, nothing else moves."""
    readies = [getattr(dut, f"i_{k}_ready") for k in range(params_in_simulator().count)]
    await stand_still(dut, *readies, dut.o_valid, dut.o_payload, inputs=[dut.o_ready])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def any_of_them_share_the_output(dut):
    """One may come alone after another was the last: who is idle holds up nobody."""
    params = params_in_simulator(StreamArbiterParams)
    await start(dut)
    sources = [Source(dut, f"i_{k}") for k in range(params.count)]
    sink = Sink(dut, "o")
    for _ in range(40):
        some = random.sample(range(params.count), random.randint(1, params.count))
        sent = {k: packets(params, 4) for k in some}
        sink.beats.clear()
        for k in some:
            offer(sources[k], sent[k])
        total = sum(len(packet) for own in sent.values() for packet in own)
        if params.holds:  # what has begun goes on to its end, and then nothing moves
            await ClockCycles(dut.clk, random.randint(1, 9))
            dut.hold.value = (1 << params.count) - 1
            await ClockCycles(dut.clk, 12)
            assert not sink.beats or ends(params, sink.beats[-1]["payload"])
            assert not sink.cycles or sink.cycles[-1] < cycle() - 2
            dut.hold.value = 0
        await sink.wait_for(total)
        left = split(params, sink.beats)
        assert {k: [packet for index, packet in left if index == k] for k in some} == sent
        assert params.holds or sink.cycles[-1] - sink.cycles[-total] == total - 1
