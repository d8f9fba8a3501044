"""Describes one generated gather engine, as its host must know it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Build:
    """Holds what an engine was built with."""

    fixed: Mapping[str, int]  #: what the fields read that never change, such as ``identity``
    most_row_bytes: int  #: of a row
    completion: Mapping[str, tuple[int, int]]  #: first bit and bits of each field, by its name
    descriptor: Mapping[str, tuple[int, int]]  #: the same of a request in a ring
    outcomes: Mapping[int, str]  #: names of the ways in which a request ends
    causes: Mapping[int, str]  #: names of why a read has failed
    faults: Mapping[int, str]  #: why a ring of requests has stopped, by their numbers
    why: Mapping[str, str]  #: what an outcome or a cause means, by its name
    orders: tuple[str, ...]  #: names of the orders of reads, by their numbers
    counters: tuple[str, ...]  #: names of the counters, by their numbers
