"""Runs the switch with tables in memory, at HBM's latency, and with a memory that fails."""

import random

import cocotb
import numpy as np

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS
from sim.harness.verilator import simulate
from sim.surroundings.axi_ram import Fault
from sim.switchgnn.switch_bench import begin
from sim.switchgnn.switch_on_rams import arguments_of, sources_of, switch_of
from tests.hdl.switchgnn.switch.ingress.drawn_frames import start_jobs
from tests.hdl.switchgnn.switch.sizes import IN_MEMORY
from tests.hdl.switchgnn.switch.switch_bench import check, feature, setup_of, workers_of
from tests.rejects import rejects

HBM_LATENCY = 128  # cycles, as for other readers of HBM
FAILED = ("tables_broken", "tables_silent", "tables_owe", "tables_failed", "table_failures")


def test_switch_memory(tmp_path):
    simulate(
        switch_of(IN_MEMORY),
        __name__,
        registers=["contents_1_1"],
        plusargs=arguments_of(IN_MEMORY, tmp_path),
        **sources_of(IN_MEMORY),
    )


test_rejects = rejects(
    GnnSwitchParams,
    ({"rows": 1 << 21}, "rows must be a whole number from 2 to 1048576: 2097152"),
    (
        {"tables": "memory", "rows": 1 << 28},
        "rows need 4,294,967,296 bytes, but .* address only 2,147,483,648",
    ),
    (
        {"tables": "memory", "table_address_bits": 12},
        "rows need 65,536 bytes, but .* address only 32,768",
    ),
    ({"tables": "memory", "banks": 16}, "banks must be .* from 1 to 8 where tables are in memory"),
)


def test_full_has_its_tables_in_memory():
    params = GnnSwitchParams(**PRESETS["full"])
    assert params.in_memory
    memory = params.table_memory
    # Beats under way cover the latency, and so do frames that wait for lists of a row.
    assert memory.ports * memory.waiting > HBM_LATENCY
    assert params.tasks > HBM_LATENCY
    # The largest lists that the specification names.
    assert params.rows * memory.list_bits // 8 >= 157e6


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(most=[1, 5])
async def a_row_a_cycle_at_the_latency_of_hbm(dut, most):
    """All ports send features at once, with lists anywhere, of a row each or up to five."""
    bench = await begin(dut)
    params = bench.params
    depth, each = 8, 30  # frames of a port that its queue holds while the first list comes
    count = each * params.ports
    lists = [random.randint(1, most) for _ in range(count)]
    rows = [[random.randrange(depth)] * params.banks for _ in range(sum(lists))]
    expected = 1 + len(rows)  # no sum is complete, none leaves
    setup = setup_of(params, rows, expected, depth=depth)
    await bench.host.start_job(0, setup=setup, epoch=1, base=0)
    bench.host.memory.set(read_latency=HBM_LATENCY)
    await bench.idle(400)
    await bench.host.clear_counters()
    first = np.cumsum([0, *lists[:-1]])
    order = random.sample(range(count), count)
    for k, at in enumerate(order):
        port, seq = k % params.ports, k // params.ports
        bench.send(port, feature(params, port, seq, int(first[at]), lists[at]))
    await bench.idle(count * 3 + 400)
    counts = await bench.host.counters()
    assert counts["rows"] == len(rows)
    assert counts["additions"] == len(rows) * params.banks
    busy = counts["rows"] + counts["waits_for_list"] + counts["waits_for_copy"] + counts["holes"]
    dut._log.info(
        f"lists of 1 to {most} rows: {counts['rows']} rows, {counts['waits_for_list']} cycles that"
        f" wait for a list, {counts['rows'] / busy:.3f} rows a cycle"
    )
    # The first list waits for the memory once; from then on a row a cycle.
    late = HBM_LATENCY + 40
    assert counts["waits_for_list"] <= late + 0.02 * len(rows), counts


@cocotb.test(timeout_time=20, timeout_unit="ms")
@cocotb.parametrize(fault=[Fault.ERROR, Fault.LAST, Fault.MUTE])
async def a_memory_that_fails_is_reported_and_used_again(dut, fault):
    """Rows that do not come count as table errors; the switch goes on, and a job anew is exact.

    Which rows they are is drawn: those of lists are ``no_such_row``, those of descriptors make each
    addition to their aggregators ``unused``.
    """
    bench = await begin(dut)
    host = bench.host
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    await host.write(table_timeout=200)
    cuts = await start_jobs(bench, rng, 2, 2)
    bench.workers = workers_of(cuts)
    port = 0
    host.memory.set(fails=port, fail_read=1, fail_read_beat=0, fault=fault.value, fail_response=2)
    with bench.running():
        await bench.idle(3000)
    result = {name: await host.read(name) for name in FAILED}
    assert result["table_failures"]
    assert result["tables_failed"] == 1 << port
    assert result["tables_broken"] == (fault is not Fault.ERROR) << port
    assert result["tables_silent"] == (fault is Fault.MUTE) << port
    reported = [await host.table_errors(number) for number in cuts]  # whose rows they were is drawn
    causes = {cause for item in reported for cause, count in item.counts.items() if count}
    assert causes in ({"NO_SUCH_ROW"}, {"UNUSED"}, {"NO_SUCH_ROW", "UNUSED"})
    assert {item.cause for item in reported} <= causes | {"NONE"}
    for number in cuts:
        await host.stop_job(number)
    host.memory.set()
    await bench.idle(1000)
    assert not await host.read("tables_owe")
    await host.write(clear_counters=1)
    cuts = await start_jobs(bench, rng, 2, 2, epoch=40)
    bench.frames.clear()
    bench.workers = workers_of(cuts, 40)
    await bench.run()
    check(cuts, bench.workers)
    await bench.idle(1000)  # what was read ahead has come
    assert not any([await host.read(name) for name in FAILED])
    for number in cuts:
        assert (await host.table_errors(number)).cause == "NONE"


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def rows_beyond_a_jobs_table_are_errors(dut):
    """Lists that begin in the job's table, behind it and far away: counted, and no wait."""
    bench = await begin(dut)
    host, params = bench.host, bench.params
    rows = [[0] * params.banks] * 3
    await host.start_job(0, setup=setup_of(params, rows, 100, depth=2), epoch=1, base=0)
    await bench.idle(200)
    for seq, (first, count) in enumerate(((3, 500), (1 << 31, 500), (0, 5))):
        bench.send(0, feature(params, 0, seq, first, count))
    await bench.idle(1200)
    result = await host.table_errors(0)
    assert result.counts["NO_SUCH_ROW"] == 1002
    assert result.cause == "NO_SUCH_ROW"
    assert result.where == {"turn": 0, "row": 3, "aggregator": 0}
    assert (await host.counters())["additions"] == 3 * params.banks
    assert not any([await host.read(name) for name in FAILED])
