"""What Yosys knows of a single emitted module: its cells, and what their ports are wired to."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gen.emit import silent_stdout
from hdl.common.placed_delay import KEPT_APART

PASSES = ("proc", "opt_expr", "opt_clean", "opt_dff", "opt_clean")

#: a net of the module; constants are text
Bit = int | str


@dataclass(frozen=True)
class Cell:
    """An instance of a module, or an operator or register of Yosys' (its type begins with $)."""

    name: str
    type: str
    wires: Mapping[str, Sequence[Bit]]  #: of each port, the lowest bit first
    directions: Mapping[str, str]  #: of the ports of what Yosys knows itself


@dataclass(frozen=True)
class Netlist:
    """One module."""

    described: Mapping[str, Any]  #: by Yosys' JSON

    @cached_property
    def cells(self) -> list[Cell]:
        """In the order of their names."""
        return [
            Cell(name, cell["type"], cell["connections"], cell.get("port_directions", {}))
            for name, cell in sorted(self.described["cells"].items())
        ]

    @cached_property
    def ports(self) -> dict[str, Sequence[Bit]]:
        """Its own, by name."""
        return {name: port["bits"] for name, port in self.described["ports"].items()}

    @cached_property
    def delayed(self) -> set[Bit]:
        """What comes out of the registers of a way (see hdl/common/placed_delay.py)."""
        return {
            bit
            for net in self.described["netnames"].values()
            if all(net["attributes"].get(name) == value for name, value in KEPT_APART.items())
            for bit in net["bits"]
        }


def netlists(rtlil: str) -> dict[str, Netlist]:
    """The modules of a text as Amaranth writes it."""
    from pyosys import libyosys as ys  # pyright: ignore[reportAttributeAccessIssue]

    with tempfile.TemporaryDirectory() as folder, silent_stdout():
        source, target = Path(folder, "module.il"), Path(folder, "module.json")
        source.write_text(rtlil)
        design = ys.Design()
        for command in (f"read_rtlil {source}", *PASSES, f"write_json {target}"):
            ys.run_pass(f"tee -q -o {folder}/log {command}", design)
        described = json.loads(target.read_text())["modules"]
    return {name: Netlist(module) for name, module in described.items()}
