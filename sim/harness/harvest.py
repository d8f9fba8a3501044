"""What simulations leave for those who add it up over a whole regression."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HARVEST = "INGATHER_HARVEST"  #: environment: the folder; nothing is kept without it
COVERAGE = "INGATHER_COVERAGE"  #: environment: build for coverage if it is set
BINS = "INGATHER_BINS"  #: environment: sample functional coverage, without the builds for the other
CROPS = ("coverage.dat", "bins.json")  #: what is kept of a run's folder


def covers() -> bool:
    """Simulators are to be built for coverage."""
    return bool(os.environ.get(COVERAGE))


def samples() -> bool:
    """Functional coverage is to be sampled."""
    return covers() or bool(os.environ.get(BINS))


def gather(folder: Path, about: Mapping[str, Any]) -> None:
    """Move what the run in ``folder`` leaves to a folder of the harvest, with ``about.json``."""
    root = os.environ.get(HARVEST)
    found = [folder / name for name in CROPS if (folder / name).exists()]
    if not root or not found:
        return
    Path(root).mkdir(parents=True, exist_ok=True)
    target = Path(tempfile.mkdtemp(prefix="run-", dir=root))
    for path in found:
        shutil.move(path, target / path.name)
    (target / "about.json").write_text(json.dumps(about, indent=1) + "\n")
