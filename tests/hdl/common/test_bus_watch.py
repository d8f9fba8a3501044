import random
from itertools import pairwise

import cocotb

from hdl.common.bus_watch import BusTimer, BusTimerParams
from sim.harness.records import Recorder
from sim.harness.streams import cycle, edges, start
from sim.harness.verilator import simulate


def test_bus_timer():
    simulate(BusTimer(BusTimerParams(bits=8)), __name__)


async def ticks(dut, cycles):
    """Return the cycles in which it ticked."""
    seen = Recorder(dut, "tick", {})
    await edges(dut.clk, cycles)
    seen.stop()
    return seen.cycles


@cocotb.test(timeout_time=100, timeout_unit="us")
async def ticks_every_limit_and_two_cycles(dut):
    dut.limit.value = 255
    await start(dut)
    begun = cycle()
    (first,) = await ticks(dut, 300)
    assert first - begun == 255 + 2
    dut.limit.value = 0
    await ticks(dut, 2)
    assert await ticks(dut, 600) == []
    for limit in (255, 254, 128, 64, 32, 17, 16, 8, 4, 2, 1):  # often below the count
        dut.limit.value = limit
        assert await ticks(dut, limit + 3)  # the count may have been anywhere
        await ticks(dut, random.randrange(limit + 2))
        result = await ticks(dut, 6 * (limit + 2))
        assert len(result) == 6
        assert {later - item for item, later in pairwise(result)} == {limit + 2}
    dut.limit.value = 3
    await ticks(dut, random.randrange(5))
    dut.limit.value = 0
    await ticks(dut, 2)
    assert await ticks(dut, 600) == []
