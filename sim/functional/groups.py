"""Counts, in one simulation, how often each bin of each group was hit."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

BINS = "bins.json"

#: counts hits of a group: it takes the names of the bins that were hit together
Sample = Callable[[frozenset[str]], None]

groups: dict[str, dict[str, int]] = {}  #: hits of each bin of each group


def group(unit: str, name: str, bins: Iterable[str]) -> Sample:
    """Return the group ``name`` of the component ``unit``, made once in a simulation.

    What is returned counts a hit of each of its bins that it is given; other names it ignores.
    """
    hits = groups.setdefault(f"{unit} {name}", dict.fromkeys(bins, 0))

    def sample(hit: frozenset[str]) -> None:
        for bin in hit & hits.keys():
            hits[bin] += 1

    return sample


def write(folder: Path) -> None:
    """Write all bins of this simulation so far to ``bins.json`` in ``folder``."""
    result = [
        {"group": name, "bin": bin, "hits": count}
        for name, hits in groups.items()
        for bin, count in hits.items()
    ]
    (folder / BINS).write_text(json.dumps(result, indent=0) + "\n")
