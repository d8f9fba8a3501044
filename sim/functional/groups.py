"""Groups of bins in cocotb-coverage's database, by names that reports show."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from cocotb_coverage.coverage import CoverPoint

BINS = "bins.json"

#: of a group: takes the names of the bins that were hit together
Sample = Callable[[frozenset[str]], None]

groups: dict[str, CoverPoint] = {}  #: of this simulation, by name


def group(unit: str, name: str, bins: Iterable[str]) -> Sample:
    """The group ``name`` of the component ``unit``, made once in a simulation."""
    path = f"{unit}.{name.replace('.', '/')}"  # dots are levels of cocotb-coverage's tree
    point = CoverPoint(
        path, xf=lambda hit: hit, rel=lambda hit, bin: bin in hit, bins=list(bins), inj=False
    )
    groups[f"{unit} {name}"] = point

    @point
    def sample(hit: frozenset[str]) -> None:
        pass

    return sample


def write(folder: Path) -> None:
    """All bins of this simulation so far, in ``bins.json`` of ``folder``."""
    found = [
        {"group": name, "bin": bin, "hits": hits}
        for name, point in groups.items()
        for bin, hits in point.detailed_coverage.items()
    ]
    (folder / BINS).write_text(json.dumps(found, indent=0) + "\n")
