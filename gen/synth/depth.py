"""Holds what is known of a module's paths: the worst between registers, and those of its ports."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from gen.synth.arrival import Arrival
from gen.synth.mapping import Bit


@dataclass(frozen=True, kw_only=True)
class Depth:
    """Holds the worst path between registers, and the most of each kind on any path."""

    levels: int = 0  #: LUTs on the path
    chains: int = 0  #: carry chains on it
    carry: int = 0  #: bits of the longest chain on it
    start: str = ""  #: register or memory; a dot follows each module below
    end: str = ""
    most_levels: int = 0  #: most LUTs of any path
    most_chains: int = 0
    most_carry: int = 0
    rings: int = 0  #: arcs left out because they would close a ring

    @property
    def order(self) -> tuple[int, int]:
        """Return the key by which paths are compared: the greater, the worse."""
        return self.levels + self.chains, self.carry

    def describe(self) -> dict[str, Any]:
        """Return the depth as an object of JSON."""
        return asdict(self)


def deepest(depths: Iterable[Depth]) -> Depth:
    """Return the worst path of several depths, with the most of each kind and all rings."""
    depths = list(depths)
    return replace(
        max(depths, key=lambda depth: depth.order, default=Depth()),
        most_levels=max((depth.most_levels for depth in depths), default=0),
        most_chains=max((depth.most_chains for depth in depths), default=0),
        most_carry=max((depth.most_carry for depth in depths), default=0),
        rings=sum(depth.rings for depth in depths),
    )


@dataclass(frozen=True, kw_only=True)
class ClockPaths:
    """Holds the paths of a module that begin, or end, at registers of one clock."""

    depth: Depth  #: the worst of those that do both
    outputs: Mapping[Bit, Arrival]  #: paths to an output, from a register inside
    inputs: Mapping[Bit, Arrival]  #: paths from an input to a register, which is called ``start``
    #: the same from outputs that no flip-flop drives, whose loads outside slow them, too
    returns: Mapping[Bit, Arrival]


@dataclass(frozen=True, kw_only=True)
class ModuleTiming:
    """Holds a module as its parent sees it, and the module's own depth."""

    depth: Depth
    paths: Mapping[str, ClockPaths]  #: by the module's name of the clock
    clock_outputs: Mapping[str, str]  #: output -> the module's name of the clock that leaves there
    #: child -> its name of a clock -> the module's names of it
    clocks_below: Mapping[str, Mapping[str, Iterable[str]]]
    through: Mapping[Bit, Mapping[Bit, Arrival]]  #: output -> input, where no register cuts

    @cached_property
    def clocks(self) -> set[str]:
        """Return the module's names of all clocks in it, and below."""
        below = (near for child in self.clocks_below.values() for near in child.values())
        return {*self.paths, *(name for names in below for name in names)}
