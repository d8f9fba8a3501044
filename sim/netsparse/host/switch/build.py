"""Describes one generated switch, as its host must know it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Build:
    """Holds what a switch was built with."""

    fixed: Mapping[str, int]  #: what the fields read that never change, such as ``identity``
    most_delay: int  #: most cycles that a PR may wait for others
    most_cached_bytes: int  #: bytes of the largest property that a cache holds
    port_counters: Mapping[str, str]  #: what each counter of a port counts, in their numbers' order
    pipe_counters: Mapping[str, str]  #: the same of a middle pipe
    #: address, first bit, bits of the card's fields; empty if it is not on a card
    board: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    faults: tuple[str, ...]  #: names of the counters that tell of a fault
