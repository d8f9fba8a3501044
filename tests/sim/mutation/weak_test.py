"""Tests the sample weakly, for the tests of mutation: they never fill it."""

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from sim.harness.streams import start
from sim.harness.verilator import simulate
from tests.sim.mutation.sample import Tally, TallyParams


def test_tally():
    run = simulate(Tally(TallyParams(bits=12)), __name__)
    assert run.passed
    simulate(Tally(TallyParams()), __name__)


def test_twice():
    simulate(Tally(TallyParams()), __name__)
    simulate(Tally(TallyParams()), __name__, plusargs=["+other"])


@cocotb.test(timeout_time=1, timeout_unit="us")
async def counts(dut):
    dut.step.value = 0
    await start(dut)
    dut.step.value = 1
    await ClockCycles(dut.clk, 6)
    dut.step.value = 0
    await ClockCycles(dut.clk, 3)
    assert dut.total.value == 6


@cocotb.test(timeout_time=1, timeout_unit="us")
async def is_reset(dut):
    dut.step.value = 1
    await start(dut)
    await RisingEdge(dut.clk)
    assert dut.total.value == 0
