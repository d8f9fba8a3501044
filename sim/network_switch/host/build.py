"""Describes one generated switch for every system, as its host must know it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Build:
    """Holds what a switch was built with."""

    fixed: Mapping[str, int]  #: what the fields read that never change, such as ``identity``
    #: of each part its page of registers, the package that drives it, and the module of its checks
    parts: Mapping[str, tuple[int, str, str]]
    lost: tuple[str, ...]  #: names of the counters of packets that should never be lost
    #: address, first bit, bits of the card's fields; empty if it is not on a card
    board: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
