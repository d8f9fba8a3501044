"""Makes choices of statements: what Amaranth's ``If`` and ``Switch`` assign to a signal, and when.

A tree of statements stays as it is for a register, which a clocked process writes, and becomes
expressions for everything else.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from gen.base.emission.verilog.logic import (
    BIT,
    NODE_SHIFT,
    ONE,
    ZERO,
    Bits,
    constant,
    number_of,
)
from gen.base.emission.verilog.operators import Operators

Pattern = str  #: bits of a value that match, the highest first: 0, 1, or - for any
NEVER: tuple[Pattern, ...] = ("never",)  #: the patterns of an arm that is never taken
MAX_ARMS = 8  #: most arms of a choice between constants that is no table
MAX_COMPARISONS = 3  #: the same for one bit, which comparisons give
MAX_ELEMENTS = 256  #: most values of a selector that chooses from a vector


@dataclass(frozen=True)
class Write:
    """Says that bits from ``start`` on become ``value``."""

    start: int
    value: Bits


@dataclass
class Arm:
    """Holds the statements that are carried out if ``value`` matches a pattern, and none before.

    Without patterns they are carried out if none before did.
    """

    value: Bits
    patterns: tuple[Pattern, ...]
    body: list["Write | Switch"] = field(default_factory=list)
    condition: int = ONE  #: net that says whether the value matches, where :class:`Bodies` made it

    @property
    def always(self) -> bool:
        """Return whether this arm is taken whenever it is reached."""
        return not self.patterns


@dataclass
class Switch:
    """Chooses the first arm that matches; registers with the same ``number`` choose together."""

    number: int
    arms: list[Arm]

    @property
    def is_case(self) -> bool:
        """Return whether it compares one value of several bits with constants."""
        arms = [arm for arm in self.arms if not arm.always]
        return (
            bool(arms)
            and len(arms[0].value) > 1
            and all(
                arm.value == arms[0].value and not any("-" in pattern for pattern in arm.patterns)
                for arm in arms
            )
        )


Body = list[Write | Switch]


class Bodies:
    """Makes statements of the assignments of NIR; ``bits`` finds the nets of a value."""

    def __init__(
        self, logic: Operators, cells: Sequence[Any], bits: Callable[[Iterable[int]], Bits]
    ) -> None:
        self.logic, self.cells, self.bits = logic, cells, bits
        self.arms: dict[int, list[Arm]] = {}

    def of(self, assignments: Iterable[Any]) -> Body:
        """Return statements that do the same."""
        body: Body = []
        for assignment in assignments:
            if not assignment.value:
                continue
            near = body
            for number, taken in path_to(assignment.cond, self.cells):
                if not near or not isinstance(near[-1], Switch) or near[-1].number != number:
                    near.append(Switch(number, self.arms_of(number)))
                last = near[-1]
                assert isinstance(last, Switch)
                near = last.arms[taken].body
            near.append(Write(assignment.start, self.bits(assignment.value)))
        return pruned(body)

    def arms_of(self, number: int) -> list[Arm]:
        """Return the arms of a switch, without what they do."""
        if number not in self.arms:
            arms = [self.arm_of(condition) for condition in self.cells[number].inputs]
            if not Switch(number, [arm for arm in arms if arm.patterns]).is_case:
                for arm in arms:
                    arm.condition = condition_of(self.logic, arm)
            self.arms[number] = arms
        return [replace(arm, body=[]) for arm in self.arms[number]]

    def arm_of(self, condition: int) -> Arm:
        """Return an arm, with the bits of its value that are not known."""
        if condition == ONE:
            return Arm((), ())
        matches = self.cells[condition >> NODE_SHIFT]
        value, patterns = self.bits(matches.value), []
        places = [place for place, bit in enumerate(value) if bit > ONE]
        for pattern in matches.patterns:
            low_first = pattern[::-1]
            if all(low_first[k] in ("-", str(bit)) for k, bit in enumerate(value) if bit <= ONE):
                patterns.append("".join(low_first[k] for k in places)[::-1])
        if any(not pattern.strip("-") for pattern in patterns):
            return Arm((), ())
        # A value that no pattern matches is kept, so that arms have the same places.
        return Arm(tuple(value[k] for k in places), tuple(patterns) or NEVER)


def path_to(condition: int, cells: Sequence[Any]) -> list[tuple[int, int]]:
    """Return which arm of which switch must be taken, from the outermost on."""
    path = []
    while condition != ONE:
        number, taken = condition >> NODE_SHIFT, condition & BIT
        path.append((number, taken))
        condition = cells[number].en
    return path[::-1]


def pruned(body: Body) -> Body:
    """Return statements without arms that are never taken, and without choices that are none."""
    left: Body = []
    for statement in body:
        if isinstance(statement, Write):
            left.append(statement)
            continue
        arms = []
        for arm in statement.arms:
            if arm.patterns != NEVER:
                arms.append(replace(arm, body=pruned(arm.body)))
            if arm.always:
                break
        while arms and not arms[-1].body:
            arms.pop()
        if arms and arms[0].always:
            left += arms[0].body
        elif arms:
            left.append(Switch(statement.number, arms))
    return left


def condition_of(logic: Operators, arm: Arm) -> int:
    """Return the net that says whether the value of an arm matches."""
    if arm.condition != ONE:
        return arm.condition
    met: Bits = (ZERO,)
    for pattern in arm.patterns if arm.patterns != NEVER else ():
        all_met: Bits = (ONE,)
        for first, last in cared(pattern):
            expected = tuple(int(bit) for bit in pattern[::-1][first:last])
            same = logic.comparison("==", arm.value[first:last], expected)
            all_met = logic.bitwise("&", same, all_met)
        met = logic.bitwise("|", met, all_met)
    return met[0] if arm.patterns else ONE


def cared(pattern: Pattern) -> list[tuple[int, int]]:
    """Return begin and end of each row of bits that a pattern looks at, the lowest first."""
    spans, begin = [], None
    for place, bit in enumerate([*pattern[::-1], "-"]):
        if bit != "-" and begin is None:
            begin = place
        if bit == "-" and begin is not None:
            spans.append((begin, place))
            begin = None
    return spans


def value_of(logic: Operators, body: Body, default: Bits) -> Bits:
    """Return what a signal is after ``body``, if it was ``default`` before."""
    edges = sorted({0, len(default), *edges_of(body)})
    bits: Bits = ()
    for first, last in pairwise(edges):
        bits += piece_of(logic, body, first, last, default[first:last])
    return bits


def edges_of(body: Body) -> set[int]:
    """Return where parts begin and end that are written by themselves."""
    edges: set[int] = set()
    for statement in body:
        if isinstance(statement, Write):
            edges |= {statement.start, statement.start + len(statement.value)}
        else:
            edges = edges.union(*(edges_of(arm.body) for arm in statement.arms))
    return edges


def piece_of(logic: Operators, body: Body, first: int, last: int, value: Bits) -> Bits:
    """Return bits ``first`` to below ``last`` after ``body``; no write begins or ends inside."""
    for statement in body:
        if isinstance(statement, Write):
            if statement.start <= first < statement.start + len(statement.value):
                value = statement.value[first - statement.start : last - statement.start]
        elif any(edges_of(arm.body) for arm in statement.arms):
            values = [piece_of(logic, arm.body, first, last, value) for arm in statement.arms]
            value = chosen(logic, statement.arms, values, value)
    return value


def chosen(logic: Operators, arms: list[Arm], values: list[Bits], otherwise: Bits) -> Bits:
    """Return the value of the arm that is taken: by its place in a vector, if it is one of many."""
    elements = elements_of(arms, values, otherwise)
    if elements is not None:
        width = len(otherwise)
        if (bound := bound_of(elements)) is not None:
            kind, least = bound
            return logic.comparison(kind, arms[0].value, constant(least, len(arms[0].value)))
        vector = tuple(bit for element in elements for bit in element)
        return logic.once("element", (vector, arms[0].value), width, width)
    if are_apart(arms):  # so that those that change nothing keep none behind them away
        otherwise = values[-1] if arms[-1].always else otherwise
        stored = [
            (arm, value) for arm, value in zip(arms, values, strict=True) if value != otherwise
        ]
        arms, values = [arm for arm, _ in stored], [value for _, value in stored]
    conditions = (condition_of(logic, arm) for arm in arms)
    return logic.choice(list(zip(conditions, values, strict=True)), otherwise)


def are_apart(arms: list[Arm]) -> bool:
    """Return whether no two arms but the last match the same value."""
    patterns = [pattern for arm in arms for pattern in arm.patterns]
    return Switch(0, arms).is_case and len(set(patterns)) == len(patterns)


def elements_of(arms: list[Arm], values: list[Bits], otherwise: Bits) -> list[Bits] | None:
    """Return a value for each number that is switched on; None if there are few, or many alike."""
    selector = arms[0].value
    count = 1 << len(selector)
    if sum(max(1, len(arm.patterns)) for arm in arms) < 4 or not 4 <= count <= MAX_ELEMENTS:
        return None
    elements: list[Bits | None] = [None] * count
    for arm, value in zip(arms, values, strict=True):
        if arm.always:
            otherwise = value
        elif arm.value != selector or any("-" in pattern for pattern in arm.patterns):
            return None
        for pattern in arm.patterns:
            if elements[int(pattern, 2)] is None:
                elements[int(pattern, 2)] = value
    whole = [otherwise if element is None else element for element in elements]
    constants = sum(number_of(element) is not None for element in whole)
    ((_, alike),) = Counter(whole).most_common(1)
    most = MAX_ARMS if len(otherwise) > 1 else MAX_COMPARISONS
    if constants == count and count - alike > most:  # a table
        return whole
    return whole if len(set(whole)) * 4 >= 3 * count and constants <= count // 4 else None


def bound_of(elements: list[Bits]) -> tuple[str, int] | None:
    """Return the comparison with a number that a table of bits is; None if it is none."""
    if any(element not in ((ZERO,), (ONE,)) for element in elements):
        return None
    changes = [k for k, (near, far) in enumerate(pairwise(elements), 1) if near != far]
    if len(changes) != 1:
        return None
    return (">=" if elements[-1] == (ONE,) else "<"), changes[0]
