"""Walks the hierarchy of an emitted design, into each module that holds parts or ways.

A *way* is a component whose two sides may lie in different SLRs: a pipeline or a synchroniser.
"""

from dataclasses import dataclass
from functools import cache

from gen.base.emission.emit import Emission, EmittedModule
from gen.floorplan.model import FloorplanError
from gen.floorplan.netlist import Cell, Netlist, netlists
from gen.floorplan.plan import Path, Plan, matches
from hdl.common.crossing.synchroniser import Synchroniser
from hdl.common.stream_pipeline import StreamPipeline
from hdl.common.wire_pipeline import WirePipeline

#: pipelines: components that are nothing but registers, from ports i_X to o_X and back
LONG = (StreamPipeline, WirePipeline)
#: SLR boundaries that a synchroniser's input may cross: as its delay is not timed, any number
ANY_DISTANCE = 99


def is_long(module: EmittedModule | None) -> bool:
    """Return whether the module's registers may lie in several SLRs."""
    return module is not None and issubclass(module.kind, LONG)


def is_way(module: EmittedModule | None) -> bool:
    """Return whether the module's ``i`` and ``o`` may lie in different SLRs."""
    return module is not None and issubclass(module.kind, (*LONG, Synchroniser))


def reach(module: EmittedModule) -> int:
    """Return how many SLR boundaries a way may pass: each takes a register on both sides."""
    return module.params.stages // 2 if is_long(module) else ANY_DISTANCE


@dataclass(frozen=True)
class Place:
    """Holds a module whose inside is looked at, and its place in the hierarchy."""

    path: Path
    module: EmittedModule | None  #: None if it was not emitted from a component
    netlist: Netlist
    owner: str  #: the part of the logic between its instances


@dataclass(frozen=True)
class Leaf:
    """Holds an instance whose inside is not looked at."""

    path: Path
    cell: Cell
    module: EmittedModule | None  #: None for IP and primitives of the vendor
    owner: str


class Hierarchy:
    """Holds every place and leaf below the top of ``emission``, and the part that each is in."""

    def __init__(self, emission: Emission, plan: Plan) -> None:
        self.emission = emission
        self.plan = plan
        self.slrs: dict[str, int | None] = {plan.rest: plan.rest_slr}  #: each part's SLR, if fixed
        self._netlist = cache(lambda name: netlists(emission.modules[name].rtlil))
        self._worth_opening = self._find_worth()
        self.places: list[Place] = []
        self.leaves: list[Leaf] = []
        top = emission.top
        self._open(Place((), top, self._netlist(top.name)[top.name], plan.rest), {})
        paths = [item.path for item in (*self.places, *self.leaves)]
        for entry in plan.parts:
            if not (entry.optional or any(matches(entry, path) for path in paths)):
                raise FloorplanError(
                    f"{top.name}: the plan's {entry.name} names no instance: {entry.cells[0]}"
                )

    def _find_worth(self) -> set[str]:
        """Return the modules that contain a way or the vendor's IP."""
        result: set[str] = set()
        for name, module in self.emission.modules.items():  # children before parents
            below = [self.emission.modules[child] for child in module.instances]
            if not is_way(module) and (
                getattr(module.component, "vendor_ips", ())
                or any(is_way(child) or child.name in result for child in below)
            ):
                result.add(name)
        return result

    def _open(self, place: Place, local: dict[str, Netlist]) -> None:
        """List what is inside ``place``; ``local`` are modules that are no components."""
        self.places.append(place)
        if place.module is not None:
            local = self._netlist(place.module.name)
        for cell in place.netlist.cells:
            if cell.type.startswith("$"):
                continue
            path = (*place.path, cell.name)
            owner = self._owner(path, place.owner)
            module = self.emission.modules.get(cell.type)
            if module is None and cell.type in local:
                self._open(Place(path, None, local[cell.type], owner), local)
            elif module is not None and self._is_opened(path, module):
                netlist = self._netlist(module.name)[module.name]
                self._open(Place(path, module, netlist, owner), {})
            else:
                self.leaves.append(Leaf(path, cell, module, owner))

    def _owner(self, path: Path, around: str) -> str:
        """Return the part that the instance at ``path`` belongs to."""
        entry = self.plan.entry(path)
        if entry is None:
            return around
        name = path[-1] if entry.each else entry.name
        self.slrs[name] = entry.slr
        return name

    def _is_opened(self, path: Path, module: EmittedModule) -> bool:
        return not is_way(module) and (
            self.plan.looks_below(path) or module.name in self._worth_opening
        )

    def is_left(self, leaf: Leaf) -> bool:
        """Return whether a vendor's instance is in the part of everything else by default."""
        return leaf.owner == self.plan.rest and self.plan.entry(leaf.path) is None
