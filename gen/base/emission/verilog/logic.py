"""Holds the logic of a module as nodes, each of which is there once, however often it is used.

A net is a bit: 0, 1, or an output bit of a node. An expression is nets, the lowest bit first.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Bits = tuple[int, ...]  #: nets, the lowest bit first

ZERO, ONE = 0, 1  #: the nets that are constant
NODE_SHIFT = 16  #: a net has its node above these bits, and which output bit it is in them
BIT = (1 << NODE_SHIFT) - 1

#: nodes whose lowest output bits depend on the lowest bits of their operands alone
LOW_BITS = {"~", "&", "|", "^", "+", "-", "*", "<<", "negate", "choice"}


@dataclass(slots=True)
class Node:
    """Describes an operator, or something that gives a value by itself."""

    kind: str  #: an operator of Verilog, ``choice``, ``element``, or what :mod:`.reading` makes
    operands: tuple[Bits, ...]
    width: int
    extra: Any = None
    source: Any = None  #: file and line of Python that made it, as Amaranth gives them


class Logic:
    """Holds nodes by number; number 0 stands for the constants."""

    def __init__(self) -> None:
        self.nodes = [Node("constant", (), 2)]
        self._numbers: dict[Any, int] = {}
        self.source: Any = None  #: what new nodes are made by

    def add(self, kind: str, operands: tuple[Bits, ...], width: int, extra: Any = None) -> Bits:
        """Add a node that is like no other, and return its output."""
        self.nodes.append(Node(kind, operands, width, extra, self.source))
        return self.output(len(self.nodes) - 1)

    def once(
        self, kind: str, operands: tuple[Bits, ...], width: int, extra: Any = None, *, key: Any = ()
    ) -> Bits:
        """Return the output of the node that does this; ``key`` is its operands in one order."""
        known = kind, key or operands, width, extra
        number = self._numbers.get(known)
        if number is None:
            number = self._numbers[known] = len(self.nodes)
            self.nodes.append(Node(kind, operands, width, extra, self.source))
        return self.output(number)

    def output(self, number: int) -> Bits:
        """Return all output bits of a node."""
        first = number << NODE_SHIFT
        return tuple(range(first, first + self.nodes[number].width))

    def node_of(self, bits: Bits) -> Node | None:
        """Return the node that ``bits`` are the whole output of; None if they are not."""
        if not bits or bits[0] <= ONE or bits[0] & BIT:
            return None
        node = self.nodes[bits[0] >> NODE_SHIFT]
        return node if bits == self.output(bits[0] >> NODE_SHIFT) else None


def constant(value: int, width: int) -> Bits:
    """Return a number as bits."""
    return tuple(value >> bit & 1 for bit in range(width))


def number_of(bits: Iterable[int]) -> int | None:
    """Return the number that constant bits are; None if one of them is no constant."""
    number = 0
    for place, bit in enumerate(bits):
        if bit > ONE:
            return None
        number |= bit << place
    return number


def runs(bits: Bits) -> Iterator[Bits]:
    """Split bits, from the lowest on, into what is one piece.

    A piece is constants, bits of one node that follow each other, or one bit again and again.
    """
    first = 0
    while first < len(bits):
        last = first + 1
        if bits[first] <= ONE:
            while last < len(bits) and bits[last] <= ONE:
                last += 1
        else:
            step = int(bits[first : first + 2] != (bits[first],) * 2)
            following = bits[first] + step
            while last < len(bits) and bits[last] == following:
                if step and following & BIT == 0:
                    break  # the first bit of the next node
                last, following = last + 1, following + step
            if not step and last < len(bits) and bits[last] == bits[first] + 1 and last - first > 1:
                last -= 1  # the last of them begins a piece of the node
        yield bits[first:last]
        first = last
