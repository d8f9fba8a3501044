import random

import cocotb
import pytest
from amaranth.hdl import Signal
from amaranth.lib.wiring import Out, connect, flipped
from cocotb.triggers import ClockCycles

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.routing import ReadDispatch, ResponseRoute, UnitsParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Sink, benched, crossed
from sim.harness.verilator import simulate


@pytest.mark.parametrize("units", [1, 3])
def test_read_dispatch(units):
    simulate(ClockedDispatch(UnitsParams(units=units)), __name__, test_filter="[.]read_")


@pytest.mark.parametrize("units", [1, 3])
def test_response_route(units):
    simulate(ClockedRoute(UnitsParams(units=units)), __name__, test_filter="[.]response_")


class Clocked(Component):
    """Gives a clock to a part that may have no register, and so no clock of its own."""

    kind: type

    def __init__(self, params):
        self.part = self.kind(params)
        super().__init__(params, **self.part.signature.members, ticks=Out(1))

    def build(self, m):
        m.submodules.part = self.part
        for name, member in self.part.signature.members.items():
            inside, outside = getattr(self.part, name), getattr(self, name)
            for first, second in pairs(inside, outside):
                connect(m, first, flipped(second))
            if isinstance(inside, Signal):
                out = member.flow == Out
                m.d.comb += outside.eq(inside) if out else inside.eq(outside)
        m.d.sync += self.ticks.eq(~self.ticks)


class ClockedDispatch(Clocked):
    """Gives one to the dispatch, which has no register if there is one unit."""

    kind = ReadDispatch


class ClockedRoute(Clocked):
    """Gives one to the route, which has no register."""

    kind = ResponseRoute


def pairs(inside, outside):
    """Return the streams of a member, of which there may be an array."""
    if isinstance(inside, Signal):
        return []
    return zip(inside, outside, strict=True) if isinstance(inside, list) else [(inside, outside)]


def some_pr(**fields):
    bits = {"src": 32, "tid": 16, "idx": 64, "id": 32}
    return {name: random.getrandbits(width) for name, width in bits.items()} | fields


def some_reads(count):
    """Draw random reads; the first two have only zeros and only ones."""
    bits = {0: lambda width: 0, 1: lambda width: (1 << width) - 1}
    return [some_read(bits.get(k, random.getrandbits)) for k in range(count)]


def some_read(bits):
    pr = {"src": bits(32), "tid": bits(16), "idx": bits(64), "id": bits(32)}
    return {"dest": bits(32), "length": bits(13), "pr": pr}


@crossed(stalls=STALLS, us=100)
async def read_goes_to_one_of_the_servers(dut, stalls):
    bench, order = await Bench(dut, stalls).begin(), []
    units, reads, sinks = bench.params.units, bench.reads, bench.o
    for sink in sinks:
        sink.add_callback(order.append)
    provided = []
    for servers in range(1, 1 << units):
        dut.servers.value = servers
        seen = [len(sink.beats) for sink in sinks]
        beats = some_reads(60)
        provided += beats
        await reads.send_all(beats)
        await ClockCycles(dut.clk, 3)
        counts = [len(sink.beats) - before for sink, before in zip(sinks, seen, strict=True)]
        assert all(bool(count) == bool(servers >> k & 1) for k, count in enumerate(counts))
        if stalls.absent:
            share = 60 // servers.bit_count()
            assert all(count in (0, share) for count in counts), "not in turn"
            cycles = reads.cycles[-60:]
            assert cycles == list(range(cycles[0], cycles[0] + 60))
    assert order == provided
    if stalls.absent:
        moved = sorted(at for sink in sinks for at in sink.cycles)
        assert moved == [at + ReadDispatch.latency for at in reads.cycles]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def read_waits_for_a_server(dut):
    bench = Bench(dut)
    units, reads, sinks = bench.params.units, bench.reads, bench.o
    ready = [False] * units
    for k, sink in enumerate(sinks):
        sink.stall = lambda k=k: not ready[k]
    await bench.begin()
    ready[:] = [True] * units  # none of them is a server
    provided = some_reads(1)
    reads.append(provided[0])
    await ClockCycles(dut.clk, 10)
    assert not reads.cycles
    ready[:] = [False] * units  # all are, and none has room
    await ClockCycles(dut.clk, 2)
    dut.servers.value = (1 << units) - 1
    await ClockCycles(dut.clk, 10)
    assert not reads.cycles
    ready[-1] = True
    await ClockCycles(dut.clk, 10)
    assert sinks[-1].beats == provided


def some_responses(units, count):
    """Draw responses of one to three beats, in one list; some are for nobody."""
    beats, lost = [], 0
    single = [1 << bit for bit in range(16) if 1 << bit >= units]
    for k in range(count):
        tid = random.choice((*range(units), units, 0xFFFF, random.choice(single), units + 32))
        tid = single[k] if k < len(single) else tid
        lost += tid >= units
        pr = some_pr(tid=tid)
        length = random.randint(1, 3)
        for left in reversed(range(length)):
            fields = {"dest": 5, "length": 64 * length, "pr": pr, "error": 0}
            data = random.getrandbits(8 * BEAT_BYTES)
            beats.append(fields | {"last": left == 0, "data": data})
    return beats, lost


@crossed(stalls=STALLS, us=100)
async def response_goes_to_who_requested(dut, stalls):
    bench = Bench(dut, stalls)
    units, responses, sinks = bench.params.units, bench.responses, bench.o
    lost_seen = bench.record("lost")
    await bench.begin()
    beats, lost = some_responses(units, 150)
    await responses.send_all(beats)
    await ClockCycles(dut.clk, 3)
    for k, item in enumerate(sinks):
        assert item.beats == [beat for beat in beats if beat["pr"]["tid"] == k]
    assert len(lost_seen.beats) == lost > 0
    if stalls.absent:
        first = responses.cycles[0]
        assert responses.cycles == list(range(first, first + len(beats)))
        assert all({*item.cycles} <= {*responses.cycles} for item in sinks)


@benched(Bench, us=100)
async def response_of_one_waits_alone(bench):
    """All wait behind a unit that stops, but those for nobody are never in the way."""
    units, responses, sinks = bench.params.units, bench.responses, bench.o
    sinks[0].stop()
    beats = [beat for beat in some_responses(units, 40)[0] if beat["pr"]["tid"] >= units]
    await responses.send_all(beats)
    assert len(responses.cycles) == len(beats)
    stuck = beats[0] | {"pr": some_pr(tid=0), "last": 1}
    responses.append(stuck)
    await bench.wait(20)
    assert len(responses.cycles) == len(beats)
    assert bench.dut.o_0_valid.value
    taker = Sink(bench.dut, "o_0")
    await bench.wait(5)
    assert taker.beats == [stuck]
