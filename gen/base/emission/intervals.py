# Stubs of Amaranth do not know what its expressions are made of.
# pyright: reportAttributeAccessIssue=false
"""Bounds the numbers that a value of Amaranth can take, by the expression that it is."""

from collections.abc import Callable, Hashable, Mapping
from operator import lshift, rshift

from amaranth.hdl import Const, Value

from gen.base.emission.amaranth_internals import Concat, Operator, Part, Slice, SwitchValue

Interval = tuple[int, int]  #: the smallest and the largest number, both possible

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def bits_of(interval: Interval) -> int:
    """Return the width that holds all numbers of ``interval``, with a sign if one is negative."""
    low, high = interval
    if low >= 0:
        return high.bit_length()
    return max((~low).bit_length(), high.bit_length()) + 1


def of_shape(value: Value) -> Interval:
    """Return the interval of all numbers that the shape of ``value`` can hold."""
    width, signed = len(value), value.shape().signed
    return (-(1 << width >> 1), (1 << width >> 1) - 1) if signed else (0, (1 << width) - 1)


class Intervals:
    """Finds the intervals of values, each once; two expressions are never taken for one."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Value, Interval]] = {}  # the value stays, and so its id

    def __call__(self, value: Value) -> Interval:
        """Return the interval in which ``value`` lies."""
        result = self._known.get(id(value))
        if result is None:
            result = self._known[id(value)] = (value, self._find(value))
        return result[1]

    def _find(self, value: Value) -> Interval:
        match value:
            case Const():
                return value.value, value.value
            case SwitchValue():
                cases = [self(case) for _, case in value.cases]
                return min(low for low, _ in cases), max(high for _, high in cases)
            case Slice():
                low, high = self(value.value)
                if low >= 0 and high >> value.stop == 0:
                    return low >> value.start, high >> value.start
            case Operator(operands=(operand,)):
                return unary(value, self(operand))
            case Operator(operands=(left, right)):
                return two(value, self(left), self(right))
        return of_shape(value)


def unary(value: Operator, operand: Interval) -> Interval:
    """Return the interval of the results of an operation on one number."""
    low, high = operand
    if value.operator == "-":
        return -high, -low
    fits = low >= 0 if value.operator == "u" else bits_of((min(low, -1), high)) <= len(value)
    return operand if value.operator in ("u", "s") and fits else of_shape(value)


def two(value: Operator, left: Interval, right: Interval) -> Interval:
    """Return the interval of the results of an operation on two numbers."""
    if value.operator in COMPARISONS:
        return 0, 1
    if value.operator in ANY_SIGN:
        return ANY_SIGN[value.operator](*left, *right)
    if value.operator in SHIFTS:
        shifted = [SHIFTS[value.operator](number, by) for number in left for by in right]
        return min(shifted), max(shifted)
    natural = left[0] >= 0 and right[0] >= 0
    by_zero = value.operator in ("//", "%") and right[0] == 0
    if natural and not by_zero and value.operator in NATURAL:
        return NATURAL[value.operator](*left, *right)
    return of_shape(value)


def product(a: int, b: int, c: int, d: int) -> Interval:
    """Return the interval of the products of [a, b] and [c, d]."""
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


#: gives the bounds of the result from those of both operands
Rule = Callable[[int, int, int, int], Interval]
ANY_SIGN: Mapping[str, Rule] = {
    "+": lambda a, b, c, d: (a + c, b + d),
    "-": lambda a, b, c, d: (a - d, b - c),
    "*": product,
}
SHIFTS: Mapping[str, Callable[[int, int], int]] = {"<<": lshift, ">>": rshift}
NATURAL: Mapping[str, Rule] = {
    "&": lambda a, b, c, d: (0, min(b, d)),
    "|": lambda a, b, c, d: (max(a, c), (1 << max(b, d).bit_length()) - 1),
    "^": lambda a, b, c, d: (0, (1 << max(b, d).bit_length()) - 1),
    "//": lambda a, b, c, d: (a // d, b // c),
    "%": lambda a, b, c, d: (0, min(b, d - 1)),
}


def parts_of(value: Value) -> list[Value]:
    """List the values that the expression ``value`` is directly made of."""
    match value:
        case Operator():
            return list(value.operands)
        case Slice():
            return [value.value]
        case Part():
            return [value.value, value.offset]
        case Concat():
            return list(value.parts)
        case SwitchValue():
            return [value.test, *(case for _, case in value.cases)]
    return []


def bare(value: Value) -> Value:
    """Return ``value`` without the operators that make it signed or unsigned."""
    while isinstance(value, Operator) and value.operator in ("u", "s"):
        value = value.operands[0]
    return value


def place_of(value: Value) -> Hashable:
    """Return a key that is equal for the same bits of the same signals, and unique otherwise."""
    value = bare(value)
    match value:
        case Const():
            return "constant", value.value, len(value)
        case Slice():
            return "slice", value.start, value.stop, place_of(value.value)
        case Part():
            return "part", value.width, value.stride, *map(place_of, parts_of(value))
        case Concat():
            return "concatenation", *map(place_of, parts_of(value))
        case SwitchValue():
            patterns = tuple(pattern for pattern, _ in value.cases)
            return "choice", patterns, *map(place_of, parts_of(value))
    return id(value)
