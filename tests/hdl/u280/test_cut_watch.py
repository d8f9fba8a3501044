import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.u280.cut_watch import CutWatch
from sim.harness.streams import start
from sim.harness.verilator import simulate


def test_cut_watch():
    simulate(CutWatch(), __name__)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def tells_resets_inside_packets(dut):
    dut.moves.value = dut.last.value = 0
    await start(dut)
    for _ in range(60):
        inside = False
        for _ in range(random.randrange(6)):
            moves, last = random.getrandbits(1), random.getrandbits(1)
            dut.moves.value, dut.last.value = moves, last
            await RisingEdge(dut.clk)
            assert not dut.cut.value
            if moves:
                inside = not last
        dut.rst.value, dut.moves.value = 1, 0
        await RisingEdge(dut.clk)
        for _ in range(random.randrange(2, 6)):
            dut.moves.value = random.getrandbits(1)  # which means nothing
            dut.last.value = random.getrandbits(1)
            await RisingEdge(dut.clk)
            assert dut.cut.value == inside
        dut.rst.value, dut.moves.value = 0, 0
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        assert not dut.cut.value
