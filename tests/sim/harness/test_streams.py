"""Tests sources, sinks and monitors on a component that joins streams."""

import cocotb
import pytest
from cocotb import handle
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from cocotb_bus.scoreboard import Scoreboard

from sim.harness import clock, streams
from sim.harness.streams import Monitor, Sink, Source, crossed
from sim.harness.verilator import simulate
from tests.sim.harness.components import Join, JoinParams


def test_join():
    ran = simulate(Join(JoinParams()), __name__)
    assert len(ran.tests) == 3 + 3


@crossed(stalls=streams.STALLS, us=100)
async def joins(dut, stalls):
    await streams.start(dut)
    busy_source, busy_sink = stalls
    values = [k % 63 for k in range(100)]
    source = Source(dut, "a", stall=busy_source)
    go = Source(dut, "go", stall=streams.rarely if busy_source is streams.often else busy_source)
    sink = Sink(dut, "o", stall=busy_sink)
    board = Scoreboard(dut)
    board.add_interface(sink, [value + 1 for value in values])
    watch = Monitor(dut, "a")
    for value in values:
        source.append(value)
        go.append(0)
    await sink.wait_for(len(values))
    assert watch.beats == values
    assert watch.cycles == sink.cycles == source.cycles
    assert board.result
    if stalls.absent:
        assert sink.cycles[-1] - sink.cycles[0] == len(values) - 1
    else:
        assert sink.cycles[-1] - sink.cycles[0] > len(values)
    sink.stop()
    go.append(0)
    await source.send_all([])  # sends nothing, and so is done at once
    source.append(1)
    await ClockCycles(dut.clk, 5)
    assert len(watch.beats) == len(values)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def cycles_are_edges(dut):
    cycles = await streams.start(dut)
    assert int(cycles) == 0
    for count in range(1, 50):
        await RisingEdge(dut.clk)
        assert int(cycles) == count
        # Counted by hardware, read before this edge counts; the first edge ended the reset.
        assert int(dut.edges.value) == count - 1


@cocotb.test(timeout_time=100, timeout_unit="us")
async def beats_of_a_test_start_anew(dut):
    await streams.start(dut)
    go = cocotb.start_soon(streams.send(dut, "go", [0] * 3))
    sent = cocotb.start_soon(streams.send(dut, "a", [1, 2, 3]))
    beats, cycles = await streams.receive(dut, "o", 3)
    assert beats == [2, 3, 4]
    assert await sent == await go == cycles


@cocotb.test(timeout_time=100, timeout_unit="us")
async def values_are_cocotb_s_own(dut):
    """What is read and written in a shorter way has the same types, values and errors."""
    await streams.start(dut)
    own = handle.ValueObjectBase.value
    for signal, values in ((dut.a_valid, (0, 1, True)), (dut.a_payload, (0, 1, (1 << 40) - 1))):
        assert type(signal).value is not own
        for value in values:
            for provided in (value, type(signal.value)(value, *[40][: len(signal) // 40])):
                signal.value = provided
                await RisingEdge(dut.clk)
                assert type(signal.value) is type(own.fget(signal))
                assert signal.value == own.fget(signal) == value
                assert str(signal.value) == f"{value:0{len(signal)}b}"
        for wrong, error in ((1 << len(signal), ValueError), ("2", ValueError), (0.5, TypeError)):
            with pytest.raises(error):
                signal.value = wrong
    assert dut.a_payload.value[39:38] == 3
    dut.a_payload.value = -1
    await ReadOnly()
    assert dut.a_payload.value == (1 << 40) - 1
    for signal in (dut.a_valid, dut.a_payload):
        with pytest.raises(RuntimeError, match="ReadOnly"):
            signal.value = 0


def test_counts_edges(monkeypatch):
    """What the simulator says of time is tested in test_streams.py."""
    monkeypatch.setattr(clock, "convert", lambda value, unit, to: value * 1000)
    for picoseconds, count in ((0, 1), (3999, 1), (4000, 2), (400_010, 101)):
        monkeypatch.setattr(clock, "get_sim_time", lambda unit, now=picoseconds: now)
        assert clock.cycle() == count
