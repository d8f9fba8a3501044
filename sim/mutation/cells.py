"""Describes the cells that Yosys makes of a module, as a reader wants to know them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gen.base.emission.yosys import native_yosys
from hdl.common import component
from sim.harness.cache import CHECKOUT

#: Yosys counts its multiplexers, and what they are chosen by, through all of a process
INVENTED = re.compile(r"\$procmux\$(\d+)")
CHOOSES = re.compile(r"\$procmux\$(\d+)_CMP(\d+)")

STUCK = ("const0", "const1")
#: the constant that leaves a term of a gate out
NEUTRAL = {"$and": "const1", "$logic_and": "const1", "$or": "const0", "$logic_or": "const0"}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Describes a cell: its name, its type, and the source that it comes from."""

    name: str  #: made up in the same way in every process
    kind: str  #: its type: $add, $mux, a module
    drives: str  #: the signal with a name that comes of it; empty if that is not one
    sources: tuple[str, ...]  #: file:line of the cell, or else of that signal
    #: ports that control what happens, each with the ways to break one of its bits: a select (of an
    #: enable, a clear, a branch) sticks, a one-bit term of an "and" or an "or" is left out
    control: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def sources(text: str) -> tuple[str, ...]:
    """Return the places in Yosys's attribute, relative to the checkout; not those of libraries.

    The place in Component at which every module begins is none, either.
    """
    places = []
    for place in text.split("|"):
        path, _, line = place.rpartition(":")
        if Path(path).is_relative_to(CHECKOUT / "hdl") and path != component.__file__:
            places.append(f"{Path(path).relative_to(CHECKOUT).as_posix()}:{line.partition('.')[0]}")
    return tuple(dict.fromkeys(places))


def cells_of(design: Any, name: str) -> dict[str, Cell]:
    """Return every cell of module ``name``, by the name that Yosys has for it."""
    ys = native_yosys()
    cells = list(design.module(ys.IdString(f"\\{name}")).cells_.values())
    by_name = {cell.name.str().removeprefix("\\"): cell for cell in cells}
    stable = {own: own for own in by_name}
    stable |= numbered(by_name, INVENTED, "$procmux") | numbered(by_name, CHOOSES, "$procmux_cmp")
    outputs = {own: output_of(cell) for own, cell in by_name.items()}
    readers = {name: cell for cell in cells for name in inputs_of(cell)}
    result = {}
    for own, cell in by_name.items():
        wire = named(outputs[own], readers)
        places = sources(cell.get_src_attribute())
        result[own] = Cell(
            name=stable[own],
            kind=cell.type.str().removeprefix("\\"),
            drives=wire.name.str().removeprefix("\\") if wire else "",
            sources=places or (sources(wire.get_src_attribute()) if wire else ()),
            control=control_of(cell),
        )
    return result


def control_of(cell: Any) -> dict[str, tuple[str, ...]]:
    """Return the ports of ``cell`` that control what happens, with the ways to break their bits."""
    kind = cell.type.str()
    if kind in ("$mux", "$pmux"):
        return {"S": STUCK}
    if kind not in NEUTRAL:
        return {}
    ports = {port.str().removeprefix("\\"): sig for port, sig in dict(cell.connections_).items()}
    terms = [port for port in ("A", "B") if ports[port].size() == ports["Y"].size() == 1]
    return dict.fromkeys(terms, (NEUTRAL[kind],))


def numbered(names: Iterable[str], pattern: re.Pattern[str], prefix: str) -> dict[str, str]:
    """Return those of ``names`` that match ``pattern``, each as ``prefix`` and its number."""
    result = [match for name in names if (match := pattern.fullmatch(name))]
    result.sort(key=lambda match: [int(number) for number in match.groups()])
    return {match[0]: f"{prefix}{place}" for place, match in enumerate(result)}


def named(wire: Any, readers: dict[str, Any]) -> Any:
    """Return the named wire that ``wire`` leads to by multiplexers and a register, or None."""
    for _ in range(100):
        if wire is None or not wire.name.str().startswith("$"):
            return wire
        reader = readers.get(wire.name.str())
        if reader is None or not (reader.is_builtin_ff() or reader.type.str() in ("$mux", "$pmux")):
            return None
        wire = output_of(reader)
    return None


def output_of(cell: Any) -> Any:
    """Return the wire that is the whole output of a cell with one output, or None."""
    for port, signal in dict(cell.connections_).items():
        if port.str() in ("\\Y", "\\Q") and signal.is_wire():
            return signal.as_wire()
    return None


def inputs_of(cell: Any) -> list[str]:
    """Return the names of the wires that are each the whole of a data input of ``cell``."""
    signals = {port.str(): signal for port, signal in dict(cell.connections_).items()}
    data = (signals[port] for port in ("\\A", "\\B", "\\D") if port in signals)
    return [signal.as_wire().name.str() for signal in data if signal.is_wire()]
