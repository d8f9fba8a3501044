"""Compares streams in compiled code with coroutines that do the same, cycle by cycle."""

import random
from collections import Counter
from itertools import product

import cocotb
import pytest
from amaranth.lib import data
from cocotb.triggers import ClockCycles, Event, RisingEdge, Timer

from sim.harness.payloads import unpack
from sim.harness.records import Reports, Tally
from sim.harness.stimulus import clocks
from sim.harness.streams import (
    STALLS,
    Sink,
    Source,
    always,
    crossed,
    cycle,
    edges,
    never,
    often,
    start,
    until,
)
from sim.harness.verilator import simulate
from tests.long import short_and_long
from tests.sim.harness.components import Join, JoinParams

CHANCES = {"never": 0.0, "rarely": 0.05, "often": 0.5}
PORTS = ("a", "go")
BEATS = [k * 0x123456789 & (1 << 40) - 1 for k in range(60)]


@pytest.mark.parametrize("clock", short_and_long(["cocotb's", "its own"], ["cocotb's"]))
def test_stimulus(clock, monkeypatch):
    """What a test began ends with it, though cocotb's log is silenced, as for mutants.

    Simulators that drive their clock by themselves are those for long simulations.
    """
    monkeypatch.setenv("INGATHER_OPTIMISE", "1")
    own = clock == "its own"
    simulate(Join(JoinParams()), __name__, env={"COCOTB_LOG_LEVEL": "ERROR"}, optimise=own)


def numbers(seed):
    """Yield the numbers of 32 bits that xorshift64* makes of a seed."""
    state, every = seed & (1 << 64) - 1 | 1, (1 << 64) - 1
    while True:
        state ^= state >> 12
        state ^= state << 25 & every
        state ^= state >> 27
        yield (state * 0x2545F4914F6CDD1D & every) >> 32


def pauses(seed, stall):
    """Yield whether a side pauses, in each cycle in which it is asked."""
    return (number / 2 < CHANCES[stall.__name__] * 2**31 for number in numbers(seed))


async def reference_source(dut, name, beats, stall):
    """Drive a stream as a source does; return when each beat moved."""
    valid, ready = getattr(dut, f"{name}_valid"), getattr(dut, f"{name}_ready")
    payload, moved = getattr(dut, f"{name}_payload", None), []
    seed = random.getrandbits(64)
    waits, garbage = pauses(seed, stall), numbers(~seed)
    for beat in beats:
        while next(waits):
            valid.value = 0
            if payload is not None:
                words = [next(garbage) for _ in range(0, len(payload), 32)]
                bits = sum(word << 32 * k for k, word in enumerate(words))
                payload.value = bits & (1 << len(payload)) - 1
            await RisingEdge(dut.clk)
        valid.value = 1
        if payload is not None:
            payload.value = beat
        await RisingEdge(dut.clk)
        while not ready.value:
            await RisingEdge(dut.clk)
        moved.append(cycle())
    valid.value = 0
    return moved


async def reference_sink(dut, name, stall):
    """Take beats as a sink does."""
    waits = pauses(random.getrandbits(64), stall)
    while True:
        getattr(dut, f"{name}_ready").value = not next(waits)
        await RisingEdge(dut.clk)


async def watch(dut, result):
    """Note what all ports show in each cycle."""
    ports = ("a_valid", "a_payload", "go_valid", "o_valid", "o_ready", "o_payload")
    while True:
        await RisingEdge(dut.clk)
        result.append([int(getattr(dut, port).value) for port in ports])


@crossed(stalls=STALLS, us=100)
async def compiled_code_and_coroutines_do_the_same(dut, stalls):
    await start(dut)
    traces, moves = [], []
    for compiled in (True, False):
        random.seed(7)
        first, result = cycle(), []
        watching = cocotb.start_soon(watch(dut, result))
        if compiled:
            sources = [Source(dut, name, stall=stalls.value[0]) for name in PORTS]
            sink = Sink(dut, "o", stall=stalls.value[1])
            sending = [cocotb.start_soon(source.send_all(BEATS)) for source in sources]
            sent = [await task for task in sending]
            sent = [source.cycles for source in sources]
            assert sink.beats == [(beat + 1) % (1 << 40) for beat in BEATS]
        else:
            sending = [
                cocotb.start_soon(reference_source(dut, name, BEATS, stalls.value[0]))
                for name in PORTS
            ]
            taking = cocotb.start_soon(reference_sink(dut, "o", stalls.value[1]))
            sent = [await task for task in sending]
            taking.cancel()
        watching.cancel()
        if compiled:
            sink.stop()
        moves.append([[moment - first for moment in moments] for moments in sent])
        traces.append(result)
        dut.o_ready.value = 0
        await ClockCycles(dut.clk, 3)
    assert moves[0] == moves[1]
    assert len(traces[0]) == len(traces[1])
    for own, reference in zip(*traces, strict=True):
        assert own == reference


