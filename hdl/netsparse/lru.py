"""Implements true LRU: a bit for each pair of a set's ways holds their order of use.

Bit k of ``newer`` says that the first way of pair k was used after the second. All zeros is a valid
order, in which the higher of two ways is the newer one.
"""

from itertools import combinations

from amaranth.hdl import Cat, Mux, Value


def pairs(ways: int) -> list[tuple[int, int]]:
    """Return all pairs of ``ways`` ways, the lower one first."""
    return list(combinations(range(ways), 2))


def least_recent(newer: Value, ways: int) -> Value:
    """Return the way that was used before all others, as a bit of a mask."""
    return Cat(_is_oldest(way, newer, ways) for way in range(ways))


def after_use(newer: Value, used: Value) -> Value:
    """Return the order after a use of the way in mask ``used``; an empty mask changes nothing."""
    return Cat(
        Mux(used[second], 0, newer[number] | used[first])
        for number, (first, second) in enumerate(pairs(len(used)))
    )


def _is_oldest(way: int, newer: Value, ways: int) -> Value | int:
    younger = [
        ~newer[number] if first == way else newer[number]
        for number, (first, second) in enumerate(pairs(ways))
        if way in (first, second)
    ]
    return Cat(younger).all() if younger else 1
