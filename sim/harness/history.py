"""Finds which stream or port numbers came from, when they do not say so themselves.

NumPy and arithmetic lose the origins of beats. What was received can still be found again: as a
run of one field, or of whole beats, in what one of the watched streams carried.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from sim.harness.beats import Beats, path_of, plain
from sim.harness.mismatch import NOTHING, Pair, Wrong, decoded, is_array

__all__ = ["on_port", "search"]

SHORTEST = 2  #: numbers that tell a stream
REPORTING_BITS = 12  #: width of a number that tells a port


def search(
    left: Any, right: Any, known: Sequence[Beats], now: int, driven: Callable[[str], bool]
) -> Wrong | None:
    """Return the first wrong beat of two sequences, if one of them is in ``known``; else None.

    Streams that the test has ``driven`` come last. ``now`` is the cycle for what has not come.
    """
    sides = (list(numbers(left)), list(numbers(right)))
    if min(map(len, sides)) < SHORTEST:
        return None
    pairs = zip(*sides, strict=False)
    where = next((k for k, (a, b) in enumerate(pairs) if a != b), min(map(len, sides)))
    for beats in sorted(known, key=lambda beats: driven(beats.stream)):
        for field, series in series_of(beats):
            for got, expected in (sides, sides[::-1]):
                start = run_of(got, [value for value, _ in series])
                if start is None:
                    continue
                end = where == len(got)
                place = series[start + where - end][1] + end
                origin = beats.origin(beats.place(place))
                return Wrong(
                    stream=origin.stream,
                    index=origin.index,
                    cycle=now if origin.cycle is None else origin.cycle,
                    field=field,
                    expected=decoded(expected[where]) if where < len(expected) else NOTHING,
                    got=NOTHING if end else decoded(got[where]),
                )
    return None


def on_port(path: Sequence[Pair], ports: Mapping[str, int], now: int) -> Wrong | None:
    """Return the port that shows one of two values just ``now``; None unless exactly one does.

    Small numbers stand on too many ports to tell one.
    """
    first, last = path[0], path[-1]
    for got, expected, end in (
        (first.left, first.right, (last.left, last.right)),
        (first.right, first.left, (last.right, last.left)),
    ):
        bits = bits_of(got)
        names = [name for name, value in ports.items() if value == bits]
        if bits.bit_length() >= REPORTING_BITS and len(names) == 1 and bits_of(expected) != bits:
            return Wrong(
                stream=names[0],
                index=None,
                cycle=now,
                field=path_of(pair.key for pair in path[1:]),
                expected=decoded(end[1]),
                got=decoded(end[0]),
            )
    return None


def bits_of(value: Any) -> int:
    """Return a number, or bytes as the number that a port has; 0 for anything else."""
    if isinstance(value, bytes):
        return int.from_bytes(value, "little")
    return int(value) if hasattr(value, "__index__") else 0


def series_of(beats: Beats) -> Iterator[tuple[str, list[tuple[Any, int]]]]:
    """Yield the numbers of whole beats and of each field, each with the place of its beat."""
    raw = plain(beats)
    yield "", [(value, k) for k, beat in enumerate(raw) for value in numbers(beat)]
    if raw and isinstance(raw[0], dict):
        for name in raw[0]:
            yield name, [(v, k) for k, beat in enumerate(raw) for v in numbers(beat.get(name))]


def numbers(value: Any) -> Iterator[Any]:
    """Yield all single values inside ``value``, in order."""
    if is_array(value):
        yield from value.reshape(-1).tolist()
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes | Enum):
        for item in value:
            yield from numbers(item)
    else:
        yield plain(value)


def run_of(short: list[Any], long: list[Any]) -> int | None:
    """Return where ``short`` begins as a run of ``long``; None unless it is exactly one place."""
    places = []
    start = -1
    while len(places) < 2 and short[0] in long[start + 1 : len(long) - len(short) + 1]:
        start = long.index(short[0], start + 1)
        if long[start : start + len(short)] == short:
            places.append(start)
    return places[0] if len(places) == 1 else None
