import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.u280.transmit_repair import PULSE, TransmitRepair
from sim.harness.streams import start
from sim.harness.verilator import simulate

OUTLIVES_RESET = "a mishap under way is repaired across resets"


def test_transmit_repair():
    simulate(TransmitRepair(), __name__)


async def transmitter(dut):
    """Play it: its reset follows a few cycles later, and it says anything meanwhile."""
    history = [0] * 4
    while True:
        await RisingEdge(dut.clk)
        history = [int(dut.reset.value), *history[:-1]]
        dut.rst.value = history[-1]
        if history[-1]:
            dut.unfout.value, dut.ovfout.value = random.getrandbits(1), random.getrandbits(1)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def resets_a_transmitter_once_for_each_mishap(dut):
    dut.unfout.value = dut.ovfout.value = 0
    await start(dut)
    running = cocotb.start_soon(transmitter(dut))
    for under, over in ((1, 0), (0, 1), (1, 1), (1, 0)):
        for _ in range(random.randrange(5, 30)):
            await RisingEdge(dut.clk)
            assert not dut.reset.value
        dut.unfout.value, dut.ovfout.value = under, over
        await RisingEdge(dut.clk)
        dut.unfout.value = dut.ovfout.value = 0
        for _ in range(PULSE):
            await RisingEdge(dut.clk)
            reported = [
                int(getattr(dut, name).value) for name in ("reset", "underflow", "overflow")
            ]
            assert reported == [1, under, over]
        for _ in range(6):  # its own reset ends
            await RisingEdge(dut.clk)
            dut.unfout.value = dut.ovfout.value = 0
            assert not dut.reset.value
    running.cancel()
