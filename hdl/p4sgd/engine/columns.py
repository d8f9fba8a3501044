"""Cuts a wide memory into columns that are read one after the other."""

from typing import NamedTuple

ULTRA_BITS = 72  #: width of an UltraRAM


class Column(NamedTuple):
    """Describes adjacent UltraRAMs that are read in the same cycle."""

    skew: int  #: number of cycles by which the column is read after the first one
    low: int  #: lowest bit of the entry
    high: int  #: highest bit of the column in the entry, plus one
    pieces: tuple[tuple[int, int, int], ...]  #: parts: skew at which each is due, low, high bit

    @property
    def bits(self) -> int:
        """Return the width of the column."""
        return self.high - self.low


def columns(bits: int, group: int) -> tuple[Column, ...]:
    """Cut ``bits`` into groups of ``group``, of which group k is due k cycles after the first.

    Columns end where an UltraRAM ends, so that no more of them are used than without columns; an
    UltraRAM in which a group ends and the next one begins belongs to the earlier column. The part
    of the next group in it is then read too early, and ``pieces`` has the skew at which it is due.
    """
    result = []
    low = 0
    for skew in range(-(-bits // group)):
        end = -(-(skew + 1) * group // ULTRA_BITS) * ULTRA_BITS
        high = min(bits, end)
        if high > low:
            result.append(Column(skew, low, high, pieces_of(low, high, group)))
            low = high
    return tuple(result)


def pieces_of(low: int, high: int, group: int) -> tuple[tuple[int, int, int], ...]:
    """Return the groups, or parts of them, that lie between two bits."""
    pieces = []
    while low < high:
        end = min(high, (low // group + 1) * group)
        pieces.append((low // group, low, end))
        low = end
    return tuple(pieces)
