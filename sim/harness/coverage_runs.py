"""Keeps the coverage that each run measures, so that it can be added up over a regression."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

COVERAGE_RUNS = "INGATHER_COVERAGE_RUNS"  #: environment: where runs keep it; without it they do not
COVERAGE = "INGATHER_COVERAGE"  #: environment: build for coverage if it is set
BINS = "INGATHER_BINS"  #: environment: sample functional coverage, without the builds for the other
STORED = ("coverage.dat", "bins.json")  #: what is kept of a run's folder


def covers() -> bool:
    """Return whether simulators are to be built for coverage."""
    return bool(os.environ.get(COVERAGE))


def samples() -> bool:
    """Return whether functional coverage is to be sampled."""
    return covers() or bool(os.environ.get(BINS))


def keep_coverage(folder: Path, design: Path, about: Mapping[str, Any]) -> None:
    """Move the coverage of the run in ``folder`` to the coverage runs, with ``about.json``.

    ``design`` is the Verilog that was simulated, in a folder of its own name. It is kept too, once
    for all runs: a test may have built it in a cache that goes with the test.
    """
    root = os.environ.get(COVERAGE_RUNS)
    result = [folder / name for name in STORED if (folder / name).exists()]
    if not root or not result:
        return
    stored = design_of(Path(root), design.parent.name)
    stored.parent.mkdir(parents=True, exist_ok=True)
    if not stored.exists():
        shutil.copyfile(design, unfinished := stored.with_suffix(f".{os.getpid()}"))
        unfinished.replace(stored)
    target = Path(tempfile.mkdtemp(prefix="run-", dir=root))
    for path in result:
        shutil.move(path, target / path.name)
    reported = {**about, "design": design.parent.name}
    (target / "about.json").write_text(json.dumps(reported, indent=1) + "\n")


def design_of(root: Path, name: str) -> Path:
    """Return the folder among coverage runs in which the Verilog of that name is kept."""
    return root / "designs" / f"{name}.v"
