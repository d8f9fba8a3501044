"""Tests the tally as ``ingather verify tally`` does."""

import cocotb
from cocotb.triggers import RisingEdge
from tally.hardware import Tally, TallyParams

from sim.harness.streams import start
from sim.harness.verilator import simulate


@cocotb.test()
async def wraps(dut):
    """Three events more than a count can hold leave it at three."""
    dut.event.value = 0
    await start(dut)
    for high, cycles in ((1, 3 + (1 << len(dut.count))), (0, 2)):
        dut.event.value = high
        for _ in range(cycles):
            await RisingEdge(dut.clk)
    assert int(dut.count.value) == 3


def test_tally():
    """Run the cocotb tests of this module on four bits."""
    simulate(Tally(TallyParams(bits=4)), "tests.test_tally")
