"""Says what a requester of reads on PCI Express asks for, and what it may be answered.

After the PCI Express base specification 3.1, 2.2.5 (byte enables), 2.2.7 (no request crosses a
multiple of 4 KB) and 2.3.1.1 (completions of a read), and AMD's PG213, "Handling of Completion
Errors". Addresses and sizes are in bytes; a read begins at a dword.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum

PAGE = 4096  #: no request crosses a multiple of it
DWORD = 4
READ_SIZES = PAYLOAD_SIZES = (128, 256, 512, 1024, 2048, 4096)
BOUNDARIES = (64, 128)  #: read completion boundaries


class Cause(IntEnum):
    """Says why a read has failed; 0 if it has not."""

    NONE = 0
    POISONED = 1  #: the completer marked its data as wrong
    UNSUPPORTED = 2  #: status UR: nobody answers for that address
    ABORTED = 3  #: status CA
    LENGTH = 4  #: more or fewer bytes than were to come
    MISMATCH = 5  #: requester, class or attributes of another request
    ADDRESS = 6  #: bytes of another place than the next
    TIMEOUT = 7  #: not answered, or not to the end
    RESET = 8  #: the function was reset meanwhile
    CORRUPT = 9  #: the block lost the data to an error of its memory
    STOPPED = 10  #: the requester was stopped meanwhile


class Code(IntEnum):
    """Names the error codes of the block (PG213, Requester Completion Descriptor Fields)."""

    GOOD = 0
    POISONED = 1
    BAD_STATUS = 2
    LENGTH = 3
    MISMATCH = 4
    ADDRESS = 5
    INVALID_TAG = 6
    FLR = 8
    TIMEOUT = 9


class Status(IntEnum):
    """Names the statuses of completions."""

    SUCCESS = 0
    UNSUPPORTED = 1
    RETRY = 2  #: not allowed for memory
    ABORTED = 4


@dataclass(frozen=True)
class Read:
    """Describes a read as it goes onto the link."""

    address: int
    size: int

    def __post_init__(self) -> None:
        if self.address % DWORD or not 1 <= self.size <= PAGE - self.address % PAGE:
            raise ValueError(f"a read begins at a dword and stays in 4 KB: {self}")

    @property
    def end(self) -> int:
        """Return the address behind the last byte."""
        return self.address + self.size

    @property
    def dwords(self) -> int:
        """Return how many dwords are touched."""
        return -(-self.size // DWORD)

    @property
    def byte_enables(self) -> tuple[int, int]:
        """Return those of the first and of the last dword; the last are 0 if there is one dword."""
        last = (1 << (self.size - 1) % DWORD + 1) - 1
        return (last, 0) if self.dwords == 1 else (0xF, last)


def cut(address: int, size: int, most: int) -> list[Read]:
    """Return the reads of at most ``most`` bytes that bring ``size`` bytes from ``address`` on.

    They are cut where an address is a multiple of ``most``, so never across 4 KB, and so that all
    completions but the outer ones can be of the largest payload.
    """
    if most not in READ_SIZES:
        raise ValueError(f"the largest read must be one of {READ_SIZES}: {most}")
    borders = range(address - address % most + most, address + size, most)
    starts = [address, *borders]
    return [Read(a, b - a) for a, b in zip(starts, [*borders, address + size], strict=True)]


@dataclass(frozen=True)
class Completion:
    """Describes an answer to a read or a part of it, as the block hands it on."""

    address: int  #: address of its first byte; the block gives the lowest 12 bits
    remaining: int  #: bytes that are to come from here on, those of this completion included
    dwords: int  #: dwords of data
    completed: bool  #: the block expects no more for this read
    code: Code = Code.GOOD
    status: Status = Status.SUCCESS
    poisoned: bool = False
    discontinued: bool = False  #: the block lost data of it


def split(read: Read, ends: list[int]) -> list[Completion]:
    """Return the completions of ``read`` that end at addresses ``ends`` and at its own end."""
    starts, done = [read.address, *ends], [*ends, read.end]
    return [
        Completion(a, read.end - a, -(-(b - a) // DWORD), completed=b == read.end)
        for a, b in zip(starts, done, strict=True)
    ]


def next_ends(read: Read, at: int, payload: int, boundary: int) -> list[int]:
    """Return where a completion from ``at`` on may end: at a boundary, or with the read."""
    most = min(read.end, at + payload)
    borders = range(at - at % boundary + boundary, most + 1, boundary)
    ends = [border for border in borders if border < read.end]
    return ends + [read.end] * (most == read.end)


def all_splits(read: Read, payload: int, boundary: int) -> Iterator[list[Completion]]:
    """Yield every legal answer to ``read``: its completions in the order of addresses."""

    def go_on(ends: list[int]) -> Iterator[list[Completion]]:
        at = ends[-1] if ends else read.address
        for end in next_ends(read, at, payload, boundary):
            if end == read.end:
                yield split(read, ends)
            else:
                yield from go_on([*ends, end])

    yield from go_on([])


def some_split(
    read: Read, payload: int, boundary: int, choose: Callable[[list[int]], int]
) -> list[Completion]:
    """Return a legal answer to ``read``; ``choose`` picks where each completion ends."""
    ends: list[int] = []
    while (end := choose(next_ends(read, (ends or [read.address])[-1], payload, boundary))) < (
        read.end
    ):
        ends.append(end)
    return split(read, ends)


CAUSES = {
    Code.POISONED: Cause.POISONED,
    Code.LENGTH: Cause.LENGTH,
    Code.MISMATCH: Cause.MISMATCH,
    Code.ADDRESS: Cause.ADDRESS,
    Code.FLR: Cause.RESET,
    Code.TIMEOUT: Cause.TIMEOUT,
}


def judge(read: Read, received: int, completion: Completion) -> Cause:
    """Return what is wrong with the next completion of ``read``, of which some bytes are there."""
    expected = read.address + received
    provided = min(DWORD * completion.dwords, completion.remaining)
    if completion.code == Code.BAD_STATUS:
        aborted = completion.status == Status.ABORTED
        return Cause.ABORTED if aborted else Cause.UNSUPPORTED
    if completion.code != Code.GOOD:
        return CAUSES.get(completion.code, Cause.MISMATCH)
    if completion.poisoned:
        return Cause.POISONED
    if completion.address % PAGE != expected % PAGE:
        return Cause.ADDRESS
    if completion.remaining != read.end - expected or not completion.dwords:
        return Cause.LENGTH
    if DWORD * completion.dwords >= completion.remaining + DWORD:
        return Cause.LENGTH
    if completion.completed != (provided == completion.remaining):
        return Cause.LENGTH
    return Cause.CORRUPT if completion.discontinued else Cause.NONE


@dataclass
class Outstanding:
    """Tracks a read that is under way: what has come of it, and how it has failed.

    The first error decides its cause, and nothing that comes later is taken. Its tag is free when
    the block says that it expects no more, and never before.
    """

    read: Read
    received: int = 0  #: bytes that have come, from the first on
    cause: Cause = Cause.NONE
    ended: bool = field(default=False)  #: whether the tag is free
    timed_out: bool = field(default=False)  #: whether later completions are thrown away

    def take(self, completion: Completion) -> bool:
        """Take the next completion; return whether its data is the read's."""
        if self.ended:
            raise ValueError("no completion may come for a tag that is free")
        if completion.code == Code.INVALID_TAG:  # it is of no read
            return False
        self.ended = completion.completed
        if self.cause == Cause.NONE:
            self.cause = judge(self.read, self.received, completion)
            if self.cause == Cause.NONE:
                self.received += min(DWORD * completion.dwords, completion.remaining)
        return self.cause == Cause.NONE

    def abandon(self, cause: Cause) -> None:
        """Give the read up for ``cause``: completions that still come are thrown away."""
        self.cause, self.timed_out = cause, True


