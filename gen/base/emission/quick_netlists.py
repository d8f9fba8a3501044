"""Makes Amaranth's netlists and writes RTLIL in less time, with the same results.

Amaranth asserts of each bit of each value that it is a net, and asks a net through properties what
it is: half of an emission. Here a bit is the number that it is: 0 and 1 are constants, what is
negative is resolved later, the rest is a cell's number above 16 bits of place.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import repeat
from typing import Any
from unittest.mock import patch

from gen.base.emission.amaranth_internals import (
    MappedKeys,
    Net,
    Netlist,
    Value,
    rtlil,  # pyright: ignore[reportAttributeAccessIssue]
)

CONSTANTS = Net(0), Net(1)


def net_of_cell(kind: type[Net], cell: int, bit: int) -> Net:
    """Make what ``Net.from_cell`` makes, without asserting the range of either number."""
    return int.__new__(kind, cell << 16 | bit)


def unasserted(kind: type[Value], nets: Net | Iterable[Net] = ()) -> Value:
    """Make what ``Value`` makes, without asserting that each part is a net."""
    return tuple.__new__(kind, (nets,) if isinstance(nets, Net) else nets)


def constant(kind: type[Value], value: int, width: int) -> Value:
    """Make what ``Value.from_const`` makes: the low bits of a number, the lowest first."""
    digits = f"{value & ((1 << width) - 1):0{width}b}"[::-1] if width else ""
    return tuple.__new__(kind, [CONSTANTS[digit == "1"] for digit in digits])


def nets_of_cell(netlist: Any, width: int, cell: Any) -> Value:
    """Do what ``Netlist.add_value_cell`` does: add a cell, return its output."""
    if not 0 <= width <= 1 << 16:
        raise ValueError(f"a cell has at most 65,536 bits: {width}")
    first = netlist.add_cell(cell) << 16
    return tuple.__new__(Value, map(Net, range(first, first + width)))


def late_value(netlist: Any, signal: Any) -> Value:
    """Do what ``Netlist.alloc_late_value`` does: return nets that are resolved later."""
    width = len(signal)
    netlist.last_late_net -= width
    first = netlist.last_late_net
    value = tuple.__new__(Value, map(Net, range(first, first + width)))
    places = zip(repeat(signal, width), range(width), strict=True)
    netlist.late_to_signal.update(zip(value, places, strict=True))
    return value


def resolved(netlist: Any, value: Value) -> Value:
    """Return ``value`` with late nets replaced; ``value`` itself if it has none, the usual case."""
    if min(value, default=0) >= 0:
        return value
    connections, nets = netlist.connections, []
    for net in value:
        while net < 0:
            net = connections[net]
        nets.append(net)
    return tuple.__new__(Value, nets)


def holds(mapping: Any, key: Any) -> bool:
    """Return whether a mapping of signals holds ``key``, without an exception if it does not."""
    return (None if key is None else mapping._map_key(key)) in mapping._storage


def sigspec(emitter: Any, *parts: Net | Iterable[Net]) -> str:
    """Write ``parts``, the lowest first, as ``ModuleEmitter.sigspec`` does: in RTLIL."""
    bits = [net for part in parts for net in ((part,) if isinstance(part, Net) else part)]
    chunks, nets, at, end = [], emitter.nets, 0, len(bits)
    while at < end:
        begin = at
        if bits[at] < 2:
            while at < end and bits[at] < 2:
                at += 1
            digits = "".join("1" if net else "0" for net in bits[begin:at][::-1])
            chunks.append(f"{at - begin}'{digits}")
            continue
        wire, first = nets[bits[at]]
        bit = first
        while at < end and bits[at] >= 2 and nets[bits[at]] == (wire, bit):
            at, bit = at + 1, bit + 1
        place = f"{bit - 1}:{first}" if bit - first > 1 else str(first)
        chunks.append(f"{wire.name} [{place}]")
    return chunks[0] if len(chunks) == 1 else "{ " + " ".join(reversed(chunks)) + " }"


@contextmanager
def quick_netlists() -> Iterator[None]:
    """Replace Amaranth's functions by those of this module."""
    replaced = [
        (Net, "from_cell", classmethod(net_of_cell)),
        (Value, "__new__", unasserted),
        (Value, "from_const", classmethod(constant)),
        (Netlist, "add_value_cell", nets_of_cell),
        (Netlist, "alloc_late_value", late_value),
        (Netlist, "resolve_value", resolved),
        (MappedKeys, "__contains__", holds),
        (rtlil.ModuleEmitter, "sigspec", sigspec),
    ]
    with ExitStack() as stack:
        for owner, name, function in replaced:
            create = name not in vars(owner)
            stack.enter_context(patch.object(owner, name, function, create=create))
        yield
