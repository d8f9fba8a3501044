"""Reads what an emitted module contains and how it is wired, bit by bit."""

import re
from dataclasses import dataclass
from typing import Any

from gen.base.emission.emit import Emission, EmittedModule
from gen.base.emission.yosys import described

OUTSIDE = ""  #: the name of the module itself, seen from inside

Bit = int | str  #: a net, or a constant
Pin = tuple[str, str, int]  #: block, port, bit


@dataclass(frozen=True)
class Netlist:
    """Holds the blocks of a module, and where the bits of their inputs come from."""

    blocks: dict[str, str]  #: module name by instance
    inputs: dict[Pin, Bit]  #: nets by what takes them: blocks' inputs, the module's outputs
    outputs: dict[Bit, Pin]  #: what drives a net: blocks' outputs, the module's inputs
    glue: dict[Bit, tuple[Bit, ...]]  #: for each net that logic drives between blocks: its inputs

    def sources(self, bit: Bit) -> set[Pin]:
        """Return all pins that the net depends on through logic between the blocks."""
        result: set[Pin] = set()
        seen: set[Bit] = set()
        waiting = [bit]
        while waiting:
            net = waiting.pop()
            if net in seen:
                continue
            seen.add(net)
            if net in self.outputs:
                result.add(self.outputs[net])
            waiting += self.glue.get(net, ())
        return result


def read_netlist(emission: Emission) -> Netlist:
    """Read the netlist of the top of ``emission``; parts that are no components are flattened."""
    top = emission.top
    module = to_json(top)
    netlist = Netlist({}, {}, {}, {})
    for name, port in module["ports"].items():
        add_pins(netlist, OUTSIDE, name, port["bits"], drives=port["direction"] == "input")
    for name, cell in module["cells"].items():
        if cell["type"] in emission.modules:
            # What shares its name with a port is numbered.
            block = re.sub(r"\$\d+$", "", name)
            netlist.blocks[block] = cell["type"]
            outputs = {
                port.name
                for port in emission.modules[cell["type"]].ports
                if port.direction == "output"
            }
            for port, bits in cell["connections"].items():
                add_pins(netlist, block, port, bits, drives=port in outputs)
        else:
            add_glue(netlist, cell)
    return netlist


def add_pins(netlist: Netlist, block: str, port: str, bits: list[Bit], *, drives: bool) -> None:
    """Add the bits of one port to ``netlist``."""
    for k, bit in enumerate(bits):
        if isinstance(bit, str):  # a constant
            continue
        if drives:
            netlist.outputs[bit] = (block, port, k)
        else:
            netlist.inputs[block, port, k] = bit


def add_glue(netlist: Netlist, cell: dict[str, Any]) -> None:
    """Add a cell of logic; each output bit of a multiplexer depends on its two data bits alone."""
    wires, directions = cell["connections"], cell["port_directions"]
    if cell["type"] == "$mux":
        for a, b, y in zip(wires["A"], wires["B"], wires["Y"], strict=True):
            netlist.glue[y] = (a, b)
        return
    provided = [bit for port, bits in wires.items() if directions[port] == "input" for bit in bits]
    for port, bits in wires.items():
        if directions[port] == "output":
            for bit in bits:
                netlist.glue[bit] = tuple(provided)


def to_json(module: EmittedModule) -> dict[str, Any]:
    """Return the module as Yosys describes it in JSON, with submodules flattened into it."""
    passes = (f"hierarchy -top {module.name}", "proc", "flatten", "opt_clean")
    return described(module.rtlil, *passes)[module.name]
