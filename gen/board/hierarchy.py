"""Reads the instance tree of emitted Verilog; finds the cells and pins that constraints name."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from gen.packages import require

#: pins of a flip-flop
FLOP_PINS = ("C", "D", "Q", "CE", "R", "S", "CLR", "PRE")


@dataclass(frozen=True)
class VerilogModule:
    """The ports, instances and registers of a module, which constraints can name."""

    name: str
    ports: dict[str, tuple[str, int]] = field(default_factory=dict)  #: direction, bits
    instances: dict[str, str] = field(default_factory=dict)  #: instance -> module
    registers: dict[str, int] = field(default_factory=dict)  #: signal -> bits
    connected: dict[str, tuple[str, ...]] = field(default_factory=dict)  #: instance -> ports
    stored: bool = False  #: synthesis keeps its boundary

    @property
    def flops(self) -> Iterator[str]:
        """Yield the cells that Vivado makes of the registers."""
        for name, bits in self.registers.items():
            cell = f"{name}_reg"
            yield from [cell] if bits == 1 else (f"{cell}[{bit}]" for bit in range(bits))


@dataclass(frozen=True)
class Hierarchy:
    """Holds all modules below a top; an instance of any other module is a black box."""

    top: str
    modules: Mapping[str, VerilogModule]
    boxes: Mapping[str, Iterable[str]] = field(default_factory=dict)  #: black box -> its ports

    def cells(self, pattern: str) -> list[tuple[str, str | None]]:
        """Return path and module (None: a flip-flop) of the cells that ``get_cells`` would find.

        A star does not match a slash. What lies in a black box is taken to be there, unless a star
        has found the box.
        """
        result: list[tuple[str, str | None]] = [("", self.top)]
        sure = True
        for part in pattern.split("/"):
            inside = [cell for cell in result if sure or cell[1] in self.modules]
            result = [cell for path, module in inside for cell in self.below(path, module, part)]
            sure = sure and not set(part) & set("*?")
        return result

    def below(self, path: str, module: str | None, part: str) -> Iterator[tuple[str, str | None]]:
        """Yield the cells of one module whose names ``part`` matches."""
        if module is None:
            return
        prefix = f"{path}/" if path else ""
        if module not in self.modules:
            yield prefix + part, module
            return
        match = glob(part).fullmatch
        inside = self.modules[module]
        yield from ((prefix + n, kind) for n, kind in inside.instances.items() if match(n))
        yield from ((prefix + name, None) for name in inside.flops if match(name))

    def pins(self, pattern: str) -> list[str]:
        """Return the pins that ``get_pins`` would find."""
        path, _, pin = pattern.rpartition("/")
        return [
            f"{cell}/{name}"
            for cell, module in self.cells(path)
            for name in self.pins_of(module)
            if glob(pin).fullmatch(name) or glob(pin.partition("[")[0]).fullmatch(name)
        ]

    def pins_of(self, module: str | None) -> Iterable[str]:
        """Return the names of the pins of a cell of ``module``."""
        if module is None:
            return FLOP_PINS
        if module in self.modules:
            return self.modules[module].ports
        return self.boxes.get(module, ())

    def placed(self) -> set[str]:
        """Return the modules that the top and what is below it instantiate, black boxes too."""
        seen, waiting = {self.top}, [self.top]
        while waiting:
            module = self.modules.get(waiting.pop())
            new = set(module.instances.values()) - seen if module else set()
            seen |= new
            waiting += new
        return seen


def glob(pattern: str) -> re.Pattern[str]:
    """Compile a Vivado pattern of one level: ``*`` and ``?`` are wild, brackets mean themselves."""
    text = re.escape(pattern).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    return re.compile(text)


def read_verilog(files: Iterable[Path]) -> dict[str, VerilogModule]:
    """Return the modules of ``files`` by name; raise ValueError for a text that is not Verilog."""
    require("generate --board", "pyslang")
    from pyslang import syntax  # pyright: ignore[reportMissingModuleSource]

    modules: dict[str, VerilogModule] = {}
    for path in files:
        tree = syntax.SyntaxTree.fromFile(str(path))
        if wrong := [d for d in tree.diagnostics if d.isError()]:
            raise ValueError(f"{path.name} is not Verilog: {wrong[0].code}")
        for member in cast(Any, tree.root).members:
            if member.kind.name == "ModuleDeclaration":
                module = read_module(member)
                modules[module.name] = module
    return modules


def read_module(declaration: Any) -> VerilogModule:
    """Make a module from its syntax tree."""
    stored = any("keep_hierarchy" in str(each) for each in declaration.attributes)
    module = VerilogModule(declaration.header.name.value, stored=stored)
    widths: dict[str, int] = {}
    written: set[str] = set()
    for port in declaration.header.ports.ports if declaration.header.ports else ():
        if port.kind.name == "ImplicitAnsiPort":  # the others are commas
            name, bits = port.declarator.name.valueText, bits_of(str(port.header.dataType))
            module.ports[name] = (port.header.direction.valueText, bits)
            widths[name] = bits
    for member in declaration.members:
        kind = member.kind.name
        if kind == "DataDeclaration":
            widths |= {
                d.name.valueText: bits_of(str(member.type))
                for d in member.declarators
                if not len(d.dimensions)
            }
        elif kind == "HierarchyInstantiation":
            for instance in member.instances:
                name = instance.decl.name.valueText
                module.instances[name] = member.type.valueText
                module.connected[name] = tuple(
                    c.name.valueText
                    for c in instance.connections
                    if c.kind.name == "NamedPortConnection"
                )
        elif kind == "AlwaysBlock" and "posedge" in (text := str(member)):
            written |= set(re.findall(r"(?:^|\s)\\?([^\s\[\\]+) *(?:\[[^\]]*\] *)?<=", text))
    module.registers.update((n, bits) for n, bits in widths.items() if n in written)
    return module


def bits_of(text: str) -> int:
    """Return the width that a declaration gives: ``[7:0]`` has 8 bits."""
    match = re.search(r"\[(\d+):(\d+)\]", text)
    return abs(int(match[1]) - int(match[2])) + 1 if match else 1
