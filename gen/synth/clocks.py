"""Finds which clock each register of a netlist has.

A module calls a clock by its port, or, where IP inside makes it, by that IP's path and output. A
parent calls the same clock by what is connected there, and so on up to the top.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from gen.synth.arcs import clocks_of, live
from gen.synth.depth import ModuleTiming
from gen.synth.mapping import MappedModule

#: matches the ports of the vendor's IP that are clocks
VENDOR_CLOCK = re.compile(r"(?i).*(clk|clock)(_?\d)?(_?[np])?")
#: matches cells whose outputs are the clock at their input: the half of a transceiver's reference
#: clock, which goes to IP alone, counts as that clock
BUFFER = re.compile(r"BUFG|IBUFDS_GTE4")


def clock_ports(cell: Mapping[str, Any]) -> frozenset[str]:
    """Return the ports of a primitive, or of IP, that take a clock or give one."""
    if "port_directions" not in cell:
        return clocks_of(cell["type"])
    return frozenset(filter(VENDOR_CLOCK.fullmatch, cell["connections"]))


class ModuleClocks:
    """Names the clocks of a netlist; ``children`` are the results of its submodules, by type."""

    def __init__(self, module: MappedModule, children: Mapping[str, ModuleTiming]) -> None:
        self._module, self._children = module, children
        self._names: dict[int, str] = {}

    @cached_property
    def _drivers(self) -> dict[int, tuple[str, str]]:
        """Map each bit that a port, a child, IP or a buffer drives to instance and port."""
        drivers = {bit: ("", at[0][0]) for bit, at in self._module.port_bits("input").items()}
        for name, cell in self._module.cells.items():
            for port in self._clock_outputs(cell):
                drivers |= dict.fromkeys(live(cell["connections"].get(port, ())), (name, port))
        return drivers

    def _clock_outputs(self, cell: Mapping[str, Any]) -> Iterable[str]:
        """List the ports of a cell that may drive a clock."""
        if (child := self._children.get(cell["type"])) is not None:
            return child.clock_outputs
        if BUFFER.match(cell["type"]):
            return ("O", "ODIV2")
        return [p for p, path in cell.get("port_directions", {}).items() if path == "output"]

    def name_of(self, wire: Iterable[Any]) -> str:
        """Return the name of the clock on a wire; empty for a constant and for what logic makes."""
        bit = next(live(wire), None)
        if bit is None or bit not in self._drivers:
            return ""
        if bit not in self._names:
            self._names[bit] = self._driven(*self._drivers[bit])
        return self._names[bit]

    def _driven(self, instance: str, port: str) -> str:
        """Return the name of the clock that a port of an instance, or of the module, drives."""
        if not instance:
            return port
        cell = self._module.cells[instance]
        if (child := self._children.get(cell["type"])) is not None:
            return self._of_child(instance, child.clock_outputs[port])
        if BUFFER.match(cell["type"]):
            return self.name_of(cell["connections"]["I"])
        return f"{instance}/{port}"

    def _of_child(self, instance: str, clock: str) -> str:
        """Return the name of what the child ``instance`` calls ``clock``."""
        wires = self._module.cells[instance]["connections"]
        return self.name_of(wires[clock]) if clock in wires else f"{instance}/{clock}"

    def of_child(self, instance: str) -> dict[str, str]:
        """Return the name of each clock of a child, by the child's own name of it."""
        child = self._children[self._module.cells[instance]["type"]]
        named = {clock: self._of_child(instance, clock) for clock in child.clocks}
        return {clock: name for clock, name in named.items() if name}

    def of_primitive(self, cell: Mapping[str, Any]) -> set[str]:
        """Return the clocks of a primitive or of IP: each of its ports counts for all of them."""
        wires = cell["connections"]
        names = {self.name_of(wires.get(port, ())) for port in clock_ports(cell)}
        return names - {""}

    def outputs(self) -> dict[str, str]:
        """Return the names of the clocks that leave the module, by port."""
        named = {
            port: self.name_of(description["bits"])
            for port, description in self._module.ports.items()
            if description["direction"] == "output" and len(description["bits"]) == 1
        }
        return {port: name for port, name in named.items() if name}

    def in_children(self) -> dict[str, dict[str, set[str]]]:
        """Return the names of the clocks of all children, by type and by the child's names."""
        names: dict[str, dict[str, set[str]]] = {}
        for instance, cell in self._module.cells.items():
            if cell["type"] in self._children:
                of_type = names.setdefault(cell["type"], {})
                for clock, name in self.of_child(instance).items():
                    of_type.setdefault(clock, set()).add(name)
        return names
