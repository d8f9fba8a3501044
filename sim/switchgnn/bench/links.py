"""Measures what a network sends beyond its plan, and how much it repeats for what links lose."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.bench.limits import Limit, Row
from sim.switchgnn.gcn.session import GcnSession
from sim.switchgnn.gcn.workload import Adder, GcnWorkload

MAX_BEYOND = Limit(0.05)
MAX_REPEATS = Limit(1.5)
DROP = 0.1


def rows(progress: Callable[[str], None], switch: GnnSwitchParams) -> list[Row]:
    """Train an epoch on links without faults, then on links that lose frames."""
    result = {}
    for drop in (0.0, DROP):
        progress(f"an epoch on links that lose {drop:.0%} of all frames")
        requested = GcnWorkload(epochs=1, drop=drop, adder=Adder.RTL)
        session = GcnSession(switch, requested)
        simulator = session.build(session.hardware(switch, requested))
        with tempfile.TemporaryDirectory() as folder:
            result[drop] = session.run(simulator, Path(folder)).figures
    return judge(result[0.0], result[DROP])


def judge(clean: Mapping[str, float], lossy: Mapping[str, float]) -> list[Row]:
    """Check both epochs against the limits of the design."""
    planned, sent = clean["planned_bytes"], clean["bytes"]
    lost, again = lossy["lost"], lossy["repeats"]
    return [
        Row(
            what="bytes beyond features and sums",
            value=(sent - planned) / planned,
            unit="of them",
            limit=MAX_BEYOND,
            note=f"{sent:,.0f} bytes of frames, {planned:,.0f} of features and sums, each once",
        ),
        Row(
            what=f"repeats at {DROP:.0%} loss",
            value=again / lost,
            unit="of a lost frame",
            limit=MAX_REPEATS,
            note=f"{again:,.0f} frames sent again, {lost:,.0f} lost",
        ),
    ]
