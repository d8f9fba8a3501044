"""Packets of several sources share a port: by strict levels, and by weight within a level."""

import random
from collections import Counter

import cocotb
from cocotb.triggers import ClockCycles

from hdl.switch.forwarding.port_scheduler import PortScheduler, PortSchedulerParams
from sim.harness.streams import STALLS, Sink, Source, always, crossed, cycle, never, start
from sim.harness.verilator import params_in_simulator
from tests.simulated import simulated

SIZES = [PortSchedulerParams(sources=count) for count in (1, 2, 5)]

test_port_scheduler = simulated(PortScheduler, SIZES, __name__, each=True)


def packets(source, lengths):
    """Return the beats of packets of ``lengths`` that say where they come from."""
    return [
        {"data": random.getrandbits(504) << 8 | source, "keep": 2**64 - 1, "last": n == length - 1}
        for length in lengths
        for n in range(length)
    ]


def some_lengths(count):
    return [random.choice((1, 1, 2, 3, 9)) for _ in range(count)]


def split(beats):
    """Return packets with their sources; none is mixed with another."""
    result, packet = [], []
    for beat in beats:
        packet.append(beat)
        if beat["last"]:
            (source,) = {item["data"] & 255 for item in packet}
            result.append((source, packet))
            packet = []
    assert not packet
    return result


class Bench:
    """Has a source for each input; settings may change at any time."""

    def __init__(self, dut, stalls=(None, None)):
        self.dut, self.count = dut, params_in_simulator(PortSchedulerParams).sources
        source, sink = ({"stall": stall} if stall else {} for stall in stalls)
        self.sources = [Source(dut, f"i_{k}", **source) for k in range(self.count)]
        self.sink = Sink(dut, "o", **sink)
        self.set([0] * self.count, [1] * self.count)
        dut.hold.value = dut.coming.value = 0

    def set(self, levels, weights):
        for k in range(self.count):
            getattr(self.dut, f"level_{k}").value = levels[k]
            getattr(self.dut, f"weight_{k}").value = weights[k]

    async def leave(self, sent):
        """Wait until all of ``sent`` has left, and check that it left whole and in order."""
        total = sum(map(len, sent))
        await self.sink.wait_for(total)
        await ClockCycles(self.dut.clk, 5)
        assert len(self.sink.beats) == total
        left = split(self.sink.beats)
        for k, own in enumerate(sent):
            assert [beat for source, packet in left if source == k for beat in packet] == own
        return left

    def never_idle(self):
        cycles = self.sink.cycles
        assert list(cycles) == list(range(cycles[0], cycles[0] + len(cycles)))


