"""Describes one generated switch, as its host must know it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Build:
    """Holds what a switch was built with."""

    fixed: Mapping[str, int]  #: what the fields read that never change, such as ``identity``
    verdicts: Mapping[str, int]  #: what becomes of a frame: value of ``counter_verdict``, by name
    port_counters: tuple[str, ...]  #: names of the counters of a port
    reasons: Mapping[str, str]  #: why a command had no effect, by the name of ``reason``
    queued: int = 0  #: answers that can wait at a port, where the host's tests need to know
    #: address, first bit, bits of the card's fields; empty if it is not on a card
    board: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    tenant_counters: tuple[str, ...] = ()  #: names of a job's counters, in their numbers' order
    control_counters: tuple[str, ...] = ()  #: the same of the commands that come by a port
    total_counters: tuple[str, ...] = ()  #: names of the switch's own counters, where numbered
    errors: Mapping[str, str] = field(default_factory=dict)  #: of tables: what each cause means
    memory: tuple[int, int] = (0, 0)  #: bytes of memory behind each port of tables, and of a beat
