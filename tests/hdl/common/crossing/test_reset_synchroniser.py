import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from gen.base.emission.emit import emit
from hdl.common.crossing.reset_synchroniser import ResetSynchroniser, ResetSynchroniserParams
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate


def test_reset_synchroniser():
    simulate(ResetSynchroniser(ResetSynchroniserParams(stages=3)), __name__)


def test_registers_that_the_constraint_names():
    verilog = emit(ResetSynchroniser(ResetSynchroniserParams())).verilog
    assert (
        "always @(posedge clk or posedge i) begin\n    if (i) begin\n      stages <= 4'd15;"
        in verilog
    )
    assert '(* ASYNC_REG = "TRUE" *) reg [3:0] stages' in verilog


@cocotb.test(timeout_time=50, timeout_unit="us")
async def catches_what_no_edge_sees_and_ends_in_its_time(dut):
    stages = params_in_simulator(ResetSynchroniserParams).stages
    dut.i.value = 0
    await start(dut)
    await ClockCycles(dut.clk, stages + 3)
    for _ in range(20):
        assert not dut.reset.value
        await Timer(random.randrange(100, 1500), unit="ps")  # between edges, 4 ns apart
        dut.i.value = 1
        await Timer(200, unit="ps")
        dut.i.value = 0
        await RisingEdge(dut.clk)  # the one that takes it over
        for _ in range(stages):
            await RisingEdge(dut.clk)
            assert dut.reset.value
        await RisingEdge(dut.clk)
        assert not dut.reset.value


@cocotb.test(timeout_time=50, timeout_unit="us")
async def lasts_as_long_as_its_cause(dut):
    dut.i.value = 1
    await start(dut)
    for _ in range(20):
        await RisingEdge(dut.clk)
        assert dut.reset.value
    dut.i.value = 0
