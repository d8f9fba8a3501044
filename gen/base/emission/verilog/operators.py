"""Makes nodes of operators, and leaves out what is known without them."""

from collections.abc import Callable, Sequence

from gen.base.emission.verilog.logic import ONE, ZERO, Bits, Logic, constant, number_of, runs

OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
OPPOSITE |= {f"s{item}": f"s{other}" for item, other in OPPOSITE.items() if item[0] in "<>"}
COMMUTATIVE = {"&", "|", "^", "+", "*", "==", "!="}
FEW = 3  #: most pieces that an operator is split into for the bits that are known


class Operators(Logic):
    """Makes the nodes of operators; operands are as wide as NIR says (``amaranth.hdl._nir``)."""

    def operator(self, name: str, operands: Sequence[Bits]) -> Bits:
        """Return what NIR's operator ``name`` gives."""
        if name.removeprefix("u") in OPPOSITE:
            return self.comparison(name.removeprefix("u"), *operands)
        if name in ("&", "|", "^"):
            return self.bitwise(name, *operands)
        make: dict[str, Callable[..., Bits]] = {
            "~": self.inverse,
            "-": self.difference if len(operands) == 2 else self.negative,
            "+": self.total,
            "*": self.product,
            "b": self.any_set,
            "r|": self.any_set,
            "r&": self.all_set,
            "r^": self.parity,
            "m": lambda select, first, second: self.choice([(select[0], first)], second),
            "<<": self.left,
            "u>>": self.right,
            "s>>": lambda value, by: self.right(value, by, value[-1:]),
            "u//": lambda first, second: self.quotient(first, second)[0],
            "u%": lambda first, second: self.quotient(first, second)[1],
            "s//": lambda first, second: self.floored(first, second)[0],
            "s%": lambda first, second: self.floored(first, second)[1],
        }
        return make[name](*operands)

    def plain(self, kind: str, first: Bits, second: Bits, width: int) -> Bits:
        """Return an operator of two operands as it is."""
        key = tuple(sorted((first, second))) if kind in COMMUTATIVE else ()
        return self.once(kind, (first, second), width, key=key)

    def inverse(self, value: Bits) -> Bits:
        """Return all bits inverted."""
        node = self.node_of(value)
        if node and node.kind == "~":
            return node.operands[0]
        if node and node.kind in OPPOSITE:
            first, second = node.operands
            return self.plain(OPPOSITE[node.kind], first, second, 1)
        pieces = list(runs(value))
        if len(pieces) <= FEW and any(piece[0] <= ONE for piece in pieces):
            inverted = (
                tuple(1 - bit for bit in piece)
                if piece[0] <= ONE
                else self.once("~", (piece,), len(piece))
                for piece in pieces
            )
            return tuple(bit for piece in inverted for bit in piece)
        return self.once("~", (value,), len(value)) if value else ()

    def bitwise(self, kind: str, item: Bits, other: Bits) -> Bits:
        """Return ``&``, ``|`` or ``^`` of two operands, without bits that one of them decides."""
        known = [decided(kind, a, b) for a, b in zip(item, other, strict=True)]
        spans = spans_of([bit is None for bit in known])
        if len(spans) > FEW:
            return self.plain(kind, item, other, len(item))
        for first, last in spans:
            piece = item[first:last], other[first:last]
            known[first:last] = self.plain(kind, *piece, last - first)
        return tuple(bit for bit in known if bit is not None)

    def negative(self, value: Bits) -> Bits:
        """Return minus ``value``."""
        number = number_of(value)
        if number is not None:
            return constant(-number, len(value))
        return self.once("negate", (value,), len(value))

    def total(self, first: Bits, second: Bits) -> Bits:
        """Return the sum."""
        numbers = number_of(first), number_of(second)
        if numbers[0] is not None and numbers[1] is not None:
            return constant(numbers[0] + numbers[1], len(first))
        if 0 in numbers:
            return first if numbers[1] == 0 else second
        return self.plain("+", first, second, len(first))

    def difference(self, first: Bits, second: Bits) -> Bits:
        """Return ``first`` minus ``second``."""
        numbers = number_of(first), number_of(second)
        if numbers[0] is not None and numbers[1] is not None:
            return constant(numbers[0] - numbers[1], len(first))
        return first if numbers[1] == 0 else self.plain("-", first, second, len(first))

    def product(self, first: Bits, second: Bits) -> Bits:
        """Return the product."""
        for factor, value in ((number_of(first), second), (number_of(second), first)):
            if factor is not None and factor & (factor - 1) == 0:
                zeros = (ZERO,) * (factor.bit_length() - 1 if factor else len(first))
                return (zeros + value)[: len(first)]
        return self.plain("*", first, second, len(first))

    def any_set(self, value: Bits) -> Bits:
        """Return whether a bit is set."""
        left = tuple(bit for bit in value if bit != ZERO)
        if ONE in left:
            return (ONE,)
        if len(left) <= 1:
            return left or (ZERO,)
        return self.once("any", (left,), 1)

    def all_set(self, value: Bits) -> Bits:
        """Return whether all bits are set."""
        left = tuple(bit for bit in value if bit != ONE)
        if ZERO in left:
            return (ZERO,)
        if len(left) <= 1:
            return left or (ONE,)
        return self.once("all", (left,), 1)

    def parity(self, value: Bits) -> Bits:
        """Return whether an odd number of bits is set."""
        left = tuple(bit for bit in value if bit != ZERO)
        if len(left) <= 1:
            return left or (ZERO,)
        return self.once("odd", (left,), 1)

    def comparison(self, kind: str, first: Bits, second: Bits) -> Bits:
        """Return what a comparison says; ``s`` before its operator: of signed numbers."""
        if kind == "!=":
            return self.inverse(self.comparison("==", first, second))
        while first and first[-1] == second[-1] and (kind[0] != "s" or first == second):
            first, second = first[:-1], second[:-1]
        while first and first[0] == second[0] and kind == "==":
            first, second = first[1:], second[1:]
        if not first:
            return (ONE,) if "=" in kind else (ZERO,)
        if kind == "==":
            if any(a + b == 1 and max(a, b) <= ONE for a, b in zip(first, second, strict=True)):
                return (ZERO,)
            if len(first) == 1 and min(first[0], second[0]) <= ONE:
                bit, known = (max(first[0], second[0]),), min(first[0], second[0])
                return bit if known else self.inverse(bit)
        known = by_ranges(kind, first, second)
        return self.plain(kind, first, second, 1) if known is None else (int(known),)

    def left(self, value: Bits, by: Bits) -> Bits:
        """Return ``value`` shifted to the left."""
        number = number_of(by)
        if number is not None:
            return ((ZERO,) * min(number, len(value)) + value)[: len(value)]
        return self.once("<<", (value, by), len(value))

    def right(self, value: Bits, by: Bits, sign: Bits = (ZERO,)) -> Bits:
        """Return ``value`` shifted to the right; bits of ``sign`` come from above."""
        number = number_of(by)
        if number is not None:
            return (value + sign * number)[number:][: len(value)]
        return self.once(">>" if sign[0] == ZERO else ">>>", (value, by), len(value))

    def quotient(self, first: Bits, second: Bits) -> tuple[Bits, Bits]:
        """Return quotient and remainder of unsigned numbers; both are 0 if the divisor is."""
        zero = self.comparison("==", second, (ZERO,) * len(second))[0]
        empty = (ZERO,) * len(first)
        divided, rest = (self.plain(kind, first, second, len(first)) for kind in ("/", "%"))
        return self.choice([(zero, empty)], divided), self.choice([(zero, empty)], rest)

    def floored(self, first: Bits, second: Bits) -> tuple[Bits, Bits]:
        """Return quotient and remainder of signed numbers: rounded down, the divisor's sign."""
        sizes = (self.choice([(v[-1], self.negative(v))], v) for v in (first, second))
        size, divisor = sizes
        quotient, rest = self.quotient(size, divisor)
        differ = self.bitwise("^", first[-1:], second[-1:])
        inexact = self.any_set(rest)
        down = self.choice([(inexact[0], self.inverse(quotient))], self.negative(quotient))
        short = self.choice([(inexact[0], self.difference(divisor, rest))], rest)
        rest = self.choice([(differ[0], short)], rest)
        rest = self.choice([(second[-1], self.negative(rest))], rest)
        return self.choice([(differ[0], down)], quotient), rest

    def choice(self, arms: Sequence[tuple[int, Bits]], otherwise: Bits) -> Bits:
        """Return the value of the first arm whose condition holds, or ``otherwise``."""
        left: list[tuple[int, Bits]] = []
        for condition, value in arms:
            if condition == ONE:
                otherwise = value
                break
            if condition == ZERO:
                continue
            if left and left[-1][1] == value:
                condition = self.bitwise("|", (left.pop()[0],), (condition,))[0]
            left.append((condition, value))
        while left and left[-1][1] == otherwise:
            left.pop()
        if not left:
            return otherwise
        bits = zip(otherwise, *(value for _, value in left), strict=True)
        same = [bit > ONE and {bit, *others} == {bit} for bit, *others in bits]
        spans = spans_of([not item for item in same])
        if len(spans) != 1:
            spans = [(spans[0][0], spans[-1][1])]
        (first, last), whole = spans[0], list(otherwise)
        cut = [(condition, value[first:last]) for condition, value in left]
        whole[first:last] = self.chosen(cut, otherwise[first:last])
        return tuple(whole)

    def chosen(self, arms: list[tuple[int, Bits]], otherwise: Bits) -> Bits:
        """Return a choice whose ends vary; one of a single bit may be an operator."""
        if len(arms) == 1 and len(otherwise) == 1:
            (condition, value), other = arms[0], otherwise
            if value == (ONE,):
                return self.bitwise("|", (condition,), other)
            if other == (ZERO,):
                return self.bitwise("&", (condition,), value)
            inverse = self.inverse((condition,))
            if value == (ZERO,):
                return self.bitwise("&", inverse, other)
            if other == (ONE,):
                return self.bitwise("|", inverse, value)
        known = all(value[0] <= ONE for _, value in arms)
        if len(otherwise) == 1 and known and len(arms) <= FEW:
            for condition, value in reversed(arms):
                kind, bit = ("|", (condition,)) if value[0] else ("&", self.inverse((condition,)))
                otherwise = self.bitwise(kind, bit, otherwise)
            return otherwise
        operands = tuple(bits for condition, value in arms for bits in ((condition,), value))
        return self.once("choice", (*operands, otherwise), len(otherwise))


