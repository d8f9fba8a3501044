"""Tests how jobs start and end."""

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.switchgnn.endpoint.bundles import Cause, State
from hdl.switchgnn.endpoint.control import CALM, Control
from hdl.switchgnn.endpoint.params import PRESETS
from sim.harness.bench import Bench
from sim.harness.verilator import simulate


def test_control():
    simulate(Control(PRESETS["tiny"]), __name__)


class ControlBench(Bench):
    def __init__(self, dut):
        super().__init__(dut, quiet=1)

    async def pulse(self, name, value=1, cycles=2):
        await self.strobe(**{name: value})
        await self.wait(cycles)

    @property
    def state(self):
        assert int(self.dut.reset.value) == 1 - int(self.dut.run.value)
        return State(int(self.dut.state.value)), Cause(int(self.dut.cause.value))

    async def settle(self, cycles=CALM + 4):
        await self.wait(cycles)


@cocotb.test(timeout_time=10, timeout_unit="us")
@cocotb.parametrize(how=["stop", "finished", "failures"])
async def a_job_runs_and_ends(dut, how):
    bench = await ControlBench(dut).begin()
    await bench.settle(2)
    assert bench.state == (State.IDLE, Cause.NONE)
    await bench.pulse("stop")
    assert bench.state == (State.IDLE, Cause.NONE)
    for _ in range(3):
        await bench.pulse("start")
        assert bench.state == (State.RUNNING, Cause.NONE)
        assert dut.run.value
        assert not dut.halt.value
        await bench.pulse("start")
        assert bench.state == (State.RUNNING, Cause.NONE)
        dut.quiet.value, dut.inside.value = 0, 1
        await bench.pulse(how, cycles=3)
        cause = Cause.TABLES if how == "failures" else Cause.NONE
        assert bench.state == (State.STOPPING, cause)
        for quiet, inside in ((1, 1), (0, 0), (0, 1)):
            dut.quiet.value, dut.inside.value = quiet, inside
            await bench.settle()
            await bench.pulse("start")
            assert bench.state == (State.STOPPING, cause)
            assert dut.run.value
            assert dut.halt.value
        dut.quiet.value, dut.inside.value = 1, 0
        await bench.settle()
        ends = {"stop": State.IDLE, "finished": State.FINISHED, "failures": State.FAILED}
        assert bench.state == (ends[how], cause)
        assert not dut.run.value
        assert not dut.halt.value


@cocotb.test(timeout_time=10, timeout_unit="us")
async def the_first_failure_is_kept(dut):
    bench = await ControlBench(dut).begin()
    for first in range(len(Cause) - 1):
        await bench.pulse("start")
        dut.failures.value = 1 << first
        await RisingEdge(dut.clk)
        await bench.pulse("failures", (1 << len(Cause) - 1) - 1)
        await bench.pulse("failures", 1)
        await bench.settle()
        assert bench.state == (State.FAILED, list(Cause)[1 + first])
    await bench.pulse("failures", 3)  # without a job
    await bench.pulse("start")
    assert bench.state == (State.RUNNING, Cause.NONE)


@cocotb.test(timeout_time=10, timeout_unit="us")
@cocotb.parametrize(name=["quiet", "inside"])
async def a_job_ends_when_all_has_been_calm_for_a_while(dut, name):
    """A pause that is a cycle too short ends nothing, however often it comes."""
    bench = await ControlBench(dut).begin()
    await bench.pulse("start")
    busy = name == "inside"
    getattr(dut, name).value = busy
    await bench.pulse("stop")
    for _ in range(10):
        getattr(dut, name).value = not busy
        await ClockCycles(dut.clk, CALM - 1)
        getattr(dut, name).value = busy
        await ClockCycles(dut.clk, random.choice([1, 2]))
        assert bench.state == (State.STOPPING, Cause.NONE)
    getattr(dut, name).value = not busy
    await ClockCycles(dut.clk, CALM + 1)
    assert bench.state == (State.STOPPING, Cause.NONE)
    await RisingEdge(dut.clk)
    assert bench.state == (State.IDLE, Cause.NONE)
