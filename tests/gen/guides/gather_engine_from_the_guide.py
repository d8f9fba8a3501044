"""Models a gather engine and its host in NumPy, from the engine's programming guide alone."""

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

MERGED, ALIGNED, NAIVE = range(3)
DONE, ILLEGAL, WRITE, IDXS, ROWS, STOPPED = range(6)
NONE, UNSUPPORTED = 0, 2  #: causes
MOST_ROW, CHUNK, LINE, SECTOR, COMPLETION_BYTES = 4096, 512, 128, 32, 16


@dataclass(frozen=True, kw_only=True)
class Request:
    """A work request, field by field as the guide names them."""

    idx_address: int
    count: int
    base: int
    rows: int
    row_bytes: int
    stride: int
    completion: int
    destination: int = 0
    tag: int = 0
    wide: int = 0
    on_card: int = 0
    streamed: int = 0
    order: int = MERGED
    coalesce: int = 0

    @property
    def idx_bytes(self):
        """Return the bytes of an idx."""
        return 8 if self.wide else 4


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of a build that registers and guide tell."""

    idx_bits: int
    stride_bits: int
    device_address_bits: int
    to_memory: int
    to_stream: int
    card_idxs: int
    max_read: int


def largest_read(guide):
    """Return the bytes of the largest read, by the guide's table of sizes."""
    return int(re.search(r"\| bytes of the largest read, [^|]*\| (\d+) \|", guide)[1])


def legal(request, sizes):
    """Whether a request is carried out, by "Work requests"."""
    room = 1 << sizes.device_address_bits
    result_end = request.destination + request.count * request.row_bytes
    return (
        request.idx_address % request.idx_bytes == 0
        and not any(n % 4 for n in (request.base, request.row_bytes, request.stride))
        and request.completion % 16 == 0
        and 4 <= request.row_bytes <= MOST_ROW
        and 1 <= request.rows <= (1 << sizes.idx_bits) - 1
        and request.stride < 1 << sizes.stride_bits
        and request.order <= NAIVE
        and (
            sizes.to_stream
            if request.streamed
            else sizes.to_memory and request.destination % 4 == 0 and result_end <= room
        )
        and (
            not request.on_card
            or (sizes.card_idxs and request.idx_address + request.count * request.idx_bytes <= room)
        )
    )


def cuts(first, end, size):
    """Return the pieces of [first, end) that multiples of `size` make."""
    while first < end:
        border = min(end, first - first % size + size)
        yield first, border - first
        first = border


def row_reads(request, idx, largest):
    """Return the reads of a row, by "How rows are read"."""
    first = request.base + (idx if idx < request.rows else 0) * request.stride
    end = first + request.row_bytes
    if request.order == MERGED:
        return list(cuts(first, end, largest))
    start, stop = first - first % SECTOR, end + -end % SECTOR
    borders = [start, stop]
    if request.order == NAIVE:
        behind = first + -first % SECTOR + LINE
        borders[1:1] = range(behind, stop, LINE)
    return [read for a, b in pairwise(borders) for read in cuts(a, b, min(largest, LINE))]


def idx_reads(request, largest):
    """Return the reads of the idxs; none if they are in device memory."""
    if request.on_card:
        return []
    end = request.idx_address + request.count * request.idx_bytes
    most = min(largest, CHUNK if request.order == MERGED else LINE)
    return list(cuts(request.idx_address, end, most))


@dataclass
class Carried:
    """What came of a request: its completion, its rows and their tuser, and reads of the link."""

    completion: bytes
    rows: list
    reads: list


def carry_out(host, device, request, sizes, largest):
    """Do what the engine does: uint8 of both memories from address 0 on, of which device changes.

    Reads of host memory behind the end of `host` find nobody. Without `coalesce` `reads` are those
    of the link; with it some of them may be left out.
    """
    if not legal(request, sizes):
        return Carried(completion(request.tag, ILLEGAL), [], [])
    place, size = request.idx_address, request.count * request.idx_bytes
    memory = device if request.on_card else host
    unread = size and place >= len(memory)
    array = np.zeros(0, "<u4") if unread else memory[place : place + size]
    idxs = array.view(f"<u{request.idx_bytes}").tolist()
    if unread:
        idxs = [(1 << sizes.idx_bits) - 1] * request.count
    found, reads, beyond, failed, cause = [], idx_reads(request, largest), 0, 0, NONE
    cause = UNSUPPORTED if unread else NONE
    for idx in idxs:
        wanted = row_reads(request, idx, largest)
        reads += wanted
        gone = next((at for at, _ in wanted if at >= len(host)), None)
        if gone is not None and not cause:
            cause = UNSUPPORTED
        first = request.base + idx * request.stride
        row = bytes(request.row_bytes)
        if idx >= request.rows:
            beyond += 1
        elif gone is None:
            row = host[first : first + request.row_bytes].tobytes()
        else:
            there = max(0, gone - first)
            row = (host[first : first + there].tobytes() + row)[: request.row_bytes]
            failed += 1
        found.append((row, idx >= request.rows or gone is not None))
    if not request.streamed:
        content = b"".join(row for row, _ in found)
        end = request.destination + len(content)
        device[request.destination : end] = np.frombuffer(content, np.uint8)
    outcome = IDXS if unread else ROWS if failed else DONE
    return Carried(completion(request.tag, outcome, cause, beyond, failed), found, reads)


def completion(tag, outcome, cause=NONE, beyond=0, failed=0):
    """Return the bytes of a completion."""
    return (
        tag.to_bytes(2, "little")
        + bytes([outcome | cause << 4, 0])
        + beyond.to_bytes(4, "little")
        + failed.to_bytes(4, "little")
        + bytes([0, 0, 0, 0x80])
    )


DESCRIPTOR_BYTES = 64
FIELDS = {  # of a descriptor, by "A ring of work requests": the first byte and how many
    "idx_address": (0, 8),
    "base": (8, 8),
    "destination": (16, 8),
    "completion": (24, 8),
    "count": (32, 4),
    "rows": (36, 4),
    "stride": (40, 4),
    "row_bytes": (44, 2),
    "tag": (46, 2),
    "order": (48, 1),
    "wide": (49, 1),
    "on_card": (50, 1),
    "streamed": (51, 1),
    "coalesce": (52, 1),
}


def descriptor(request):
    """The bytes of a request in a ring."""
    octets = bytearray(DESCRIPTOR_BYTES)
    for name, (first, size) in FIELDS.items():
        octets[first : first + size] = getattr(request, name).to_bytes(size, "little")
    return bytes(octets)


def ring_writes(registers, address, places):
    """The accesses that let the engine read a ring."""
    accesses = registers.write(request_producer=0)
    accesses += registers.halves(request_ring_address=address)
    return accesses + registers.write(request_ring=1, request_ring_size=places.bit_length() - 1)


def submit_writes(registers, request):
    """Return the accesses of step 5, (address, word), by the tables of registers."""
    wide = ("idx_address", "base", "destination", "completion")
    fields = {name: value for name, value in vars(request).items() if name not in wide}
    accesses = registers.halves(**{name: getattr(request, name) for name in wide})
    return accesses + registers.write(**fields) + registers.command("submit")
