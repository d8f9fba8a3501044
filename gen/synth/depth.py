"""Holds what is known of a module's paths: the worst between registers, and those of its ports."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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


@dataclass(frozen=True, kw_only=True)
class ModuleTiming:
    """Holds a module as its parent sees it, and the module's own depth."""

    depth: Depth
    outputs: Mapping[Bit, Arrival]  #: paths to an output, from a register inside
    inputs: Mapping[Bit, Arrival]  #: paths from an input to a register, which is called ``start``
    through: Mapping[Bit, Mapping[Bit, Arrival]]  #: output -> input, where no register cuts