def decided(kind: str, first: int, second: int) -> int | None:
    """Return the bit that an operator gives if that is one of its operands' or a constant."""
    if first == second:
        return ZERO if kind == "^" else first
    for bit, rest in ((first, second), (second, first)):
        if bit == ZERO:
            return ZERO if kind == "&" else rest
        if bit == ONE and kind != "^":
            return ONE if kind == "|" else rest
    return None


def by_ranges(kind: str, first: Bits, second: Bits) -> bool | None:
    """Return what a comparison of unsigned numbers says by their constant bits; None if it varies.

    That is how a limit compares which is also the end of a range.
    """
    if kind not in ("<", "<=", ">", ">="):
        return None
    if kind[0] == ">":
        first, second = second, first
    (low, high), (other_low, other_high) = range_of(first), range_of(second)
    equal = len(kind) == 2
    if high < other_low or (equal and high == other_low):
        return True
    if low > other_high or (not equal and low == other_high):
        return False
    return None


def range_of(bits: Bits) -> tuple[int, int]:
    """Return the least and the greatest number that bits can be."""
    low = sum(1 << place for place, bit in enumerate(bits) if bit == ONE)
    return low, low + sum(1 << place for place, bit in enumerate(bits) if bit > ONE)


def spans_of(marks: Sequence[bool]) -> list[tuple[int, int]]:
    """Return begin and end of each row of marks that are set."""
    spans, begin = [], None
    for place, mark in enumerate([*marks, False]):
        if mark and begin is None:
            begin = place
        if not mark and begin is not None:
            spans.append((begin, place))
            begin = None
    return spans
