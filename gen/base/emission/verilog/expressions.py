"""Writes values as expressions of Verilog, each exactly as wide as it is by itself.

So no width or sign of the surroundings changes what an expression means.
"""

import re
from collections.abc import Iterator

from gen.base.emission.verilog.keywords import KEYWORDS
from gen.base.emission.verilog.logic import NODE_SHIFT, ONE, ZERO, Bits, Node, number_of
from gen.base.emission.verilog.naming import Names

ATOM, UNARY, LOWEST = 20, 12, 1
PRECEDENCE = {"*": 11, "/": 11, "%": 11, "+": 10, "-": 10, "<<": 9, ">>": 9, ">>>": 9}
PRECEDENCE |= {"<": 8, "<=": 8, ">": 8, ">=": 8, "==": 7, "!=": 7, "&": 6, "^": 5, "|": 4}
PREFIX = {"~": "~", "negate": "-", "any": "|", "all": "&", "odd": "^"}
ANY_ORDER = {"&", "|", "^", "+", "*"}
SIMPLE = re.compile(r"[A-Za-z_][\w$]*")
MAX_DECIMAL_BITS = 10
MAX_DIGITS = 256  #: bits of a constant that are written as one number
LONG = 60  #: characters of a choice that is written on several lines

Text = tuple[str, int]  #: an expression, and how tightly its outermost operator binds


def identifier(name: str) -> str:
    """Return a name as Verilog and SystemVerilog both read it."""
    return name if SIMPLE.fullmatch(name) and name not in KEYWORDS else f"\\{name} "


def literal(value: int, width: int) -> str:
    """Return a constant with its width."""
    if width <= MAX_DECIMAL_BITS:
        return f"{width}'d{value}"
    return f"{width}'h{value:x}"


