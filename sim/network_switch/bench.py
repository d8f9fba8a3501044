"""Measures what the systems on one switch cost each other."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim.bench.limits import Limit, Row
from sim.network_switch.session import SYSTEMS, TogetherSession, TogetherWorkload

#: most times as long as alone: five systems share each port, none of which fills it
MOST = Limit(5)


def rows(progress: Callable[[str], None], params: Any) -> list[Row]:
    """Measure each system alone, then all of them at the same time, on the same data."""
    simulator = TogetherSession.build(params)

    def measure(systems: str) -> dict[str, float]:
        progress(f"running {systems}")
        session = TogetherSession(params, TogetherWorkload(systems=systems))
        with tempfile.TemporaryDirectory() as folder:
            return dict(session.run(simulator, Path(folder)).figures)

    together = measure("all")
    result = []
    for name in SYSTEMS:
        alone = measure(name)[f"{name}_cycles"]
        cycles = together[f"{name}_cycles"]
        result.append(
            Row(
                what=f"{name}: cycles with all others, against alone",
                value=cycles / alone,
                unit="times",
                limit=MOST,
                note=f"{cycles:,.0f} and {alone:,.0f} cycles",
            )
        )
    return result
