"""Lets a gather's datapath run on a simulated host, and tells what both have counted."""

from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from sim.gather.rates import IDX_BITS, Requested
from sim.gather.surroundings.gather_on_host import FIGURES, GatherOnHostParams
from sim.harness.in_simulator import params_in_simulator, report, workload_in_simulator
from sim.harness.payloads import pack, unpack
from sim.harness.streams import RESET_CYCLES, start
from sim.surroundings.pcie.params import COUNTS, RATE_BITS, pcie_host_settings

LIMIT = 2  #: code of the largest read: 512 bytes
POLL = 50  #: cycles
MAX_CYCLES = 500  #: for a row, on average


@cocotb.test()
async def rates(dut: Any) -> None:
    """Measure one after the other, each from a reset on."""
    params = params_in_simulator(GatherOnHostParams)
    await start(dut)
    result = [await one_rate(dut, params, requested) for requested in workload_in_simulator(list)]
    report(result)


async def one_rate(
    dut: Any, params: GatherOnHostParams, requested: Requested
) -> tuple[Any, Any, float]:
    """Gather rows; return what was counted, and the bytes that the link carries in a cycle."""
    settings = pcie_host_settings(
        params.host,
        latency=requested.latency_cycles,
        reads=requested.reads,
        split=requested.split.value,
        window=requested.window,
    )
    table = requested.table
    dut.settings.value = pack(params.host.settings, settings)
    dut.table.value = pack(
        params.gather.table,
        {
            "base": table.base,
            "rows": table.rows,
            "row_bytes": table.row_bytes,
            "stride": table.stride,
            "order": requested.order.value,
        },
    )
    dut.limit.value, dut.idx_bits.value = LIMIT, IDX_BITS
    dut.to.value, dut.payload.value = requested.to, requested.payload
    dut.start.value, dut.count.value, dut.first.value = 0, 0, requested.first
    dut.rst.value = 1
    await ClockCycles(dut.clk, RESET_CYCLES)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2 * params.gather.reads.tags)  # which are cleared
    dut.count.value, dut.start.value = requested.rows, 1
    await RisingEdge(dut.clk)
    dut.start.value = 0
    await RisingEdge(dut.clk)
    for _ in range(requested.rows * MAX_CYCLES // POLL):
        if dut.done.value:
            break
        await ClockCycles(dut.clk, POLL)
    else:
        raise TimeoutError(f"rows have not come: {requested}")
    if params.posts:
        await ClockCycles(dut.clk, POLL)  # until the last packets have left
    figures, counts = unpack(FIGURES, int(dut.figures.value)), unpack(COUNTS, int(dut.counts.value))
    return figures, counts, settings["rate"] / (1 << RATE_BITS)
