"""Compares a simulated network as a whole with one whose workers and switch are processes."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.bench.limits import Limit, Row
from sim.bench.speed_up import speed_up_row
from sim.switchgnn.gcn.session import GcnSession
from sim.switchgnn.gcn.workload import CUT_LATENCY, GcnWorkload

WORKERS = 4  #: as many as the switch has ports
LATENCIES = (990, CUT_LATENCY)  #: cycles of long links, and of the shortest that are cut by default
#: of the speed of the whole, what two free cores reach at least
LEAST_SPEED_UP = Limit(1.7, at_least=True)


def rows(progress: Callable[[str], None], switch: GnnSwitchParams) -> list[Row]:
    """Measure CPU seconds of the same epoch, with long and with short links."""
    return [row(progress, switch, latency) for latency in LATENCIES]


def row(progress: Callable[[str], None], switch: GnnSwitchParams, latency: int) -> Row:
    """Return the speed-up on two free cores, which other programs on the machine do not change."""

    def epoch(name: str, processes: int) -> tuple[GcnSession, Any]:
        progress(f"{WORKERS} workers, links of {latency} cycles: {name}")
        requested = GcnWorkload(
            workers=WORKERS, epochs=1, link_latency=latency, processes=processes
        )
        session = GcnSession(switch, requested)
        with tempfile.TemporaryDirectory() as folder:
            result = session.run(session.simulator(), Path(folder))
        return session, (result.figures, result.details)

    (whole, reference), (parts, result) = epoch("whole", 1), epoch("parts, two at a time", 2)
    if result != reference:
        raise AssertionError(f"links of {latency} cycles: parts differ from the whole")
    (alone,), cycles = whole.cpu_seconds, whole.hardware_counters["simulated_cycles"]
    return speed_up_row(
        f"{latency} cycles",
        alone,
        parts.cpu_seconds,
        limit=LEAST_SPEED_UP,
        note=f"the same {cycles:,} cycles",
    )
