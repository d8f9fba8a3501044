"""Estimates how deep the logic of a NetSparse switch is, at every preset."""

from collections.abc import Callable
from typing import Any

from hdl.netsparse.switch.presets import PRESETS
from sim.bench.limits import Limit, Row
from sim.bench.synth import synth

MAX_LEVELS = Limit(8)


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Estimate each preset; what has been estimated before is found in the cache."""
    result = []
    for preset in PRESETS:
        progress(f"estimating {preset}")
        result.append(row(preset, synth("netsparse-switch", preset=preset)[1]))
    return result


def row(preset: str, figures: dict[str, Any]) -> Row:
    """Return the most LUTs on any path of any module, children's ports included."""
    worst = max(figures["modules"], key=lambda module: module["depth"]["most_levels"])
    return Row(
        what=f"{preset}: LUTs on any path",
        value=figures["depth"]["most_levels"],
        limit=MAX_LEVELS,
        note=f"in {worst['component']}, from or to its children's registers too",
    )