@crossed(stalls=STALLS)
async def all_packets_leave_whole_and_in_order(dut, stalls):
    """So they do while levels, weights and holds change; without stalls the latency is stated."""
    bench = Bench(dut, stalls.value)
    sent = [packets(k, some_lengths(60)) for k in range(bench.count)]
    await start(dut)
    for source, own in zip(bench.sources, sent, strict=True):
        source.extend(own)
    for _ in range(30):
        some = [random.getrandbits(3) for _ in range(bench.count)]
        bench.set(some, [random.choice((0, 1, 200)) for _ in some])
        dut.hold.value = random.getrandbits(bench.count)
        dut.coming.value = random.getrandbits(bench.count)  # what was announced need not come
        await ClockCycles(dut.clk, random.randint(1, 9))
    dut.hold.value = dut.coming.value = 0
    await bench.leave(sent)
    if stalls.absent:
        taken = sorted(at for source in bench.sources for at in source.cycles)
        assert bench.sink.cycles == [at + PortScheduler.latency for at in taken]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def higher_levels_go_first(dut):
    """A source sends only when no higher one has a packet, and a beat leaves in every cycle."""
    bench = Bench(dut)
    order = random.sample(range(bench.count), bench.count)  # lowest first
    bench.set([order.index(k) for k in range(bench.count)], [1] * bench.count)
    sent = [packets(k, some_lengths(40)) for k in range(bench.count)]
    await start(dut)
    bench.sources[order[0]].extend(sent[order[0]])
    await ClockCycles(dut.clk, 20)
    for k in order[1:]:
        bench.sources[k].extend(sent[k])
    left = await bench.leave(sent)
    bench.never_idle()
    sources = [source for source, _ in left]
    higher = [source for source in sources if source != order[0]]
    assert higher == sorted(higher, key=order.index, reverse=True)
    begins = sources.index(order[-1])
    assert sources[begins : begins + len(higher)] == higher


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def weights_share_a_level(dut):
    """Beats are shared in proportion to weights, whatever the packets' lengths."""
    bench = Bench(dut)
    for weights in ([1] * bench.count, [2 * k + 1 for k in range(bench.count)]):
        for lengths in ((1, 1), (2, 9), (20, 20), (1, 30)):
            bench.set([5] * bench.count, weights)
            await start(dut)
            before = len(bench.sink.beats)
            for k, source in enumerate(bench.sources):
                source.extend(packets(k, [lengths[k % 2]] * (900 // lengths[k % 2])))
            await bench.sink.wait_for(before + 900)
            beats = Counter(beat["data"] & 255 for beat in bench.sink.beats[before:][:900])
            for k, weight in enumerate(weights):
                assert abs(beats[k] - 900 * weight / sum(weights)) <= 32 + 2 * max(lengths), beats
            for source in bench.sources:
                source.abandon()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_source_of_weight_zero_takes_what_is_left(dut):
    bench = Bench(dut)
    weights = [0] + [7] * (bench.count - 1)
    bench.set([2] * bench.count, weights)
    sent = [packets(k, [3] * 30) for k in range(bench.count)]
    await start(dut)
    for source, own in zip(bench.sources, sent, strict=True):
        source.extend(own)
    left = await bench.leave(sent)
    bench.never_idle()
    early = [source for source, _ in left[: 30 * (bench.count - 1)]]
    assert early.count(0) <= 3 + len(early) // 20


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def held_sources_begin_no_packet(dut):
    """What has begun goes on to its end; sources that are not held pass in every cycle."""
    bench = Bench(dut)
    sent = [packets(k, [4] * 40) for k in range(bench.count)]
    await start(dut)
    for source, own in zip(bench.sources, sent, strict=True):
        source.extend(own)
    for _ in range(12):
        await ClockCycles(dut.clk, random.randint(5, 9))
        bench.sink.stall = random.choice((never, always))  # packets may wait to begin, too
        await ClockCycles(dut.clk, random.randint(1, 9))
        held = random.randrange(1, 1 << bench.count)
        dut.hold.value = held
        at = cycle() + 1
        await ClockCycles(dut.clk, 2)
        bench.sink.stall = never
        await ClockCycles(dut.clk, 12)
        dut.hold.value = 0
        for k, source in enumerate(bench.sources):
            began = [moved for moved in list(source.cycles)[::4] if at < moved <= at + 12]
            assert not (held >> k & 1 and began)
    await bench.leave(sent)
    if bench.count > 1:
        dut.hold.value = 1
        bench.sources[0].extend(own := packets(0, [1]))
        bench.sources[1].extend(others := packets(1, [1] * 50))
        await ClockCycles(dut.clk, 70)
        assert split(bench.sink.beats)[-50:] == [(1, [beat]) for beat in others]
        assert bench.sink.cycles[-1] - bench.sink.cycles[-50] == 49
        dut.hold.value = 0
        await bench.leave([sent[0] + own, sent[1] + others, *sent[2:]])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_idle_port_takes_a_packet_soon(dut):
    """It takes one that was announced at once."""
    bench = Bench(dut)
    sent = [[] for _ in range(bench.count)]
    await start(dut)
    for _ in range(30):
        k = random.randrange(bench.count)
        sent[k] += (own := packets(k, [2]))
        announced = random.getrandbits(1)
        dut.coming.value = announced << k
        await ClockCycles(dut.clk, 1)
        dut.coming.value = 0
        bench.sources[k].extend(own)
        at = cycle() + 1  # the cycle in which it is offered
        await ClockCycles(dut.clk, 9)
        wait = 0 if announced else PortScheduler.wait
        assert bench.sink.cycles[-2] == at + wait + PortScheduler.latency
    await bench.leave(sent)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def equal_sources_go_in_turn(dut):
    bench = Bench(dut)
    bench.set([3] * bench.count, [255] * bench.count)
    sent = [packets(k, some_lengths(30)) for k in range(bench.count)]
    await start(dut)
    for source, own in zip(bench.sources, sent, strict=True):
        source.extend(own)
    sources = [source for source, _ in await bench.leave(sent)]
    bench.never_idle()
    for at in range(bench.count, len(sources) - bench.count):
        assert sources[at + bench.count] == sources[at]
