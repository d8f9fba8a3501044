"""Makes mutants like designers' mistakes, which change several bits, or wires, at once.

- ``width``: the upper bits of a register stay zero, as if it were narrower;
- ``bound``: a constant that something is compared with is one more, or one less, which is ``<``
  for ``<=`` as well;
- ``one_of_many``: of the bits that an "any" or an "all" reduces, only one counts;
- ``response``: of the two bits of an AXI response, one is not looked at;
- ``swap``: two ports of an instance that have one direction and one width are exchanged.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from gen.base.emission.yosys import native_yosys
from sim.mutation.cells import Cell

NARROW = 6  #: bits of a register that is too narrow to be called wide
SHARE = 4  #: one mutant in this many is of these kinds
COMPARISONS = ("$eq", "$ne", "$lt", "$le", "$gt", "$ge")
REDUCTIONS = {"$reduce_or": "const0", "$reduce_bool": "const0", "$reduce_and": "const1"}
LOOKS = (*COMPARISONS, *REDUCTIONS, "$logic_not")

#: names ports that have the same meaning for every instance
COMMON = re.compile(r"(.*_)?(clk|rst|clear)")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Describes a change of several bits of one cell, or of two of its ports."""

    kind: str
    cell: str  #: Yosys's name for it
    about: str  #: the rest of its description
    edits: tuple[tuple[str, str, int], ...] = ()  #: mode of Yosys's mutate, port, bit
    ports: tuple[str, str] = ("", "")  #: the two ports that are exchanged


def faults_of(design: Any, name: str, cells: Mapping[str, Cell], seed: int) -> list[Fault]:
    """Return all faults of module ``name``: kinds in turn, each shuffled by ``seed``."""
    ys = native_yosys()
    module = design.module(ys.IdString(f"\\{name}"))
    result: dict[str, list[Fault]] = {kind: [] for kind in KINDS}
    raw = {cell.name.str().removeprefix("\\"): cell for cell in module.cells_.values()}
    for own, cell in sorted(raw.items(), key=lambda item: cells[item[0]].name):
        for kind, make in KINDS.items():
            result[kind] += make(design, own, cell, cells[own])
    chance = random.Random(seed)
    for faults in result.values():
        chance.shuffle(faults)
    most = max(map(len, result.values()), default=0)
    return [faults[k] for k in range(most) for faults in result.values() if k < len(faults)]


