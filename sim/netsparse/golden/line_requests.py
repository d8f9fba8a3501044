"""Splits accesses of host memory by lines: GPU-oriented data communication, section 3.2.1.

A property of some bytes is read or written in requests that never leave an aligned line of 128
bytes. In the aligned order (the paper's circular shift) there is one request for each line that
the property touches. In the naive order the property is first cut into spans of 128 bytes from
its own beginning, as the threads of a warp would take them, and then every span at the end of a
line: off the lines, that is two requests where one would do.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

LINE_BYTES = 128


class LineRequest(NamedTuple):
    """Asks for bytes ``first`` to ``first + bytes - 1`` of line ``line``."""

    line: int
    first: int
    bytes: int


def line_requests(address: int, size: int, *, aligned: bool) -> list[LineRequest]:
    """Return every request for ``size`` bytes at ``address``, in the order of the addresses."""
    spans = [(address, size)]
    if not aligned:
        spans = [
            (address + done, min(LINE_BYTES, size - done)) for done in range(0, size, LINE_BYTES)
        ]
    requests = []
    for start, length in spans:
        end = start + length
        for line in range(start // LINE_BYTES, (end - 1) // LINE_BYTES + 1):
            first = max(start, line * LINE_BYTES)
            last = min(end, (line + 1) * LINE_BYTES)
            requests.append(LineRequest(line, first % LINE_BYTES, last - first))
    return requests


def request_counts(address: ArrayLike, size: ArrayLike, *, aligned: bool) -> NDArray[np.int64]:
    """Return how many requests :func:`line_requests` makes, by formula and for whole arrays."""
    address, size = np.asarray(address, dtype=np.int64), np.asarray(size, dtype=np.int64)
    if aligned:
        return (address + size - 1) // LINE_BYTES - address // LINE_BYTES + 1
    offset = address % LINE_BYTES
    spans, rest = np.divmod(size, LINE_BYTES)
    return spans * (1 + (offset > 0)) + (rest > 0) + (offset + rest > LINE_BYTES)


def line_efficiency(address: ArrayLike, size: ArrayLike, *, aligned: bool) -> NDArray[np.float64]:
    """Return bytes asked for over bytes of the lines requested, a line once per request."""
    return np.asarray(size) / (LINE_BYTES * request_counts(address, size, aligned=aligned))
