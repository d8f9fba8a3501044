"""Describes one generated worker, as its host must know it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sim.p4sgd.host.capacity import geometry_of
from sim.workloads.layout import Geometry


@dataclass(frozen=True, kw_only=True)
class Build:
    """Holds what a worker was built with, and where a host finds its memories.

    Addresses are those of DMA, in bytes. They are the ones of the Alveo U280's top; for a top of
    your own, give :func:`dataclasses.replace` your addresses.
    """

    fixed: Mapping[str, int]  #: what the fields read that never change, such as ``identity``
    losses: Mapping[str, int]  #: value of the field ``loss``, by the loss's name
    causes: Mapping[str, str]  #: why a run stopped, by the name of ``cause``
    counters: tuple[str, ...]  #: names of the counters
    words: tuple[int, ...]  #: address of the memory at each port of words, engine by engine
    labels: int  #: address of the memory at the port of labels
    model: int  #: address of the weights
    engine_stride: int  #: bytes from an engine's weights to the next engine's
    chunk_stride: int  #: bytes from a chunk's weights to the next chunk's
    #: where labels end in their memory, if words are there too; 0: they begin there at 0
    labels_end: int = 0
    #: address, first bit and bits of the card's fields; empty if it is not on a card
    board: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)

    @property
    def geometry(self) -> Geometry:
        """Return how features and samples are shared out in this build."""
        return geometry_of(self.fixed)

    def shape(self, count: int) -> tuple[int, ...]:
        """Return the shape of a number for each of ``count`` samples or features, and class."""
        classes = self.fixed["classes"]
        return (classes, count) if classes > 1 else (count,)
