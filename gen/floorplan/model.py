"""Describes a floorplan: parts, the links between them, and where each part lies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gen.base.errors import UserError
from gen.synth.device import LIMITED, Device
from gen.synth.resources import Resources


class FloorplanError(UserError):
    """Reports that no assignment keeps every limit; the text says which, and by how much."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Describes a part of the design that is placed in one SLR as a whole."""

    name: str
    cells: tuple[str, ...] = ()  #: paths of instances, ``a/b/c``, all of whose logic belongs to it
    resources: Resources = field(default_factory=Resources)
    slr: int | None = None  #: the SLR that it must lie in, if it must


@dataclass(frozen=True, kw_only=True)
class Link:
    """Describes the wires between two parts."""

    a: str
    b: str
    wires: int
    reach: int  #: boundaries that its registers can cross; 0 without registers
    shared: str | None = None  #: links of the same name carry the same wires
    example: str = ""  #: a port that drives one of the wires, or the place of logic that does

    @property
    def registered(self) -> bool:
        """Return whether the wires may leave an SLR at all."""
        return self.reach > 0


@dataclass(frozen=True)
class Held:
    """Assigns registers of a way between SLRs, or an instance at its end, to an SLR."""

    cells: str  #: path of an instance, or pattern of registers: ``a/b/c_reg*``
    slr: int
    at_edge: bool = False  #: a Laguna register: the next one is in the next SLR


@dataclass(frozen=True, kw_only=True)
class Floorplan:
    """Holds the assignment of parts to SLRs, with what that uses."""

    device: Device
    parts: tuple[Part, ...]
    links: tuple[Link, ...]
    assignment: Mapping[str, int]  #: for each part: the index of its SLR
    held: tuple[Held, ...] = ()  #: SLR of each register of the ways between SLRs

    @cached_property
    def use(self) -> tuple[Resources, ...]:
        """Return the resources that the parts in each SLR take."""
        return tuple(
            sum((p.resources for p in self.parts if self.assignment[p.name] == slr), Resources())
            for slr in range(len(self.device.slrs))
        )

    @cached_property
    def wires(self) -> tuple[int, ...]:
        """Return the wires across each boundary, that between SLR0 and SLR1 first."""
        boundaries = range(len(self.device.slrs) - 1)
        return tuple(wires_across(self.links, self.assignment, b) for b in boundaries)

    @property
    def objective(self) -> int:
        """Return what a floorplan minimises first: the wires across all boundaries."""
        return sum(self.wires)

    @property
    def fill(self) -> float:
        """Return what a floorplan minimises second: the largest used share of an SLR's budget."""
        shares = [
            getattr(use, kind) / slr.budget[kind]
            for use, slr in zip(self.use, self.device.slrs, strict=True)
            for kind in LIMITED
            if slr.budget[kind] > 0
        ]
        return max(shares, default=0.0)

    def parts_of(self, slr: int) -> list[Part]:
        """Return the parts in an SLR."""
        return [part for part in self.parts if self.assignment[part.name] == slr]


def wires_across(links: Sequence[Link], assignment: Mapping[str, int], boundary: int) -> int:
    """Count the wires between SLR ``boundary`` and the next; those of several links once."""
    apart: dict[str, int] = {}
    for index, link in enumerate(links):
        low, high = sorted((assignment[link.a], assignment[link.b]))
        if low <= boundary < high:
            key = f"={index}" if link.shared is None else f"+{link.shared}"
            apart[key] = max(apart.get(key, 0), link.wires)
    return sum(apart.values())


def check(parts: Sequence[Part], links: Sequence[Link], device: Device) -> None:
    """Raise ValueError unless names are unique and known, and SLRs are the device's."""
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two parts are called {name}")
    for link in links:
        for end in (link.a, link.b):
            if end not in names:
                raise ValueError(f"a link ends in {end}, which is no part")
    for part in parts:
        if part.slr is not None and not 0 <= part.slr < len(device.slrs):
            raise ValueError(f"{part.name} is fixed in SLR{part.slr}; there are {len(device.slrs)}")