class Expressions:
    """Writes the values of a module."""

    def __init__(self, names: Names, memories: dict[int, str]) -> None:
        self.names, self.logic, self.memories = names, names.logic, memories
        self.target = ""  #: the wire that is written, after which vectors are named

    def text(self, bits: Bits, binding: int = 0) -> str:
        """Return ``bits`` as text, in parentheses unless it binds more tightly than ``binding``."""
        text, own = self.value(bits)
        return text if own > binding else f"({text})"

    def value(self, bits: Bits) -> Text:
        """Return ``bits`` as text."""
        pieces = self.pieces(bits)
        if len(pieces) == 1:
            return pieces[0]
        known = self.names.vectors.get(bits)
        if known != self.target and (known or bits in self.names.gathered):
            return identifier(self.names.vector(bits, self.target or "value")), ATOM
        parts: list[tuple[str, int]] = []
        for text, _ in reversed(pieces):
            times = parts.pop()[1] if parts and parts[-1][0] == text else 0
            parts.append((text, times + 1))
        written = [text if times == 1 else f"{{{times}{{{text}}}}}" for text, times in parts]
        return (written[0] if len(written) == 1 else f"{{{', '.join(written)}}}"), ATOM

    def pieces(self, bits: Bits) -> list[Text]:
        """Return the parts that ``bits`` are put together of, the lowest first."""
        home, result, place = self.names.home, [], 0
        while place < len(bits):
            last = place + 1
            if bits[place] <= ONE:
                while last < len(bits) and bits[last] <= ONE:
                    last += 1
                result += [(text, ATOM) for text in self.constants(bits[place:last], place)]
            elif bits[place] in home:
                wire, first = home[bits[place]]
                while last < len(bits) and home.get(bits[last]) == (wire, first + last - place):
                    last += 1
                result.append((self.slice(wire, first, last - place), ATOM))
            else:
                node = self.logic.nodes[bits[place] >> NODE_SHIFT]
                last = place + node.width
                result.append(self.operation(node))
            place = last
        return result

    def constants(self, bits: Bits, place: int) -> Iterator[str]:
        """Yield constant bits, which begin at a place of what is written, in numbers of few digits.

        In a table each element is a number.
        """
        step = self.names.steps.get(self.target, 0)
        if not step and not any(bits):
            step = len(bits) + place
        first = 0
        while first < len(bits):
            last = min(len(bits), first + (step or MAX_DIGITS) - (place + first) % (step or 1))
            yield literal(number_of(bits[first:last]) or 0, last - first)
            first = last

    def slice(self, wire: str, first: int, width: int) -> str:
        """Return bits of a wire; those of a field of a structure by the field's name."""
        return self.place(*self.names.field(wire, first, width), width)

    def place(self, wire: str, first: int, width: int) -> str:
        """Return bits of a wire, as what is assigned or connected."""
        whole = self.names.wires[wire].width
        if width == whole:
            return identifier(wire)
        place = str(first) if width == 1 else f"{first + width - 1}:{first}"
        return f"{identifier(wire)}[{place}]"

    def operation(self, node: Node) -> Text:
        """Return what a node does as text."""
        kind, operands = node.kind, node.operands
        if kind == "loop":
            return self.value(operands[0])
        if kind == "memory":
            return f"{identifier(self.memories[node.extra])}[{self.text(operands[0])}]", ATOM
        if kind == "element":
            return self.element(node), ATOM
        if kind == "initial":
            return "$initstate", ATOM
        if kind == "choice":
            return self.choice(node), LOWEST
        if kind in PREFIX:
            return f"{PREFIX[kind]}{self.text(operands[0], UNARY)}", UNARY
        if kind == ">>>":
            first, by = self.text(operands[0]), self.text(operands[1], PRECEDENCE[">>>"])
            return f"$unsigned($signed({first}) >>> {by})", ATOM
        if kind[0] == "s":
            first, second = (f"$signed({self.text(bits)})" for bits in operands)
            return f"{first} {kind[1:]} {second}", PRECEDENCE[kind[1:]]
        return self.binary(kind, *operands)

    def binary(self, kind: str, first: Bits, second: Bits) -> Text:
        """Return an operator between its operands, with parentheses around any other operator."""
        written = []
        for place, bits in enumerate((first, second)):
            text, own = self.value(bits)
            node = self.logic.node_of(bits)
            same = own == PRECEDENCE[kind] and node is not None and node.kind == kind
            bare = own >= UNARY or (same and (kind in ANY_ORDER or (place == 0 and kind == "-")))
            written.append(text if bare else f"({text})")
        return f"{written[0]} {kind} {written[1]}", PRECEDENCE[kind]

    def element(self, node: Node) -> str:
        """Return the element of a vector at a place that varies."""
        vector, offset = node.operands
        home = self.names.home
        wire, first = home.get(vector[0], ("", 0))
        if any(home.get(net) != (wire, first + place) for place, net in enumerate(vector)):
            wire = self.names.vector(vector, self.target or "value", node.extra)
            first = 0
        text = self.text(offset)
        bits = (self.names.wires[wire].width - 1).bit_length()
        if node.extra > 1 or first or len(offset) < bits:
            text = self.index(offset, node.extra, first, bits)
        if node.width == 1:
            return f"{identifier(wire)}[{text}]"
        return f"{identifier(wire)}[{text} +: {node.width}]"

    def index(self, offset: Bits, stride: int, first: int, width: int) -> str:
        """Return a place, ``first`` and a multiple of a stride, in ``width`` bits."""
        low = stride.bit_length() - 1
        if stride == 1 << low:  # a multiple by zeros behind it
            offset, stride = (ZERO,) * low + offset, 1
        text = self.text(offset + (ZERO,) * (width - len(offset)), PRECEDENCE["*"])
        text = text if stride == 1 else f"{text} * {literal(stride, width)}"
        return f"{literal(first, width)} + {text}" if first else text

    def choice(self, node: Node) -> str:
        """Return the first value whose condition holds."""
        *arms, otherwise = node.operands
        written = [
            f"{self.text(condition, LOWEST)} ? {self.text(value, LOWEST)}"
            for condition, value in zip(arms[::2], arms[1::2], strict=True)
        ]
        return " : ".join([*written, self.text(otherwise, 0)])