def narrowed(design: Any, own: str, cell: Any, known: Cell) -> Iterator[Fault]:
    """Yield faults that take a register's upper quarter, or its upper half."""
    if not cell.is_builtin_ff():
        return
    signal = cell.getPort(native_yosys().IdString("\\Q"))
    width = signal.size()
    if width <= NARROW or not signal.is_wire():
        return
    for left in (width - width // 4, width // 2):
        edits = tuple(("const0", "D", bit) for bit in range(left, width))
        yield Fault(kind="width", cell=own, about=f"{known.drives or own} {left}", edits=edits)


def shifted_bounds(design: Any, own: str, cell: Any, known: Cell) -> Iterator[Fault]:
    """Yield faults that compare with a constant beside the one that is meant."""
    if cell.type.str() not in COMPARISONS:
        return
    ys = native_yosys()
    for port in ("A", "B"):
        signal = cell.getPort(ys.IdString(f"\\{port}"))
        if not signal.is_fully_const() or signal.size() < 2:
            continue
        bits = signal.as_const().as_string()[::-1]
        value = int(bits[::-1], 2) if set(bits) <= {"0", "1"} else -1
        for step in (1, -1):
            if value >= 0 and 0 <= value + step < 1 << signal.size():
                changed = value ^ (value + step)
                edits = [("inv", port, k) for k in range(signal.size()) if changed >> k & 1]
                about = f"{known.kind} {known.name} {port} {value} for {value + step}"
                yield Fault(kind="bound", cell=own, about=about, edits=tuple(edits))


def one_of_many(design: Any, own: str, cell: Any, known: Cell) -> Iterator[Fault]:
    """Yield faults that reduce bits to one by the first or the last of them alone."""
    mode = REDUCTIONS.get(cell.type.str())
    width = cell.getPort(native_yosys().IdString("\\A")).size() if mode else 0
    if mode is None or width < 2:
        return
    for stored in (0, width - 1):
        edits = tuple((mode, "A", bit) for bit in range(width) if bit != stored)
        about = f"{known.kind} {known.name} {stored} of {width}"
        yield Fault(kind="one_of_many", cell=own, about=about, edits=edits)


def dropped_responses(design: Any, own: str, cell: Any, known: Cell) -> Iterator[Fault]:
    """Yield faults that look at one bit alone of two bits called resp."""
    if cell.type.str() not in LOOKS:
        return
    signal = cell.getPort(native_yosys().IdString("\\A"))
    names = {bit.wire.name.str() for bit in signal.bits() if bit.is_wire()}
    if signal.size() != 2 or not any("resp" in name for name in names):
        return
    for bit in (0, 1):
        about = f"{known.kind} {known.name} {bit}"
        edits = (("const0", "A", bit),)
        yield Fault(kind="response", cell=own, about=about, edits=edits)


def swapped(design: Any, own: str, cell: Any, known: Cell) -> Iterator[Fault]:
    """Yield faults that swap two ports of an instance that take, or give, equally many bits."""
    if cell.type.str().startswith("$"):
        return
    signals = {port.str().removeprefix("\\"): sig for port, sig in dict(cell.connections_).items()}
    ys = native_yosys()
    for first, second in combinations(sorted(signals), 2):
        if COMMON.fullmatch(first) or COMMON.fullmatch(second):
            continue
        ways = [cell.input(ys.IdString(f"\\{port}")) for port in (first, second)]
        sizes = [signals[port].size() for port in (first, second)]
        if ways[0] != ways[1] or sizes[0] != sizes[1] or not sizes[0]:
            continue
        if ways[0] and signals[first] == signals[second]:
            continue
        about = f"{known.kind} {known.name} {first} with {second}"
        yield Fault(kind="swap", cell=own, about=about, ports=(first, second))


KINDS: Mapping[str, Callable[[Any, str, Any, Cell], Iterator[Fault]]] = {
    "swap": swapped,
    "width": narrowed,
    "bound": shifted_bounds,
    "response": dropped_responses,
    "one_of_many": one_of_many,
}


def exchange(design: Any, name: str, fault: Fault, control: Any, number: int) -> None:
    """Exchange the ports of ``fault`` wherever ``control``, a signal, is ``number``."""
    ys = native_yosys()
    module = design.module(ys.IdString(f"\\{name}"))
    raw = fault.cell if fault.cell.startswith("$") else f"\\{fault.cell}"
    cell = module.cell(ys.IdString(raw))
    now = new_wire(module, 1, f"swap_{number}")
    value = ys.SigSpec(ys.Const(number, control.size()))
    module.addEq(new_name(f"in_force_{number}"), control, value, now)
    first, second = (ys.IdString(f"\\{port}") for port in fault.ports)
    item, other = cell.getPort(first), cell.getPort(second)
    inward = cell.input(first)
    makes = [new_wire(module, item.size(), f"swap_{number}_{k}") for k in range(2)]
    for k, (port, own, others) in enumerate(((first, item, other), (second, other, item))):
        if inward:
            module.addMux(new_name(f"choose_{number}_{k}"), own, others, now, makes[k])
        else:
            module.addMux(new_name(f"choose_{number}_{k}"), makes[k], makes[1 - k], now, own)
        cell.setPort(port, makes[k])


def new_wire(module: Any, width: int, name: str) -> Any:
    """Add a wire for a mutant's own use."""
    ys = native_yosys()
    return ys.SigSpec(module.addWire(new_name(name), width))


def new_name(name: str) -> Any:
    """Return a name that nothing of the design has."""
    return native_yosys().IdString(f"\\mutant_{name}")
