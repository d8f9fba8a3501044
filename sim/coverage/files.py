"""Writes what a regression with coverage leaves: coverage.json, coverage.lcov and the Verilog."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sim.coverage import lcov
from sim.coverage.exclusions import read_rules
from sim.coverage.merge import Bins, assess, collect, is_within
from sim.mutation.targets import all_targets

SUMMARY = "coverage.json"


def write(
    runs: Path,
    targets: Sequence[str],
    folder: Path,
    *,
    bins: Bins | None = None,
    exclusions: Sequence[Mapping[str, Any]] = (),
    false: Sequence[str] = (),
) -> dict[str, Any]:
    """Measure what ran into ``runs``, and write all files; return the content of coverage.json.

    ``targets`` are packages, modules or classes (``hdl.common``). ``bins`` are those of functional
    coverage, of which only the targets' count, and ``exclusions`` what left some out; ``false``,
    a line for each that is contradicted by a hit, makes the whole fall short.
    """
    modules, rules = collect(runs, targets), read_rules()
    within = {path: result for path, result in (bins or {}).items() if is_within(path, targets)}
    every = [name for name in all_targets() if is_within(name, targets)]
    measured = assess(modules, rules, bins=within, exclusions=exclusions, every=every)
    measured["below"] += false
    lcov.write(modules, rules, folder)
    (folder / SUMMARY).write_text(json.dumps(measured, indent=1) + "\n")
    return measured
