"""Measures the time of the harness beside that of the simulations."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sim.bench.limits import Limit, Row

MAX_OVERHEAD = Limit(1.10)
SUBSET = ("hdl.common",)  #: tests that are measured, some 60 quick and medium items


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Verify the subset twice: the first time builds what is not in the cache."""
    for turn in ("to build", "to measure"):
        progress(f"verifying {', '.join(SUBSET)} {turn}")
        result = verify(*SUBSET)
    return judge_overhead(result)


def verify(*names: str) -> dict[str, Any]:
    """Run ``ingather verify``, and return the content of its verify.json."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "verify")
        command = [sys.executable, "-m", "gen", "verify", *names, "-o", str(output)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return json.loads((output / "verify.json").read_text())


def judge_overhead(result: Mapping[str, Any]) -> list[Row]:
    """Compare the time of all processes with the time that they spent in simulators."""
    simulated, jobs = result["simulation_seconds"], result["jobs"]
    built = sum(run["built"] for item in result["items"] for run in item["runs"])
    return [
        Row(
            what="verify overhead",
            value=result["seconds"] * jobs / simulated,
            unit="times",
            limit=MAX_OVERHEAD,
            note=f"{result['seconds']:.0f} s with {jobs} jobs, {simulated:.0f} s in simulators,"
            f" {len(result['items'])} items, {built} built",
        )
    ]
