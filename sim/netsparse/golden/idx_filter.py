"""Models NetSparse's Idx Filter (section 5.2): a bit of each idx, in lines of memory."""

import numpy as np
from numpy.typing import NDArray

LINE_BYTES = 64
LINE_IDXS = 8 * LINE_BYTES


def line_count(columns: int) -> int:
    """Return the number of lines that hold a bit of each column."""
    return -(-columns // LINE_IDXS)


def line_address(idx: int, base: int = 0) -> int:
    """Return where the line of ``idx`` is."""
    return base + idx // LINE_IDXS * LINE_BYTES


def image(bits: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return the memory from ``base`` on, in whole lines; idx 0 is the first byte's lowest bit."""
    padded = np.zeros(line_count(len(bits)) * LINE_IDXS, bool)
    padded[: len(bits)] = bits
    return np.packbits(padded, bitorder="little")


class IdxFilter:
    """Holds the bits; each lookup and each set is complete before the next."""

    def __init__(self, columns: int) -> None:
        self.bits = np.zeros(columns, bool)

    def clear(self) -> None:
        """Set all bits to zero."""
        self.bits[:] = False

    def access(self, idx: int, *, set_bit: bool = False) -> bool:
        """Look ``idx`` up, or set its bit; return the bit as it was before."""
        before = bool(self.bits[idx])
        self.bits[idx] |= set_bit
        return before
