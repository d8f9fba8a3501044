"""Runs whole endpoints with a golden switch: every sum in memory is that of A X."""

from dataclasses import replace

import pytest

from hdl.switchgnn.endpoint.params import PRESETS
from sim.harness.streams import crossed, rarely
from sim.switchgnn.network.wires import Faults
from tests.hdl.switchgnn.endpoint.bench import Bench, run_cluster
from tests.long import short_and_long

BAD = {"lose": 0.3, "double": 0.3, "late": 0.3, "corrupt": 0.03}
#: "small" with fewer aggregators, as a test reads all of them
SIZES = {"tiny": PRESETS["tiny"], "small": replace(PRESETS["small"], depth=64, copies=64)}
CASES = [("tiny", 2), ("tiny", 3), ("small", 2)]


@pytest.mark.parametrize(("size", "workers"), short_and_long(CASES, CASES[1:]))
def test_endpoint(size, workers, tmp_path):
    run_cluster(__name__, tmp_path, SIZES[size], workers)


@crossed(open_turns=[1, 2], faults=[{}, BAD], ms=2)
async def sums_are_exact(dut, open_turns, faults):
    """Sums are exact whatever the links lose, double, delay and break."""
    bench = Bench(dut, Faults(**faults), stall=rarely)
    await bench.begin()
    for worker in bench.workers:
        worker.memory.set("tables", ar_stall=30, r_stall=30)
        worker.memory.set("data", ar_stall=30, r_stall=30, aw_stall=60, w_stall=30, b_stall=60)
    await bench.run(bench.cut(open_turns=open_turns))