@dataclass(frozen=True)
class Turn:
    """Describes a read whose data is handed on, ``place`` bytes into its request."""

    read: Read
    place: int
    request: int  #: number of the request
    cause: Cause  #: why its data is invalid, or NONE
    last: bool  #: whether it is the last of the request, or, out of order, of the read


def in_order(requests: list[list[Outstanding]]) -> list[Turn]:
    """Return the turns of reads that are handed on in the order of ``requests``.

    A failed read also invalidates all later reads of its request.
    """
    turns: list[Turn] = []
    for number, reads in enumerate(requests):
        cause = Cause.NONE
        for item in reads:
            cause = cause or item.cause
            place = item.read.address - reads[0].read.address
            turns.append(Turn(item.read, place, number, cause, item is reads[-1]))
    return turns


def as_they_complete(
    requests: list[list[Outstanding]], ended: list[Outstanding]
) -> tuple[list[Turn], list[Turn]]:
    """Return the turns of reads that are handed on in the order in which they have ``ended``.

    Reads that were given up are in the second list, as the time at which they are handed on is
    open. A failure invalidates its read alone.
    """
    known = {
        id(item): Turn(
            item.read, item.read.address - reads[0].read.address, number, item.cause, True
        )
        for number, reads in enumerate(requests)
        for item in reads
    }
    timed_out = [known[id(item)] for reads in requests for item in reads if item.timed_out]
    return [known[id(item)] for item in ended if not item.timed_out], timed_out
