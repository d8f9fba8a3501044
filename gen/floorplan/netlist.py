"""Reads what Yosys knows of a single emitted module: its cells, and how they are wired."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gen.base.emission.yosys import described

PASSES = ("proc", "opt_expr", "opt_clean", "opt_dff", "opt_clean")

#: a net of the module; constants are text
Bit = int | str


@dataclass(frozen=True)
class Cell:
    """Describes an instance of a module, or a cell of Yosys' own (its type begins with $)."""

    name: str
    type: str
    wires: Mapping[str, Sequence[Bit]]  #: bits of each port, the lowest bit first
    directions: Mapping[str, str]  #: directions of the ports of what Yosys knows itself


@dataclass(frozen=True)
class Netlist:
    """Holds one module as Yosys describes it."""

    described: Mapping[str, Any]  #: by Yosys' JSON

    @cached_property
    def cells(self) -> list[Cell]:
        """Return the cells in the order of their names."""
        return [
            Cell(name, cell["type"], cell["connections"], cell.get("port_directions", {}))
            for name, cell in sorted(self.described["cells"].items())
        ]

    @cached_property
    def ports(self) -> dict[str, Sequence[Bit]]:
        """Return the bits of the module's own ports, by name."""
        return {name: port["bits"] for name, port in self.described["ports"].items()}

    @cached_property
    def nets(self) -> dict[str, Sequence[Bit]]:
        """Return the bits of the module's wires, by name."""
        return {name: net["bits"] for name, net in self.described["netnames"].items()}


def netlists(text: str, language: str = "rtlil") -> dict[str, Netlist]:
    """Return the modules of a text in RTLIL, as Amaranth writes it, or in ``verilog``."""
    result = described(text, *PASSES, language=language)
    return {name: Netlist(module) for name, module in result.items()}
