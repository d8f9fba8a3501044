"""Describes one generated endpoint, as its host must know it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Places = Mapping[str, tuple[int, int]]  #: first bit and bits of each field of a record, by name


class Region(NamedTuple):
    """Describes the memory behind a port: address for DMA, address at the port, size in bytes."""

    dma: int
    address: int
    size: int


@dataclass(frozen=True, kw_only=True)
class Build:
    """Holds what an endpoint was built with, and where a host finds its memories.

    Addresses are in bytes, and are those of the top for the Alveo U280. For a top of your own,
    replace ``regions`` by means of :func:`dataclasses.replace`.
    """

    fixed: Mapping[str, int]  #: values of fields that never change, such as ``identity``
    alignment: int  #: every address in a record is a multiple of this many bytes
    records: Mapping[str, tuple[int, Places]]  #: bytes and fields of turn, send and source records
    kinds: Mapping[str, int]  #: numbers of FEATURE and PARTIAL in a send record
    payload_bytes: Mapping[str, int]  #: bytes of a payload in memory, by the name of its kind
    regions: Mapping[str, tuple[int, int, int]]  #: fields of Region, by the name of the port
    causes: Mapping[str, str]  #: why a job failed, by the name of ``cause``
    counters: tuple[str, ...]  #: names of the counters, in the order of their numbers
    #: address, first bit and bits of the card's fields
    board: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)

    def region(self, name: str) -> Region:
        """Return the memory behind the port of ``tables``, ``features`` or ``sums``."""
        return Region(*self.regions[name])

    def record(self, name: str, **fields: int) -> bytes:
        """Return a record of this name as bytes of memory; fields not named are 0."""
        size, places = self.records[name]
        number = sum(value << places[field][0] for field, value in fields.items())
        return number.to_bytes(size, "little")
