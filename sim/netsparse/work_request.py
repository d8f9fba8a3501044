"""Says what a host asks of a SNIC, and what it hears when that has ended."""

from dataclasses import dataclass

from hdl.netsparse.rig.params import Cause


@dataclass(frozen=True, kw_only=True)
class WorkRequest:
    """Describes a RIG command: gather the properties of ``count`` idxs (NetSparse, section 5.1)."""

    tag: int
    idx_address: int
    count: int
    idx_bytes: int = 4
    property_address: int  #: address of the property of idx 0
    property_bytes: int
    watchdog: int = 0  #: cycles without progress; 0: never


@dataclass(frozen=True)
class Completion:
    """Reports the end of a work request."""

    unit: int
    tag: int
    cause: Cause
