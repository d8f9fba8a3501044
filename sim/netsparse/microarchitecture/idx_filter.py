"""Models the microarchitecture of the Idx Filter: what its write-back cache does.

This follows the hardware's design: banks, sets, ways, and the block cache of a unit. What the
filter answers is the golden model's (``sim/netsparse/golden/idx_filter.py``).
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sim.netsparse.golden.idx_filter import LINE_IDXS, IdxFilter

BLOCK_IDXS = 16


@dataclass(frozen=True)
class Access:
    """Says what a lookup or a set did."""

    bit: bool  #: the bit as it was before
    hit: bool  #: whether a bank had the line
    write_back: int | None = None  #: the line that was written back to memory
    near: bool = False  #: whether the unit's own cache answered it, without a bank
    read: bool = False  #: whether the line was read from memory; a miss without is all zeros


@dataclass
class Line:
    """Holds the state of a line in the cache."""

    dirty: bool = False


@dataclass
class IdxFilterCache:
    """Holds the filter, the lines that the cache holds, and what is in the memory.

    A line may be in one set of one bank only, bank = line % banks, set = line // banks % sets; the
    victim is the least recently used line of a full set. A line is not read while its set is not
    full: since the filter was cleared none of the set has left, so it is all zeros.

    The unit's own cache of ``blocks`` (0: none) holds blocks of 16 idxs, each in entry block %
    blocks. It takes a block when a bank answers a request for it and one of its bits is 1, and
    answers lookups of bits that are 1 in it.
    """

    columns: int
    banks: int
    sets: int
    ways: int
    blocks: int = 0
    filter: IdxFilter = field(init=False)
    memory: NDArray[np.bool_] = field(init=False)
    places: dict[tuple[int, int], dict[int, Line]] = field(init=False)
    ones: dict[int, set[int]] = field(init=False)  #: idxs, by the number of their block

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Set all bits to zero, and empty the cache."""
        self.filter = IdxFilter(self.columns)
        self.memory = np.zeros(self.columns, bool)
        self.places = {}
        self.ones = {}

    @property
    def bits(self) -> NDArray[np.bool_]:
        """Return the bits of all idxs."""
        return self.filter.bits

    def block(self, idx: int) -> NDArray[np.bool_]:
        """Return the bits of the 16 idxs that ``idx`` is one of."""
        first = idx // BLOCK_IDXS * BLOCK_IDXS
        return self.bits[first : first + BLOCK_IDXS]

    def access(self, idx: int, *, set_bit: bool = False) -> Access:
        """Look ``idx`` up, or set its bit."""
        block = idx // BLOCK_IDXS
        if not set_bit and idx in self.ones.get(block, ()):
            return Access(True, hit=False, near=True)
        access = self._access_bank(idx, set_bit)
        bits = self.block(idx)
        if self.blocks and bits.any():
            place = block % self.blocks
            self.ones = {n: held for n, held in self.ones.items() if n % self.blocks != place}
            self.ones[block] = {block * BLOCK_IDXS + int(k) for k in bits.nonzero()[0]}
        return access

    def _access_bank(self, idx: int, set_bit: bool) -> Access:
        line = idx // LINE_IDXS
        bank, rest = line % self.banks, line // self.banks
        lines = self.places.setdefault((bank, rest % self.sets), {})  # least recent first
        hit = line in lines
        write_back = None
        read = not hit and len(lines) == self.ways
        if read:
            victim = next(iter(lines))
            if lines.pop(victim).dirty:
                write_back = victim
                self._write_back(victim)
        entry = lines.pop(line, None) or Line()
        lines[line] = entry
        entry.dirty |= set_bit
        return Access(self.filter.access(idx, set_bit=set_bit), hit, write_back, read=read)

    def _write_back(self, line: int) -> None:
        place = slice(line * LINE_IDXS, (line + 1) * LINE_IDXS)
        self.memory[place] = self.bits[place]
