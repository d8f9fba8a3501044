"""Checks a plugin for OpenNIC's box against its own Verilog and the box's ports."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from gen.board.check import compare
from gen.board.hierarchy import VerilogModule, bits_of, read_verilog
from gen.output.folder import MANIFEST
from gen.packages import require
from hdl.opennic.box import STREAMS, box_ports

BOX = "box_250mhz"
#: what of the box a plugin must drive, and what of it must be led somewhere
DRIVEN = (*STREAMS, "s_axil", "mod_rst_done")
#: constants and nets of the box that an input may be connected to besides its ports
ELSE = {"1'b0": 1, "!internal_box_rstn": 1}


def problems(folder: Path) -> list[str]:
    """Return what is wrong with the plugin in ``folder``, a line each."""
    files = set(json.loads((folder / MANIFEST).read_text())["files"])
    verilog = sorted(folder.glob("rtl/*.v"))
    listed = re.findall(r"^ +(rtl/\S+\.v)$", (folder / f"build_{BOX}.tcl").read_text(), re.M)
    wrong = [*compare({f"rtl/{path.name}" for path in verilog}, listed, f"build_{BOX}.tcl")]
    present = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    wrong += compare(present - {MANIFEST}, files, "the manifest")
    try:
        modules = read_verilog([*verilog, folder / BOX / f"{BOX}_address_map.v"])
        texts = [
            (folder / BOX / f"{n}_inst.vh").read_text()
            for n in (f"{BOX}_address_map", "user_plugin_250mhz")
        ]
        box = Box("\n".join(texts))
    except ValueError as error:
        return [*wrong, str(error)]
    return [*wrong, *box.problems(modules)]


class Box:
    """Holds what the files that the box includes connect: instances, nets and assignments."""

    def __init__(self, text: str) -> None:
        require("generate --board", "pyslang")
        from pyslang import syntax  # pyright: ignore[reportMissingModuleSource]

        tree = syntax.SyntaxTree.fromText(f"module box; {text}\nendmodule")
        if errors := [d for d in tree.diagnostics if d.isError()]:
            raise ValueError(f"what the box includes is not Verilog: {errors[0].code}")
        self.ports = box_ports()
        self.widths = {name: bits for name, (_, bits) in self.ports.items()} | ELSE
        self.instances: list[tuple[str, list[tuple[str, str]]]] = []
        self.assigned: list[str] = []
        for member in cast(Any, tree.root).members:
            kind = member.kind.name
            if kind == "NetDeclaration":
                bits = bits_of(str(member.type))
                self.widths |= {d.name.valueText: bits for d in member.declarators}
            elif kind == "ContinuousAssign":
                self.assigned += [str(each.left).strip() for each in member.assignments]
            elif kind == "HierarchyInstantiation":
                for each in member.instances:
                    named = [
                        (c.name.valueText, str(c.expr).strip())
                        for c in each.connections
                        if c.kind.name == "NamedPortConnection"
                    ]
                    self.instances.append((member.type.valueText, named))

    def problems(self, modules: Mapping[str, VerilogModule]) -> Iterator[str]:
        """Yield what does not fit ``modules`` or the box, a line each."""
        drives, reads = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
        for net in self.assigned:
            drives.update(self.bits(net))
        for kind, connected in self.instances:
            if kind not in modules:
                yield f"there is no module {kind}"
                continue
            ports = modules[kind].ports
            yield from compare(ports, [name for name, _ in connected], f"the instance of {kind}")
            for name, net in connected:
                bits = list(self.bits(net))
                if not bits:
                    yield f"port {name} of {kind} is connected to {net}, which the box has not"
                elif name in ports:
                    direction, width = ports[name]
                    if len(bits) != width:
                        yield f"port {name} of {kind} has {width} bits, and {net} has {len(bits)}"
                    (drives if direction == "output" else reads).update(bits)
        for name, (direction, bits) in self.ports.items():
            if name.startswith(DRIVEN):
                seen = drives if direction == "output" else reads
                counts = [seen[name, bit] for bit in range(bits)]
                if counts != [1] * bits:
                    often = "not" if min(counts) == 0 else "more than once"
                    how = "driven" if direction == "output" else "used"
                    yield f"{name} of the box is {often} {how}"
            if direction == "input" and any(drives[name, bit] for bit in range(bits)):
                yield f"{name} is an input of the box, and is driven"
        for net in {name for name, _ in reads} - self.ports.keys() - ELSE.keys():
            if any(drives[net, bit] != 1 for bit in range(self.widths[net])):
                yield f"net {net} is not driven once"

    def bits(self, net: str) -> Iterator[tuple[str, int]]:
        """Yield the bits of a net or of a part of it; none if there is no such part."""
        match = re.fullmatch(r"([^\[]+)(?:\[(\d+)(?::(\d+))?\])?", net)
        width = self.widths.get(match[1], 0) if match else 0
        if match and width:
            high = int(match[2] or width - 1)
            low = int(match[3] or (high if match[2] else 0))
            yield from ((match[1], bit) for bit in range(low, min(high + 1, width)))
