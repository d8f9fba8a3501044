"""Counts bytes on a PCI Express link: what headers and the order of reads leave of its bandwidth.

After "Large Graph Convolutional Network Training with GPU-Oriented Data Communication
Architecture", 3.2.1 and 4.2. The link is Gen3 x16, 8 GT/s a lane with 128b/130b coding.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

LINK_BYTES = 15.75e9  #: bytes a second in one direction, headers and framing included
FRAMING = 8  #: bytes around each packet: framing and sequence number 4, link CRC 4
COMPLETION_HEADER = 12
READ_HEADER = WRITE_HEADER = 16  #: bytes of a header with an address of 64 bits
DWORD = 4  #: bytes; a read is for whole ones
LINE, SECTOR = 128, 32  #: bytes of a GPU's cache line, and of the parts that it can read
MAX_PAYLOAD = 256  #: bytes of data of the largest completion of most root complexes
MAX_READ = 512  #: bytes of the largest read that most hosts allow

Span = tuple[int, int]  #: addresses of the first byte, and of the one after the last


def completion_bytes(payload: int) -> int:
    """Return the bytes that a completion with ``payload`` bytes takes on the link."""
    return payload + COMPLETION_HEADER + FRAMING


def read_bytes() -> int:
    """Return the bytes that a read request takes on the link, in the other direction."""
    return READ_HEADER + FRAMING


def write_bytes(payload: int) -> int:
    """Return the bytes that a write with ``payload`` bytes takes on the link."""
    return payload + WRITE_HEADER + FRAMING


#: share of the link that is data if all completions are of the largest size
BEST_CASE = Fraction(MAX_PAYLOAD, completion_bytes(MAX_PAYLOAD))


def bytes_of_share(share: int, cycles: int, beat_bytes: int) -> Fraction:
    """Return the data that a share allows in ``cycles``: ``share`` / 256 of a beat in each."""
    return Fraction(share * cycles * beat_bytes, 256)


def max_of_share(share: int, cycles: int, beat_bytes: int) -> Fraction:
    """Return the most data of that share: 16 saved beats and two reads on credit come on top."""
    return bytes_of_share(share, cycles, beat_bytes) + 16 * beat_bytes + 2 * MAX_READ


def cut_at(start: int, end: int, size: int) -> Iterator[Span]:
    """Yield the parts of [start, end) that no multiple of ``size`` divides."""
    while start < end:
        border = min(end, start - start % size + size)
        yield start, border
        start = border


def naive(start: int, end: int) -> Iterator[Span]:
    """Yield a GPU's reads of a row, whose warps take 128 bytes each from the row's start on.

    Each is cut at lines and widened to sectors; a sector that the warp before has read is not
    read again.
    """
    known = start - start % SECTOR
    for warp in range(start, end, LINE):
        for first, last in cut_at(warp, min(end, warp + LINE), LINE):
            first = max(known, first - first % SECTOR)
            known = last + -last % SECTOR
            if first < known:
                yield first, known


def aligned(start: int, end: int) -> Iterator[Span]:
    """Yield a GPU's reads of a row after the paper's circular shift: a warp takes a whole line."""
    yield from cut_at(start - start % SECTOR, end + -end % SECTOR, LINE)


def merged(start: int, end: int) -> Iterator[Span]:
    """Yield the reads of a row in dwords, cut where an address is a multiple of the largest read.

    So all completions but the outer ones are of the largest size. Reads that are cut from the
    row's start on are as many, but each but the first begins inside a completion's borders: 7
    completions in place of 5 for a row of 1,028 bytes.
    """
    yield from cut_at(start - start % DWORD, end + -end % DWORD, MAX_READ)


Order = Callable[[int, int], Iterator[Span]]


@dataclass(frozen=True)
class Traffic:
    """Sums up how rows of one size are read, over all places where one can begin."""

    requests: float  #: reads for each row
    completions: float  #: completions for each row
    share: float  #: bytes of rows a second, as a share of the link's best case


def traffic(order: Order, row_bytes: int, stride: int | None = None) -> Traffic:
    """Return the traffic of rows of ``row_bytes``, ``stride`` apart (packed), picked at random."""
    stride = row_bytes if stride is None else stride
    if not 1 <= row_bytes <= stride:
        raise ValueError(f"a row has bytes, and none overlap: {row_bytes}, {stride}")
    period = MAX_READ // gcd(DWORD, stride)  # rows behind which all begins anew
    requests = completions = wire = 0
    for row in range(period):
        for start, end in order(row * stride, row * stride + row_bytes):
            requests += 1
            for first, last in cut_at(start, end, MAX_PAYLOAD):
                completions += 1
                wire += completion_bytes(last - first)
    share = Fraction(period * row_bytes, wire) / BEST_CASE
    return Traffic(requests / period, completions / period, float(share))


def under_way(request_bytes: int, round_trip: float) -> float:
    """Return how many reads of that size fill the link; ``round_trip`` is in seconds."""
    return LINK_BYTES * float(BEST_CASE) * round_trip / request_bytes
