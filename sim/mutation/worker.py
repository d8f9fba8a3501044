"""Tests one component by mutation in a process of its own: Yosys ends the process it fails in.

Called as ``python -m sim.mutation.worker COMPONENT PLAN FILE``, with the plan as JSON; each line
that it prints is what it does now.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from sim.harness.cache import CHECKOUT, workplace
from sim.mutation.campaign import FORMAT, Plan, examine
from sim.mutation.targets import Target, all_targets


def examine_apart(
    target: Target, plan: Plan, file: Path, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Examine ``target`` in another process and keep the result in ``file``."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".unfinished")
    command = [sys.executable, "-m", __name__, target.name, json.dumps(asdict(plan))]
    paths = os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [*command, str(unfinished)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": paths.rstrip(os.pathsep)},
    )
    said = []
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line.rstrip())
        progress(said[-1])
    if process.wait() or not unfinished.exists():
        unfinished.unlink(missing_ok=True)
        return {
            "format": FORMAT,
            "component": target.name,
            "key": "",
            "tests": [],
            "sizes": [],
            "mutants": [],
            "error": "; ".join(said[-3:])[-500:] or "it died",
            "seconds": 0,
        }
    unfinished.replace(file)
    return json.loads(file.read_text())


def examine_target(
    requested: tuple[str, Plan], progress: Callable[[str, str], None]
) -> dict[str, Any]:
    """Examine the component of a name apart; ``progress`` takes the name and what is done."""
    name, plan = requested
    with workplace() as folder:
        file = folder / "result.json"
        return examine_apart(all_targets()[name], plan, file, partial(progress, name))


def main(name: str, plan: str, file: str) -> None:
    """Examine the component of that name and write the result."""
    target = all_targets()[name]
    result = examine(target, Plan(**json.loads(plan)), lambda text: print(text, flush=True))
    Path(file).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
