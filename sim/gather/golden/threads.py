"""Plays the paper's kernel that gathers rows on a GPU, thread by thread.

After "Large Graph Convolutional Network Training with GPU-Oriented Data Communication
Architecture", listing 2 and 3.2.1. The orders of :mod:`sim.golden.pcie_link` look at each row by
itself; here warps run over the borders of rows, as the kernel's do.
"""

from dataclasses import dataclass

import numpy as np

from sim.golden.pcie_link import BEST_CASE, LINE, SECTOR, Traffic, completion_bytes

WARP = 32  #: threads of a warp, which read at the same time
FLOAT = 4  #: bytes that a thread reads


@dataclass(frozen=True)
class Kernel:
    """Says how threads read."""

    shifts: bool  #: by the listing's circular shift
    keeps: bool  #: a sector that the warp before has read is not read again


def places(idxs: np.ndarray, row_bytes: int, *, shifts: bool) -> np.ndarray:
    """Return the address that each thread reads, in the listing's own arithmetic.

    ``idxs`` name rows of ``row_bytes`` that lie back to back from address 0 on. Rows of at most a
    line, and of whole lines, are not shifted.
    """
    size = row_bytes // FLOAT
    row, offset = np.divmod(np.arange(len(idxs) * size), size)
    begin = idxs[row] * size
    result = begin + offset
    if shifts and size > WARP and size % WARP:
        result += (row * size - begin) % WARP
        result -= size * (result >= begin + size)
    return result * FLOAT


def requests(at: np.ndarray, *, keeps: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return address and bytes of each read of threads that read a float ``at`` each.

    A warp reads whole sectors; those that follow each other in a line are one read.
    """
    most = int(at.max()) // SECTOR + 1
    known = np.unique(np.arange(len(at)) // WARP * most + at // SECTOR)  # sectors of each warp
    if keeps:
        known = known[~np.isin(known - most, known)]
    warp, sector = np.divmod(known, most)
    begins = np.ones(len(known), dtype=bool)
    begins[1:] = (np.diff(warp) != 0) | (np.diff(sector) != 1)
    begins |= sector % (LINE // SECTOR) == 0
    first = np.flatnonzero(begins)
    return sector[first] * SECTOR, np.diff(first, append=len(known)) * SECTOR


def traffic_of(kernel: Kernel, row_bytes: int, rows: int = 2000, seed: int = 1) -> Traffic:
    """Return the traffic of ``rows`` that are picked at random from a table of a million."""
    if row_bytes < FLOAT or row_bytes % FLOAT:
        raise ValueError(f"a row is of whole floats: {row_bytes}")
    idxs = np.random.default_rng(seed).integers(0, 1 << 20, rows)
    at = places(idxs, row_bytes, shifts=kernel.shifts)
    _, sizes = requests(at, keeps=kernel.keeps)  # of at most a line, so that each is one completion
    wire = int(completion_bytes(0) * len(sizes) + sizes.sum())
    share = rows * row_bytes / wire / float(BEST_CASE)
    return Traffic(len(sizes) / rows, len(sizes) / rows, share)
