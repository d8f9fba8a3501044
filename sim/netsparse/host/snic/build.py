"""Describes one generated SNIC, as its host must know it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Build:
    """Holds what a SNIC was built with."""

    fixed: Mapping[str, int]  #: what the fields read that never change, such as ``identity``
    address_bits: int  #: of an address of host memory
    queue: int  #: requests that a unit has room for at a time
    causes: Mapping[str, str]  #: why a request ended so, by the name of ``completion_cause``
    cause_names: Mapping[int, str]  #: names of causes, by their numbers in a completion
    faults: Mapping[str, str]  #: why a ring stopped, by the name of ``..._ring_fault``
    most_places: int  #: of a ring
    unit_counters: tuple[str, ...]  #: names of a unit's counters, in the order of their numbers
    #: address, first bit, bits of the card's fields; empty if it is not on a card
    board: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    snic_counters: tuple[str, ...]  #: names of the SNIC's counters, likewise
