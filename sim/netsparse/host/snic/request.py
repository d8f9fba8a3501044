"""Describes a work request of a SNIC, and an interface that carries requests out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Request:
    """Asks a unit for the properties of ``count`` idxs; addresses are those of host memory."""

    unit: int
    tag: int
    idx_address: int
    count: int
    wide: bool  #: whether idxs have 8 bytes, not 4
    property_address: int  #: address of the property of idx 0
    property_bytes: int
    watchdog: int  #: cycles without progress after which it is given up


class Submission(Protocol):
    """Describes how requests are handed to a SNIC and their completions are read."""

    def carry_out(self, requests: Sequence[Request], seconds: float) -> dict[int, str]:
        """Carry out requests, whose tags must differ; return the name of each one's cause, by tag.

        Raises :class:`DeviceError` if no completion comes for ``seconds``, if one comes for a
        request that is not under way, or if the SNIC refuses a request.
        """
        ...
