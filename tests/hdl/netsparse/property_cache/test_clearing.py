from itertools import product

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.property_cache.clearing import RowClearing
from hdl.netsparse.property_cache.params import PRESETS
from sim.harness.bench import Bench
from tests.simulated import simulated

test_clearing = simulated(RowClearing, [PRESETS["tiny"]], __name__)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def every_row_behind_the_last_begin(dut):
    """After a reset and after each begin, whenever it comes, all rows follow once, in order."""
    rows, edge = (await Bench(dut).begin()).params.rows, RisingEdge(dut.clk)
    for again, wait in product((dut.begin, dut.rst), range(2 * rows)):
        for cycle in range(wait + 1):
            dut.begin.value = dut.rst.value = 0
            again.value = cycle == wait
            await edge
            assert bool(dut.busy.value) == (cycle < rows)
            assert cycle >= rows or int(dut.row.value) == cycle
