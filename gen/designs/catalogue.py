"""Finds the designs that there are: those of this folder, and those of other packages.

A file of this folder that has ``DESIGN`` is a design. A package of somebody else's adds one by an
entry point of the group ``ingather.designs`` that names its ``DESIGN``::

    [project.entry-points."ingather.designs"]
    my-design = "my_package.descriptor:DESIGN"
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

import gen.designs
from gen.base.errors import UserError, unknown
from gen.designs.design import Design, Run

GROUP = "ingather.designs"


@cache
def designs() -> Mapping[str, Design]:
    """Return every design by its name, ours first; raise UserError if another package's is none."""
    result: dict[str, Design] = {}
    for origin, design in [*own(), *reference()]:
        if not isinstance(design, Design):
            raise UserError(f"{origin} is no gen.designs.design.Design")
        if design.name in result:
            raise UserError(f"{origin}: there is already a design called {design.name}")
        result[design.name] = design
    return result


def own() -> Iterator[tuple[str, Design]]:
    """Return the designs of this folder, in the order of their files, and where each comes from."""
    for info in iter_modules(gen.designs.__path__):
        module = import_module(f"gen.designs.{info.name}")
        if hasattr(module, "DESIGN"):
            yield module.__name__, module.DESIGN


def reference() -> Iterator[tuple[str, Design]]:
    """Yield the designs of other packages; raise UserError for one that cannot be imported."""
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            yield f"entry point {point.name} = {point.value}", point.load()
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise UserError(f"the design {point.name} ({point.value}) fails: {reason}") from error


def find_design(name: str) -> Design:
    """Return the design of that name; raise UserError if there is none."""
    if name not in designs():
        raise unknown("design", name, designs())
    return designs()[name]


def commands() -> dict[str, tuple[Design, Run]]:
    """Return the runs that are commands, by the command's name."""
    return {
        run.command: (design, run)
        for design in designs().values()
        for run in design.runs
        if run.command
    }
