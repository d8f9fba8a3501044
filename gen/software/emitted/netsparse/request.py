"""Describes a work request of a SNIC, and what carries requests out."""

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
    wide: bool  #: idxs have 8 bytes, or else 4
    property_address: int  #: of the property of idx 0
    property_bytes: int
    watchdog: int  #: cycles without progress after which it is given up


class Submission(Protocol):
    """Is a way by which requests come to a SNIC and completions back."""

    def carry_out(self, requests: Sequence[Request], seconds: float) -> dict[int, str]:
        """Carry requests out whose tags differ; return the names of their causes by tag.

        :class:`DeviceError` if they do not end within ``seconds``, or otherwise than they may.
        """
        ...