@cocotb.test(timeout_time=100, timeout_unit="us")
async def python_wakes_only_for_what_it_waits_for(dut):
    await start(dut)
    before = clocks.engine().wakes()
    sending = [cocotb.start_soon(Source(dut, name, stall=often).send_all(BEATS)) for name in PORTS]
    sink = Sink(dut, "o", stall=often)
    await sink.wait_for(len(BEATS))
    for task in sending:
        await task
    await ClockCycles(dut.clk, 100)
    assert clocks.engine().wakes() - before <= len(sending) + 2


@cocotb.test(timeout_time=100, timeout_unit="us")
async def waits_end_at_their_edge(dut):
    """What is awaited next comes an edge later, whoever else waits."""
    await start(dut)
    for alone, count in product((True, False), (1, 2, 7)):
        looping = None if alone else cocotb.start_soon(watch(dut, []))
        first = cycle()
        await edges(dut.clk, count)
        assert cycle() == first + count
        await RisingEdge(dut.clk)
        assert cycle() == first + count + 1
        await ClockCycles(dut.clk, count)
        assert cycle() == first + 2 * count + 1
        await ClockCycles(dut.clk, count, rising=False)
        await RisingEdge(dut.clk)
        assert cycle() == first + 3 * count + 1
        now = int(dut.edges.value)
        await until(dut.clk, dut.edges, now + count)
        assert cycle() == first + 4 * count + 1
        await edges(dut.clk, 0)
        assert cycle() == first + 4 * count + 1
        if looping:
            looping.cancel()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def what_has_moved_is_seen_at_once(dut):
    """Lists that a test holds include this edge; after a Timer, those that are asked for do."""
    await start(dut)
    source, go, sink = Source(dut, "a"), Source(dut, "go"), Sink(dut, "o")
    beats, called, ended = sink.beats, [], Event()
    sink.add_callback(lambda beat: called.append((beat, cycle())))
    source.append(5, callback=lambda beat: called.append(("sent", beat)), event=ended)
    go.append(0)
    await RisingEdge(dut.clk)
    assert beats == [6]
    assert source.cycles == go.cycles == sink.cycles == [cycle()]
    await ended.wait()
    assert called == [("sent", 5), (6, cycle())] or called == [(6, cycle()), ("sent", 5)]
    source.append(6)
    go.append(0)
    await Timer(20, "ns")
    assert source.missing == 0
    assert [*sink.take().values()] == [6, 7]
    assert not sink.beats


@cocotb.test(timeout_time=100, timeout_unit="us")
async def stalls_change_and_beats_are_abandoned(dut):
    await start(dut)
    held = True
    source, go = Source(dut, "a"), Source(dut, "go", stall=lambda: held)
    sink = Sink(dut, "o", stall=always)
    for beat in (1, 2, 3):
        source.append(beat)
        go.append(0)
    await ClockCycles(dut.clk, 5)
    assert (source.missing, go.missing) == (3, 3)
    assert not dut.go_valid.value
    held, source.stall = False, often
    await ClockCycles(dut.clk, 2)
    assert dut.go_valid.value
    assert not sink.beats
    source.clear()
    assert source.missing == 1
    sink.stop()  # or the beat that goes away would break its rule
    source.abandon()
    await ClockCycles(dut.clk, 2)
    assert not dut.a_valid.value
    taker = Sink(dut, "o", stall=never)
    await source.send_all([8, 9])
    assert taker.beats == [9, 10]
    assert go.missing == 1


@cocotb.test(timeout_time=100, timeout_unit="us", expect_error=LookupError)
@cocotb.parametrize(kind=[Source, Sink])
async def a_stall_that_fails_ends_the_test(dut, kind):
    await start(dut)

    def wrong():
        raise LookupError("no such cycle")

    stream = kind(dut, "a" if kind is Source else "o", stall=wrong)
    await (stream.send_all([1]) if kind is Source else stream.wait_for(1))


@cocotb.test(timeout_time=100, timeout_unit="us")
async def what_a_port_reports(dut):
    """Sums and reports are those of a coroutine that looks at the port at each edge."""
    shape = data.StructLayout({"valid": 1, "user": 39})
    tally, reports = Tally(dut, "a_payload", shape), Reports(dut, "a_payload", shape)
    dut.a_payload.value = 3  # while there is a reset, nothing is reported
    await start(dut)
    dut.a_payload.value = 0
    waits = cocotb.start_soon(tally.reach("valid", 20)), cocotb.start_soon(reports.reach(20))
    sums, result = Counter(), []
    while len(result) < 20:
        dut.a_payload.value = random.choice([0, 2, random.getrandbits(40)])
        await RisingEdge(dut.clk)
        now = unpack(shape, int(dut.a_payload.value))
        assert not any(wait.done() for wait in waits)
        sums.update(now)
        result += [(now, cycle())] if now["valid"] else []
        assert tally.counts == sums
        assert reports.result == result
    dut.a_payload.value = 0
    await RisingEdge(dut.clk)
    assert all(wait.done() for wait in waits)
    tally.clear()
    assert not tally.counts.total()
