"""Tests when a worker says that it has all of a turn."""

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
    simulate(DoneTimer(PRESETS["tiny"]), __name__, registers=["timer"])


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
    """DONE is said of the oldest turn, and of no other, though two may differ in a single bit."""
    sink, edge = await begin(dut, stall)
    order = [random.getrandbits(32)]
    for bit in random.sample(range(32), 32):
        order.append(order[-1] ^ 1 << bit)
    for turn in order:
        dut.turn.value, dut.complete.value = turn, random.random() < 0.5
        await edge
        assert not dut.said.value
        dut.complete.value = 1
        while not dut.said.value:
            await edge
        assert turn in [job["turn"] for job in sink.beats]
        for _ in range(random.choice([0, 1, 2, TIMEOUT, TIMEOUT + 3])):
            await edge
        dut.over.value = 1
        await edge
        dut.over.value = 0
    places = [order.index(job["turn"]) for job in sink.beats]
    assert places == sorted(places)
    assert {*places} == {*range(len(order))}
    assert all(job == {**dict.fromkeys(job, 0), **told(job["turn"])} for job in sink.beats)


def told(turn):
    """Return what is not zero in a job."""
    return {"kind": Kind.DONE, "turn": turn}


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_job_that_waits_is_of_its_own_turn(dut):
    """It leaves when its turn is over, and says nothing of the next one."""
    for name in ("turn", "complete", "over", "timeout"):
        getattr(dut, name).value = 0
    dut.timeout.value, edge = 4, RisingEdge(dut.clk)
    await start(dut)
    turn = random.getrandbits(32)
    for bit in range(32):
        dut.turn.value, dut.complete.value, dut.jobs_ready.value = turn, 1, 1
        while not dut.said.value:
            await edge
        dut.jobs_ready.value = 0
        while not dut.jobs_valid.value:
            await edge
        dut.over.value = 1
        await edge
        turn ^= 1 << bit
        dut.turn.value, dut.complete.value, dut.over.value = turn, 0, 0
        for ready in (0, 1, 1, 1):
            dut.jobs_ready.value = ready
            await edge
            assert not dut.said.value
        assert not dut.jobs_valid.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def waits_as_long_as_it_is_told(dut):
    """It waits for the timeout, whatever the bits of that are."""
    sink, edge = await begin(dut)
    dut.complete.value = 1
    while not dut.said.value:
        await edge
    for bit in range(6, 32):
        timeout = random.getrandbits(32) & (1 << bit) - 1 | 1 << bit
        for limit in (timeout, 1 << bit):
            dut.timeout.value, dut.timer.value = limit, limit - (1 << bit)
            said = len(sink.beats)
            for _ in range(10):
                await edge
            assert len(sink.beats) == said
            dut.timer.value = limit - 5
            for cycles in range(12):
                await edge
                assert len(sink.beats) == said + (cycles > 5)
