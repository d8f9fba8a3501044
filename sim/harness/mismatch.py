"""Finds where two values first differ, and which beat of which stream that is."""

import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeGuard

from sim.harness.beats import Beats, Origin, origin_of, path_of, plain

__all__ = ["Mismatch", "Pair", "Wrong", "decoded", "difference", "wrong_of"]

NOTHING = "no beat"
LONGEST = 160  #: characters of a beat that is shown whole


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """Describes the first beat that is not as it should be."""

    stream: str  #: or the port
    index: int | None  #: number of the beat in its stream, from 0; None for a port
    cycle: int | None  #: cycle in which the beat moved, or in which it was missed
    field: str = ""  #: part of the beat, empty if all of it is meant
    expected: str
    got: str

    def __str__(self) -> str:
        beat = "" if self.index is None else f", beat {self.index}"
        field = f", {self.field}" if self.field else ""
        cycle = "" if self.cycle is None else f", cycle {self.cycle}"
        return f"{self.stream}{beat}{cycle}{field}: expected {self.expected}, got {self.got}"


class Mismatch(AssertionError):
    """Reports a failure that knows the wrong beat."""

    def __init__(self, text: str, wrong: Wrong) -> None:
        super().__init__(text)
        self.wrong = wrong


@dataclass(frozen=True, eq=False)
class Pair:
    """Holds two values that differ, and the key that leads to them."""

    left: Any
    right: Any
    key: Any = None  #: key of the two values in the pair around them


class Absent:
    """Stands for an item that one side does not have."""

    def __repr__(self) -> str:
        return NOTHING


ABSENT = Absent()


def difference(left: Any, right: Any) -> list[Pair]:
    """Return the path from ``left`` and ``right`` down to the first two parts that differ."""
    path = [Pair(left, right)]
    while (step := first_step(path[-1].left, path[-1].right)) is not None:
        path.append(step)
    return path


def first_step(left: Any, right: Any) -> Pair | None:
    """Return the first parts of two values that differ; None if they have no parts to compare."""
    return next((pair for pair in parts(left, right) if differ(pair.left, pair.right)), None)


def parts(left: Any, right: Any) -> Iterator[Pair]:
    """Yield the parts of two values of one kind that have the same key."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in [*left, *(key for key in right if key not in left)]:
            yield Pair(left.get(key, ABSENT), right.get(key, ABSENT), key)
    elif is_sequence(left) and is_sequence(right):
        for k in range(max(len(left), len(right))):
            own = left[k] if k < len(left) else ABSENT
            reference = right[k] if k < len(right) else ABSENT
            yield Pair(own, reference, k)
    elif is_dataclass(left) and type(left) is type(right):
        for field in fields(left):
            yield Pair(getattr(left, field.name), getattr(right, field.name), field.name)


def is_sequence(value: Any) -> TypeGuard[Sequence[Any]]:
    """Return whether a value has parts by number."""
    return isinstance(value, list | tuple | range | bytes) or is_array(value)


def is_array(value: Any) -> bool:
    """Return whether it is an array of NumPy, without importing NumPy."""
    return getattr(value, "ndim", 0) > 0 and hasattr(value, "tolist")


def differ(left: Any, right: Any) -> bool:
    """Return whether two values are not equal, each taken as a whole."""
    if left is ABSENT or right is ABSENT:
        return left is not right
    if is_array(left) or is_array(right):
        shapes = {getattr(side, "shape", None) for side in (left, right)} - {None}
        return len(shapes) > 1 or not (left == right).all()
    return bool(left != right)


def wrong_of(path: list[Pair], now: int, driven: Callable[[str], bool]) -> Wrong | None:
    """Return the wrong beat at the end of ``path``; None if neither side was seen on a stream.

    The side that was seen on a stream is the one that was got. If both were, the side on a stream
    that the test has ``driven`` is the expected one. ``now`` is the cycle for a beat that has not
    come.
    """
    origin, other, side = seen(path, "left"), seen(path, "right"), "left"
    if origin is None or (other is not None and driven(origin.stream) > driven(other.stream)):
        origin, side = other, "right"
    if origin is None:
        return None
    shown = whole_beat(path, side) or path[-1]
    got, expected = (shown.left, shown.right)[:: 1 if side == "left" else -1]
    return Wrong(
        stream=origin.stream,
        index=origin.index,
        cycle=now if origin.cycle is None else origin.cycle,
        field=origin.field or field_below(path, shown),
        expected=decoded(expected),
        got=decoded(got),
    )


def seen(path: list[Pair], side: str) -> Origin | None:
    """Return the origin of the innermost value of one side that has one."""
    values = [getattr(pair, side) for pair in path]
    for value in reversed(values):
        if (origin := origin_of(value)) is not None:
            return origin
    for pair, value in zip(path[1:], values, strict=False):
        if getattr(pair, side) is ABSENT and (origin := missing(value, pair.key)) is not None:
            return origin
    return None


def missing(values: Any, index: Any) -> Origin | None:
    """Return the origin that the next of ``values`` would have had."""
    if isinstance(values, Beats):
        return values.origin(values.place(index))
    last = origin_of(values[-1]) if is_sequence(values) and len(values) else None
    if last is None or last.index is None:
        return None
    return Origin(stream=last.stream, index=last.index + 1, cycle=None)


def whole_beat(path: list[Pair], side: str) -> Pair | None:
    """Return the outermost pair of which one side is a whole beat that is short enough to show."""
    for pair in path:
        origin = origin_of(getattr(pair, side))
        if origin is not None and not origin.field:
            fits = max(len(repr(plain(pair.left))), len(repr(plain(pair.right)))) <= LONGEST
            return pair if fits else None
    return None


def field_below(path: list[Pair], shown: Pair) -> str:
    """Return the path from a pair that is shown to the end."""
    return path_of(pair.key for pair in path[path.index(shown) + 1 :])


class Short(reprlib.Repr):
    """Writes values so that they fit in a line."""

    def __init__(self) -> None:
        super().__init__()
        self.maxdict = self.maxlist = self.maxtuple = 16
        self.maxother = self.maxstring = LONGEST

    def repr_int(self, x: int, level: int) -> str:
        """Write numbers of many bits in hexadecimal."""
        return f"{x:#x}" if x >= 1 << 32 else str(x)

    def repr_instance(self, x: Any, level: int) -> str:
        """Write NumPy's numbers as plain ones."""
        return self.repr1(x.item(), level) if hasattr(x, "item") else repr(x)


def decoded(value: Any) -> str:
    """Write ``value`` in a line."""
    return Short().repr(value.tolist() if is_array(value) else plain(value))
