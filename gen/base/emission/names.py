"""Gives emitted modules names that constraints can rely on: an edit elsewhere moves none of them.

Amaranth numbers what shares its name with something else in its module by how many names there
are, so that one signal more renames a register. Here ports keep their names, then submodules, then
registers, then other signals, each in the order in which the source makes them; the second of a
name gets ``$1``, the third ``$2``. A register of which only some bits are assigned together is
named after them: ``valid$7_4``.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

from gen.base.emission.amaranth_internals import Design, FlipFlop, Value


def add_name(taken: set[str], name: str) -> str:
    """Add ``name`` to the names that are ``taken``, numbered if it is one of them; return it."""
    if name in taken:
        name = next(new for k in count(1) if (new := f"{name}${k}") not in taken)
    taken.add(name)
    return name


def assign_names(
    design: Any,
    fragment: Any,
    hierarchy: tuple[str, ...],
    *,
    assign: Any = Design._assign_names,  # pyright: ignore[reportAttributeAccessIssue]
) -> None:
    """Name the signals of ``fragment``, in place of Amaranth, which then names all else in it."""
    information = design.fragments[fragment]
    ports = design.ports if fragment is design.fragment else ()
    taken = {name for name, _, _ in ports} | {name for _, name, _ in fragment.subfragments if name}
    own_ports = {(name, id(signal)) for name, signal, _ in ports}
    registers = {signal.duid for signal in registers_of(fragment)}

    def rank(signal: Any) -> tuple[int, int]:
        kind = 0 if (signal.name, id(signal)) in own_ports else 2 - (signal.duid in registers)
        return kind, signal.duid

    names = information.signal_names  # where signals are equal the first one names their wire
    for signal in sorted(information.used_signals, key=rank):
        if rank(signal)[0] == 0:
            names[signal] = signal.name
        elif signal.name:
            names[signal] = add_name(taken, signal.name)
    information.assigned_names.update(names.values())
    assign(design, fragment, hierarchy)


def registers_of(fragment: Any) -> Iterator[Any]:
    """Yield the signals that ``fragment`` itself assigns at a clock edge."""
    for domain, statements in fragment.statements.items():
        if domain != "comb":
            for statement in statements:
                yield from statement._lhs_signals()


class PartNames:
    """Names registers that hold some bits of a signal: the signal's name, and the bits."""

    def __init__(self, netlist: Any, module: Any) -> None:
        self._netlist = netlist
        self._places: dict[Any, tuple[str, int]] = {}  # net -> first signal that has it, its bit
        for signal, name in module.signal_names.items():
            for bit, net in enumerate(netlist.signals[signal]):
                self._places.setdefault(net, (name, bit))

    def find(self, value: Value) -> str | None:
        """Return the name of a register that drives ``value``; None if another cell does."""
        net = value[0]
        if not isinstance(self._netlist.cells[net.cell], FlipFlop) or net not in self._places:
            return None
        name, bit = self._places[net]
        return f"{name}${bit + len(value) - 1}_{bit}"
