"""Describes one generated forwarding switch, as its host must know it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Build:
    """Holds what a switch was built with."""

    fixed: Mapping[str, int]  #: what the fields read that never change, such as ``identity``
    counters: tuple[str, ...]  #: names of a port's counters, in their numbers' order
    operations: Mapping[str, int]  #: what can be done with the table: ``table_operation`` by name
    #: address, first bit, bits of the card's fields; empty if it is not on a card
    board: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
