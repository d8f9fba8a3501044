"""Counts the bits of memories and registers that a design declares, before any synthesis."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gen.base.emission.emit import EmittedModule, Emitter, seldom_collected
from gen.base.emission.narrowing import strict_constants
from hdl.common.component import Component

ATTRIBUTE = re.compile(r'^\s*attribute \\ram_style "(?P<style>\w+)"$')
MEMORY = re.compile(r"^\s*memory width (?P<bits>\d+) size (?P<depth>\d+) \\(?P<name>\S+)$")
REGISTER = re.compile(r"^\s*cell \$dff \S+\n\s*parameter \\WIDTH (?P<bits>\d+)$", re.MULTILINE)

#: names modules that only store for another one, and are counted as a part of that one
STORES = ("hdl.common.fifo", "hdl.common.memory")


def declared(rtlil: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield the name, width, depth and style of each memory of a module."""
    style = "auto"
    for line in rtlil.splitlines():
        if attribute := ATTRIBUTE.match(line):
            style = attribute["style"]
        elif memory := MEMORY.match(line):
            yield memory["name"], int(memory["bits"]), int(memory["depth"]), style
        if not line.lstrip().startswith("attribute "):
            style = "auto"


@dataclass(frozen=True)
class Bits:
    """Counts bits that are stored, by what stores them."""

    memory: int = 0
    registers: int = 0

    def __add__(self, other: "Bits") -> "Bits":
        return Bits(self.memory + other.memory, self.registers + other.registers)

    def __mul__(self, times: int) -> "Bits":
        return Bits(self.memory * times, self.registers * times)


def bits_of(
    component: Component, progress: Callable[[str], None] | None = None
) -> dict[type[Component], Bits]:
    """Count the bits of memories and registers of ``component``, by the class that has them.

    A queue or a memory of hdl.common is a part of what it stands in. The component is elaborated
    with everything below it, and nothing is synthesised: registers that synthesis would remove
    are counted, too.
    """
    emitter = Emitter(progress)
    with strict_constants(), seldom_collected():
        top = emitter.emit(component)
    result: dict[type[Component], Bits] = {}
    _add(top, top.kind, 1, emitter.modules, result)
    return result


def _add(
    module: EmittedModule,
    owner: type[Component],
    times: int,
    modules: Mapping[str, EmittedModule],
    result: dict[type[Component], Bits],
) -> None:
    memory = sum(bits * depth for _, bits, depth, _ in declared(module.rtlil))
    registers = sum(int(register["bits"]) for register in REGISTER.finditer(module.rtlil))
    result[owner] = result.get(owner, Bits()) + Bits(memory, registers) * times
    for name, count in module.instances.items():
        child = modules[name]
        kind = owner if child.kind.__module__ in STORES else child.kind
        _add(child, kind, times * count, modules, result)
