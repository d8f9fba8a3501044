"""Keeps what monitors saw as plain values that remember which beat of which stream they are.

A :class:`Beats` is a list. What is read from it by index or by a loop equals, hashes, prints and
pickles as the plain value does, and so does what is read out of that: the origin goes along to
``beats[3:]``, ``beat["weights"][2]`` and ``[beat["idx"] for beat in beats]``. Arithmetic and NumPy
lose it. Nothing is done for a beat that nobody reads.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

__all__ = ["Beats", "Moments", "Origin", "origin_of", "plain", "tagged"]


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Says where a value was seen."""

    stream: str  #: or the port
    index: int | None  #: number of the beat in its stream, from 0; None if it is a port's
    cycle: int | None  #: when it came, as :func:`.streams.cycle` counts; None if it has not
    field: str = ""  #: what is compared inside the beat, ``weights[3]``; empty for all of it
    beat: Any = None  #: all of the beat, plain


class Number(int):
    """Is a whole number with an origin."""

    source: tuple[Any, Any]  #: what it was read from, and under which key

    def __reduce__(self) -> Any:
        return int, (int(self),)


class Struct(dict):
    """Is a struct, as a dict, with an origin."""

    source: tuple[Any, Any]

    def __getitem__(self, key: Any) -> Any:
        return tagged(super().__getitem__(key), self, key)

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value under ``key``, or else ``default``."""
        return tagged(super().get(key, default), self, key)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class Items(list):
    """Is an array, as a list, with an origin."""

    source: tuple[Any, Any]

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        if isinstance(key, slice):
            keys = range(len(self))[key]
            return [tagged(item, self, k) for item, k in zip(value, keys, strict=True)]
        return tagged(value, self, key)

    def __iter__(self) -> Iterator[Any]:
        for key, value in enumerate(super().__iter__()):
            yield tagged(value, self, key)

    def __reduce__(self) -> Any:
        return list, (plain(self),)


class Beats(list):
    """Holds the beats of ``stream``, or what a port showed in each cycle.

    ``cycles`` has the cycle of each of the stream's beats. ``places`` says which of them these
    are, if not all from the first on. ``numbered`` is False for a port.
    """

    def __init__(
        self,
        items: Iterable[Any] = (),
        *,
        stream: str = "",
        cycles: Sequence[int] = (),
        places: range | None = None,
        numbered: bool = True,
    ) -> None:
        super().__init__(items)
        self.stream = stream
        self.cycles = cycles
        self.numbered = numbered
        self.places = places
        self.forgotten = 0  #: beats that came before the first that is here

    def place(self, index: int) -> int:
        """Return the number in the stream of the beat that is, or would be, at ``index``."""
        if self.places is None:
            return self.forgotten + index
        return self.places.start + index * self.places.step  # beyond the end as before it

    def origin(self, place: int, beat: Any = None) -> Origin:
        """Return the origin of the stream's beat number ``place``, which is ``beat``."""
        index = place - getattr(self.cycles, "forgotten", 0)
        known = 0 <= index < len(self.cycles)
        return Origin(
            stream=self.stream,
            index=place if self.numbered else None,
            cycle=int(self.cycles[index]) if known else None,
            beat=plain(beat),
        )

    def part(self, key: slice) -> "Beats":
        """Return a part of the items, each of which knows its place in the whole."""
        places = self.places
        if places is None:
            places = range(self.forgotten, self.forgotten + len(self))
        return type(self)(
            super().__getitem__(key),
            stream=self.stream,
            cycles=self.cycles,
            places=places[key],
            numbered=self.numbered,
        )

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self.part(key)
        value = super().__getitem__(key)
        return tagged(value, self, self.place(range(len(self))[key]))

    def __iter__(self) -> Iterator[Any]:
        for index, value in enumerate(super().__iter__()):
            yield tagged(value, self, self.place(index))

    def clear(self) -> None:
        """Forget all beats; the next one keeps its number in the stream."""
        self.forgotten += len(self)
        super().clear()

    def __reduce__(self) -> Any:
        return list, (plain(self),)


class Moments(Beats):
    """Holds the cycles in which the beats of ``stream`` moved."""

    def origin(self, place: int, beat: Any = None) -> Origin:
        """Return the origin of beat number ``place``, which moved in cycle ``beat``."""
        index = place if self.numbered else None
        return Origin(stream=self.stream, index=index, cycle=beat, field="cycle", beat=beat)


def tagged(value: Any, parent: Any, key: Any) -> Any:
    """Return ``value`` as read from ``parent`` under ``key``; enumerations get no origin."""
    kind = type(value)
    if kind is int:
        own: Any = Number(value)
    elif kind is dict:
        own = Struct(value)
    elif kind is list:
        own = Items(value)
    else:
        return value
    own.source = (parent, key)
    return own


def origin_of(value: Any) -> Origin | None:
    """Return where ``value`` was seen; None if it does not know."""
    fields: list[Any] = []
    while isinstance(value, Number | Struct | Items):
        beat = value
        value, key = value.source
        if isinstance(value, Beats):
            result = value.origin(key, beat)
            return replace(result, field=path_of(reversed(fields)) or result.field)
        fields.append(key)
    return None


def path_of(keys: Iterable[Any]) -> str:
    """Write keys as a path such as ``pr.weights[3]``."""
    parts = [f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys]
    return "".join(parts).removeprefix(".")


def plain(value: Any) -> Any:
    """Return ``value`` without its origin, and without those inside it."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, Number):
        return int(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in dict.items(value)}
    if isinstance(value, list):
        return [plain(item) for item in list.__iter__(value)]
    return value
