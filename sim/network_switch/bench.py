"""Measures what the systems on one switch cost each other."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim.bench.limits import Row
from sim.network_switch.session import SYSTEMS, TogetherSession, TogetherWorkload


def rows(progress: Callable[[str], None], params: Any) -> list[Row]:
    """Measure each system alone, then all of them at the same time, on the same data.

    All sources share a port equally; then P4SGD, each mini-batch of which waits for two round
    trips, goes before all others.
    """
    simulator = TogetherSession.build(params)

    def measure(systems: str, first: str = "") -> dict[str, float]:
        progress(f"running {systems}{first and f', {first} first'}")
        session = TogetherSession(params, TogetherWorkload(systems=systems, first=first))
        with tempfile.TemporaryDirectory() as folder:
            return dict(session.run(simulator, Path(folder)).figures)

    together, preferred = measure("all"), measure("all", "p4sgd")
    result = []
    for name in SYSTEMS:
        alone = measure(name)[f"{name}_cycles"]
        for figures, how in ((together, "equal shares"), (preferred, "P4SGD first")):
            cycles = figures[f"{name}_cycles"]
            result.append(
                Row(
                    what=f"{name}, with all others, {how}",
                    value=cycles / alone,
                    unit="times as long",
                    note=f"{cycles:,.0f} cycles, {alone:,.0f} alone",
                )
            )
    return result
