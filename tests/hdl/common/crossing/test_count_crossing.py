import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.crossing.count_crossing import CountCrossing, CountCrossingParams
from sim.harness.verilator import simulate
from tests.hdl.common.crossing.clocks import RATIOS, start


def test_count_crossing():
    simulate(CountCrossing(CountCrossingParams(kinds=3)), __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(ratio=RATIOS, chance=[0.05, 0.5, 1.0])
async def loses_none(dut, ratio, chance):
    write, read = await start(dut, write=ratio[0], read=ratio[1])
    sent, counted = [0] * 3, [0] * 3

    async def add_up():
        while True:
            await RisingEdge(read.clk)
            for k in range(3):
                counted[k] += int(getattr(dut, f"o_{k}").value)

    adding = cocotb.start_soon(add_up())
    for _ in range(300):
        events = [random.random() < chance for _ in range(3)]
        dut.events.value = sum(event << k for k, event in enumerate(events))
        await RisingEdge(write.clk)
        sent = [count + event for count, event in zip(sent, events, strict=True)]
    dut.events.value = 0
    await write.edges(40)
    await read.edges(40)
    adding.cancel()
    assert counted == sent


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(kind=range(3))
async def holds_what_a_byte_can_while_the_reader_stands(dut, kind):
    """Each kind comes alone: every power of two, and more than a byte holds."""
    write, read = await start(dut, write=4000, read=4002)
    for count in (*(1 << bit for bit in range(8)), 300):
        read.rst.value = 1
        await write.edges(20)  # what was under way is lost
        dut.events.value = 1 << kind
        await write.edges(count)
        dut.events.value = 0
        await write.edges(2)
        read.rst.value = 0
        counted = []
        for _ in range(30):
            await RisingEdge(read.clk)
            counted.append([int(getattr(dut, f"o_{k}").value) for k in range(3)])
        expected = [min(count, 255) * (k == kind) for k in range(3)]
        assert [beat for beat in counted if any(beat)] == [expected]
