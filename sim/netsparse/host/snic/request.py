"""Describes work requests of a SNIC, how they end, and an interface that hands them over."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


@dataclass(frozen=True, kw_only=True)
class Request:
    """Asks a unit for the properties of ``count`` idxs; addresses are those of host memory."""

    unit: int
    tag: int
    idx_address: int
    count: int
    wide: bool = False  #: whether idxs have 8 bytes, not 4
    property_address: int  #: address of the property of idx 0
    property_bytes: int
    watchdog: int = 0  #: cycles without progress after which it is given up; 0: never


class Completion(NamedTuple):
    """Reports the end of a request."""

    unit: int  #: that carried it out; none has this number if the request could not be read
    tag: int
    cause: str  #: name of how it ended: ``DONE``, or why it failed


class Submission(Protocol):
    """Describes how requests are handed to a SNIC and their completions are read."""

    def submit(self, requests: Sequence[Request]) -> int:
        """Hand over the first requests, as many as there is room for; return how many."""
        ...

    def completions(self) -> list[Completion]:
        """Return completions that have come since the last call, at once."""
        ...

    def acknowledge(self) -> None:
        """Tell the SNIC that all completions that have come were read."""
        ...

    def check(self) -> None:
        """Raise :class:`DeviceError` if the SNIC has stopped to read requests or to end them."""
        ...

    def close(self, seconds: float) -> None:
        """Give up what the requests were handed over by; no request may be under way."""
        ...
