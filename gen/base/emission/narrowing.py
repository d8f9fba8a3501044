# Stubs of Amaranth do not know what its expressions are made of.
# pyright: reportAttributeAccessIssue=false
"""Raises an error where Amaranth would silently drop bits of a value.

Amaranth assigns to a narrower signal, and compares with a wider one, silently: a counter that is
too narrow then counts modulo the wrong number. A cut that is intended must be written as a slice.
These are not errors, because no bit with a meaning is lost:

- a value that cannot be as large as its shape allows (:mod:`gen.base.emission.intervals`);
- the carry of ``counter + step`` assigned to ``counter``, if the step fits: the counter wraps;
- the borrow of a difference of unsigned numbers that each fit the target.
"""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import amaranth
from amaranth.hdl import Const, Fragment, Shape, Signal, Value

from gen.base.emission.amaranth_internals import (
    Assign,
    Concat,
    Operator,
    Property,
    Slice,
    Statement,
    Switch,
    SwitchValue,
    SyntaxWarning,
)
from gen.base.emission.intervals import Intervals, bare, bits_of, parts_of, place_of

LIBRARY = str(Path(amaranth.__file__).parent)
CHECKOUT = Path(__file__).resolve().parents[3]

Place = tuple[str, int]


class NarrowingError(ValueError):
    """Reports bits of a design that would be lost; the message has a line for each place."""


def check(fragment: Fragment, name: str) -> None:
    """Raise NarrowingError if an assignment or a comparison of module ``name`` loses bits."""
    statements = list(statements_of(fragment))
    rule = Rule(statements)
    for statement in statements:
        rule.look_at(statement)
    if rule.result:
        lines = [f"{shown(place)}: {text}" for place, text in sorted(rule.result.items())]
        raise NarrowingError("\n".join([f"bits of {name} would be lost", *lines]))


def statements_of(fragment: Any) -> Iterator[Statement]:
    """Yield every statement of a fragment, those inside its switches too."""
    waiting = [statement for body in fragment.statements.values() for statement in body]
    while waiting:
        statement = waiting.pop()
        yield statement
        if isinstance(statement, Switch):
            waiting += [inner for _, body, _ in statement.cases for inner in body]
    for inside, _, _ in fragment.subfragments:
        yield from statements_of(inside)


class Rule:
    """Collects the places of a module whose assignments or comparisons lose bits."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self.result: dict[Place, str] = {}
        self._interval = Intervals()
        self._seen: dict[int, Value] = {}
        assigns = [statement for statement in statements if isinstance(statement, Assign)]
        self._counters = {
            place_of(assign.lhs) for assign in assigns if counts(assign.rhs, assign.lhs)
        }

    def look_at(self, statement: Statement) -> None:
        """Check one statement, without those inside it."""
        match statement:
            case Assign():
                self._look_inside(statement.rhs)
                for target in targets(statement.lhs):
                    if not self._fits(statement.rhs, target):
                        self._note(statement.src_loc, self._cut(statement.rhs, target))
            case Switch() | Property():
                self._look_inside(statement.test)

    def _look_inside(self, value: Value) -> None:
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            waiting += parts_of(value)
            if isinstance(value, Operator) and value.operator in ("==", "!="):
                self._compare(value)

    def _compare(self, value: Operator) -> None:
        left, right = value.operands
        (low, high), (least, most) = self._interval(left), self._interval(right)
        if high < least or most < low:
            text = f"{named(left)} of {len(left)} bits never equals {named(right)}"
            self._note(value.src_loc, text)
        for counter, end in ((left, most), (right, high)):
            bits = max(end, 0).bit_length()
            if place_of(counter) in self._counters and bits > len(counter):
                text = f"counter {named(counter)} has {len(counter)} bits, its end {bits}: {MEND}"
                self._note(value.src_loc, text)

    def _fits(self, value: Value, target: Value) -> bool:
        bits = len(target)
        if bits_of(self._interval(value)) <= bits:
            return True
        value = bare(value)
        if isinstance(value, SwitchValue):
            return all(self._fits(case, target) for _, case in value.cases)
        plus, minus = terms(value)
        if len(plus) + len(minus) < 2 or not plus:
            return False
        whole = all(
            self._interval(term)[0] >= 0 and self._fits(term, target) for term in (*plus, *minus)
        )
        return whole and (len(plus) == 1 or place_of(target) in map(place_of, plus))

    def _cut(self, value: Value, target: Value) -> str:
        bits = bits_of(self._interval(value))
        return f"{bits} bits go into the {len(target)} of {named(target)}: {MEND}"

    def _note(self, place: Place, text: str) -> None:
        if not place[0].startswith(LIBRARY):
            self.result.setdefault(place, text)


MEND = "cut them by a slice if that is intended, else make it wider"


def counts(value: Value, target: Value) -> bool:
    """Return whether ``value`` is, or may be, ``target`` plus or minus something."""
    value = bare(value)
    if isinstance(value, SwitchValue):
        return any(counts(case, target) for _, case in value.cases)
    if isinstance(value, Slice) and value.start == 0:
        return counts(value.value, target)
    plus, minus = terms(value)
    return len(plus) + len(minus) > 1 and place_of(target) in map(place_of, plus)


def terms(value: Value) -> tuple[list[Value], list[Value]]:
    """Return the terms that a sum adds and those that it subtracts; ``value`` if it is no sum."""
    match value:
        case Operator(operator="+", operands=(left, right)):
            (plus, minus), (further, less) = terms(left), terms(right)
            return plus + further, minus + less
        case Operator(operator="-", operands=(left, right)):
            (plus, minus), (further, less) = terms(left), terms(right)
            return plus + less, minus + further
    return [value], []


def targets(value: Value) -> list[Value]:
    """Return the signals that one assignment may go to: one, or each element of an array."""
    value = bare(value)
    if isinstance(value, SwitchValue):
        return [target for _, case in value.cases for target in targets(case)]
    return [value]


def named(value: Value) -> str:
    """Return a value's name in the source, as far as it has one."""
    value = bare(value)
    match value:
        case Signal():
            return value.name
        case Const():
            return str(value.value)
        case Slice():
            return f"{named(value.value)}[{value.start}:{value.stop}]"
        case Concat():
            return f"Cat({', '.join(map(named, value.parts))})"
        case Operator(operands=(left, right)):
            return f"({named(left)} {value.operator} {named(right)})"
    return "a value without a name"


def shown(place: Place) -> str:
    """Return a place in a file, relative to the checkout's root if it is inside."""
    path = Path(place[0])
    inside = path.is_relative_to(CHECKOUT)
    return f"{path.relative_to(CHECKOUT).as_posix() if inside else path}:{place[1]}"


@contextmanager
def strict_constants() -> Iterator[None]:
    """Make an error of constants and initial values that their shapes cannot hold."""
    make = Const.__init__

    def strict(self: Const, value: Any, shape: Any = None, **options: Any) -> None:
        make(self, value, shape, **options)
        if isinstance(value, int) and self.value != value:
            width = len(self)
            if not -(1 << width) >> 1 <= value < 1 << width:
                raise NarrowingError(f"{value} does not fit into {Shape.cast(self.shape())!r}")

    with warnings.catch_warnings(), patch.object(Const, "__init__", strict):
        warnings.simplefilter("error", SyntaxWarning)
        yield
