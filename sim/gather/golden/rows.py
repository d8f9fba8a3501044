"""Says what a gather brings, and by which reads.

After "Large Graph Convolutional Network Training with GPU-Oriented Data Communication
Architecture", 3.2.1: rows of a table in host memory are fetched in the order of an array of idxs.
The orders of reads are specified in :mod:`sim.golden.pcie_link`.
"""

from dataclasses import dataclass

import numpy as np

from sim.golden.pcie_link import LINE, MAX_READ, Order, cut_at, merged


@dataclass(frozen=True)
class Table:
    """Describes a table in host memory; sizes and addresses are in bytes."""

    base: int  #: address of its first row
    rows: int
    row_bytes: int
    stride: int  #: bytes from row to row, at least row_bytes

    def address(self, idx: int) -> int:
        """Return where row ``idx`` begins."""
        return self.base + idx * self.stride

    def content(self, memory: np.ndarray) -> np.ndarray:
        """Return the table of ``memory``, bytes from address 0 on: uint8 [rows, row_bytes]."""
        places = self.base + self.stride * np.arange(self.rows)[:, None]
        return memory[places + np.arange(self.row_bytes)]


def gather(memory: np.ndarray, table: Table, idxs: list[int]) -> list[bytes | None]:
    """Return ``table[idx]`` of each idx, None of one that is not in the table."""
    content = table.content(memory)
    return [content[idx].tobytes() if 0 <= idx < table.rows else None for idx in idxs]


def reads(
    table: Table, idxs: list[int], order: Order, most: int = MAX_READ
) -> list[tuple[int, int]]:
    """Return address and bytes of each read on the link, where a read asks for at most ``most``.

    An idx that is not in the table is read as if it were 0; its row is of no use.
    """
    result = []
    for idx in idxs:
        start = table.address(idx if idx < table.rows else 0)
        for first, last in order(start, start + table.row_bytes):
            cuts = cut_at(first, last, most if order is merged else LINE)
            result += [(a, b - a) for a, b in cuts]
    return result
