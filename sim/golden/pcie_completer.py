"""Says how registers behind a BAR answer a host's requests over PCI Express.

After the PCI Express base specification 3.1, 2.2.9 (completions: byte count and lower address),
2.3.1 (a request that is not supported is answered with UR if it is not posted, and dropped if it
is) and 2.3.1.1, and AMD's PG213, "Completer Request Descriptor Formats". Registers are dwords.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from sim.golden.pcie_requester import DWORD, Status


class Kind(IntEnum):
    """Names what a request asks for, as the block does (PG213, "Transaction Types")."""

    MEMORY_READ = 0
    MEMORY_WRITE = 1
    IO_READ = 2
    IO_WRITE = 3
    FETCH_ADD = 4
    SWAP = 5
    COMPARE_SWAP = 6
    LOCKED_READ = 7
    MESSAGE = 12
    VENDOR_MESSAGE = 13
    ATS_MESSAGE = 14


POSTED = {Kind.MEMORY_WRITE, Kind.MESSAGE, Kind.VENDOR_MESSAGE, Kind.ATS_MESSAGE}


@dataclass(frozen=True)
class Request:
    """Describes a request of the host."""

    kind: Kind
    address: int  #: address of the first dword, in bytes from the start of the BAR
    dwords: int
    enables: tuple[int, int]  #: byte enables of the first and of the last dword
    data: tuple[int, ...] = ()  #: dwords of a write
    bar: int = 0
    discontinued: bool = False  #: whether the block lost data of it

    @property
    def posted(self) -> bool:
        """Return whether nobody waits for an answer."""
        return self.kind in POSTED

    def places(self) -> list[int]:
        """Return the places of all bytes that are asked for, counted from the first dword on."""
        masks = [self.enables[0], *[0xF] * (self.dwords - 2), self.enables[1]][: self.dwords]
        return [
            DWORD * k + place
            for k, mask in enumerate(masks)
            for place in range(4)
            if mask >> place & 1
        ]


@dataclass(frozen=True)
class Answer:
    """Describes the completion that answers a request."""

    status: Status
    count: int  #: bytes from the first that was asked for to the last
    lower_address: int
    data: tuple[int | None, ...] = ()  #: dwords; None where nothing was asked for


@dataclass
class Registers:
    """Models registers of a dword behind a BAR, which may refuse accesses."""

    bar: int
    words: dict[int, int]  #: values by address; others refuse
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(EVENTS, 0))

    def take(self, request: Request) -> Answer | None:
        """Carry ``request`` out, and return what is answered, None if nothing is."""
        count, lower = DWORD, 0
        if request.kind in (Kind.MEMORY_READ, Kind.LOCKED_READ):
            places = request.places()
            count = places[-1] - places[0] + 1 if places else 1
            lower = (request.address + (places[0] if places else 0)) % 128
        refusal = None if request.posted else Answer(Status.UNSUPPORTED, count, lower)
        if (
            request.kind not in (Kind.MEMORY_READ, Kind.MEMORY_WRITE)
            or request.bar != self.bar
            or request.dwords not in (1, 2)
        ):
            self.counts["unsupported"] += 1
            return refusal
        expected = request.dwords if request.kind == Kind.MEMORY_WRITE else 0
        if request.discontinued or len(request.data) != expected:
            self.counts["malformed"] += 1
            return refusal
        answers = [
            self.access(request, k, mask)
            for k, mask in enumerate(request.enables[: request.dwords])
        ]
        if any(result is False for result in answers):  # not 0, which is equal to it
            self.counts["refused"] += 1
            return None if request.posted else Answer(Status.ABORTED, count, lower)
        return None if request.posted else Answer(Status.SUCCESS, count, lower, tuple(answers))

    def access(self, request: Request, k: int, mask: int) -> int | bool | None:
        """Read or write a dword: return what it is, False if it refuses, None if nothing is asked
        for.
        """
        at = request.address + DWORD * k
        if not mask:
            return None
        if at not in self.words:
            return False
        if request.kind == Kind.MEMORY_WRITE:
            lanes = sum(0xFF << 8 * place for place in range(4) if mask >> place & 1)
            self.words[at] = (self.words[at] & ~lanes) | (request.data[k] & lanes)
            return None
        return self.words[at]


EVENTS = ("unsupported", "malformed", "refused")  #: what is counted
