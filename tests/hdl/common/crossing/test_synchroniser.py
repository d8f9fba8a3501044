import random

import cocotb
from cocotb.triggers import RisingEdge

from gen.base.emission.emit import emit
from hdl.common.crossing.synchroniser import Synchroniser, SynchroniserParams
from sim.harness.streams import start
from sim.harness.verilator import simulate


def test_synchroniser():
    simulate(Synchroniser(SynchroniserParams(shape=5)), __name__)


def test_registers_are_kept_together():
    verilog = emit(Synchroniser(SynchroniserParams(shape=3))).verilog
    assert verilog.count('(* ASYNC_REG = "TRUE" *)') == 2
    assert "reg [2:0] first" in verilog


@cocotb.test(timeout_time=10, timeout_unit="us")
async def follows_in_its_latency(dut):
    await start(dut)
    sent = []
    for _ in range(50):
        dut.i.value = random.getrandbits(5)
        await RisingEdge(dut.clk)
        sent.append(int(dut.i.value))
        if len(sent) > Synchroniser.latency:
            assert int(dut.o.value) == sent[-1 - Synchroniser.latency]
