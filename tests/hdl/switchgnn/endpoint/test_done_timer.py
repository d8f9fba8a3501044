"""When a worker says that it has all of a turn."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switchgnn.endpoint.done_timer import DoneTimer
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.protocol import Kind
from sim.harness.streams import Sink, cycle, never, often, start
from sim.harness.verilator import simulate

TIMEOUT = 50


def test_done_timer():
    simulate(DoneTimer(PRESETS["tiny"]), __name__)


async def begin(dut, stall=never):
    for name in ("turn", "complete", "over"):
        getattr(dut, name).value = 0
    dut.timeout.value = TIMEOUT
    await start(dut)
    return Sink(dut, "jobs", stall=stall), RisingEdge(dut.clk)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def says_it_at_once_and_again(dut):
    sink, edge = await begin(dut)
    for _ in range(3 * TIMEOUT):
        await edge
        assert not dut.said.value
    assert not sink.beats
    dut.turn.value, dut.complete.value = 77, 1
    await edge
    complete = cycle()
    for _ in range(3 * TIMEOUT + 20):
        await edge
    assert all(job["kind"] is Kind.DONE and job["turn"] == 77 for job in sink.beats)
    assert sink.cycles[0] == complete + DoneTimer.latency
    steps = [b - a for a, b in zip(sink.cycles, sink.cycles[1:], strict=False)]
    assert len(steps) == 3
    assert all(TIMEOUT < step < TIMEOUT + 5 for step in steps)
    assert dut.said.value


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stall=[never, often])
async def each_turn_is_said(dut, stall):
    """Said is true of the turn that is the oldest, and of no other."""
    sink, edge = await begin(dut, stall)
    for turn in range(1, 60):
        dut.turn.value, dut.complete.value = turn, random.random() < 0.5
        await edge
        assert not dut.said.value or turn == 0
        dut.complete.value = 1
        while not dut.said.value:
            await edge
        assert turn in [job["turn"] for job in sink.beats]
        for _ in range(random.choice([0, 1, 2, TIMEOUT, TIMEOUT + 3])):
            await edge
        dut.over.value = 1
        await edge
        dut.over.value = 0
    turns = [job["turn"] for job in sink.beats]
    assert turns == sorted(turns)
    assert {*range(1, 60)} <= {*turns}
