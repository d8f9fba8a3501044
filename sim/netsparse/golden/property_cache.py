"""Models NetSparse's Property Cache (section 6.2.2): a switch's properties, in order of use."""

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum

SEGMENT_BYTES = 16


class Outcome(Enum):
    """Names what became of an access."""

    HIT = "hit"  #: a lookup found its property
    MISS = "miss"  #: a lookup did not
    INSERTED = "inserted"  #: an insert took a line that held nothing
    REPLACED = "replaced"  #: an insert took the line of the least recently used property
    PRESENT = "present"  #: the property was there already, and stays as it was
    BYPASSED = "bypassed"  #: a lookup or an insert of another length than is configured
    DISCARDED = "discarded"  #: an insert came while the cache was cleared


@dataclass
class PropertyCache:
    """Holds segments of 16 bytes with ``sets`` sets of ``ways`` lines each.

    An idx is {tag, segment, set}. The cache holds properties of one size; as many adjacent
    segments as hold one act together, so that the lowest segment bits have no effect.
    """

    segments: int
    sets: int
    ways: int
    property_bytes: int = 0  #: 0: none, everything bypasses
    #: for each set of each group of segments: the properties by idx, the least recently used first
    held: dict[tuple[int, int], OrderedDict[int, bytes]] = field(default_factory=dict)

    def configure(self, property_bytes: int) -> None:
        """Hold properties of this size from now on, and none at the beginning."""
        self.property_bytes = property_bytes
        self.held = {}

    @property
    def together(self) -> int:
        """Return how many segments act together: the smallest power of two that is enough."""
        count = 1
        while count * SEGMENT_BYTES < self.property_bytes:
            count *= 2
        return count

    @property
    def lines(self) -> int:
        """Return how many properties there is room for."""
        return self.segments // self.together * self.sets * self.ways

    def segments_of(self, idx: int) -> range:
        """Return the segments that are enabled for ``idx``."""
        first = idx // self.sets % self.segments // self.together * self.together
        return range(first, first + self.together)

    def bypasses(self, length: int) -> bool:
        """Return whether properties of ``length`` bytes pass the cache by."""
        fits = 0 < length <= self.segments * SEGMENT_BYTES
        return not fits or length != self.property_bytes

    def lookup(self, idx: int, length: int, *, clearing: bool = False):
        """Look ``idx`` up; return the outcome, and the property or None."""
        if self.bypasses(length):
            return Outcome.BYPASSED, None
        lines = self._lines_of(idx)
        if clearing or idx not in lines:
            return Outcome.MISS, None
        lines.move_to_end(idx)
        return Outcome.HIT, lines[idx]

    def insert(self, idx: int, value: bytes, *, clearing: bool = False) -> Outcome:
        """Keep ``value``, the property of ``idx``, unless it is there; return the outcome."""
        if self.bypasses(len(value)):
            return Outcome.BYPASSED
        if clearing:
            return Outcome.DISCARDED
        lines = self._lines_of(idx)
        if idx in lines:
            return Outcome.PRESENT
        full = len(lines) == self.ways
        if full:
            lines.popitem(last=False)
        lines[idx] = value
        return Outcome.REPLACED if full else Outcome.INSERTED

    def _lines_of(self, idx: int) -> OrderedDict[int, bytes]:
        place = (self.segments_of(idx).start, idx % self.sets)
        return self.held.setdefault(place, OrderedDict())
