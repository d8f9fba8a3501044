"""Collects the groups of bins that single components have, by component."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

import sim
from sim.functional import common, pcie
from sim.functional.unit_bins import UnitGroup


def units() -> Mapping[str, tuple[UnitGroup, ...]]:
    """Return the groups of each component that has any, by the path of its class."""
    result = common.GROUPS | pcie.GROUPS
    for module in systems():
        result |= module.GROUPS
    return result


def systems() -> Iterator[ModuleType]:
    """Yield the module ``bins`` of every system that has one: of each folder of sim."""
    for path in sorted(Path(sim.__path__[0]).glob("*/bins.py")):
        yield import_module(f"sim.{path.parent.name}.bins")
