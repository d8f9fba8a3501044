"""Says how much of a component must be tried, and reports what falls short."""

from collections.abc import Iterator, Mapping
from typing import Any

THRESHOLDS = {"line": 95, "toggle": 85}  #: percent of the points that are not excluded


def percent(counts: Mapping[str, int]) -> float:
    """Return the per cent of points that were hit; 100 if none counts."""
    return 100 * counts["hit"] / counts["total"] if counts["total"] else 100.0


def below(components: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each component and kind that misses its threshold, and for bins not hit."""
    for entry in components:
        for kind, expected in THRESHOLDS.items():
            counts = entry[kind]
            if 100 * counts["hit"] < expected * counts["total"]:
                yield (
                    f"{entry['component']}: {kind} coverage {percent(counts):.1f} %"
                    f" ({counts['hit']} of {counts['total']}), below {expected} %"
                )
        if missed := [f"{b['group']}: {b['bin']}" for b in entry["bins"] if not b["hits"]]:
            yield (
                f"{entry['component']}: {len(missed)} of {len(entry['bins'])} functional bins"
                f" not hit, the first is {missed[0]}"
            )
