"""Bounds the time that nodes compute a sparse product, by the bandwidth of their memories.

A sparse times dense product (SpMM) does few operations for each byte, so memory bounds it. A
nonzero is 8 bytes, its idx and its value; an element of the dense matrices is 4. The truth lies
between two bounds: a row of the dense matrix comes from memory once for a node (*once*), or for
each nonzero anew (*each time*). A row of the result goes to memory once.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np

from sim.netsparse.reproduce.subjects import Subject

NONZERO_BYTES, ELEMENT_BYTES = 8, 4


class Reuse(StrEnum):
    """Names how often a row of the dense matrix comes from memory."""

    ONCE = "once"
    EACH = "each time"


@dataclass(frozen=True)
class Computer:
    """Describes what computes in a node, by what the paper says of it."""

    name: str
    gigabytes: float  #: that its memory brings in a second
    figure: str
    #: mean speed-ups of 128 nodes over one: SUOpt, SAOpt, NetSparse, and of an ideal network
    papers: tuple[float, ...]


#: Tables 5, sections 9.1 and 9.6. The CPUs' bandwidths are those of table 5's DDR and HBM.
COMPUTERS = (
    Computer("SPADE", 800, "figure 13", (0.7, 3, 38, 72)),
    Computer("CPU, DDR", 270, "figure 21", (2.6, 13, 53)),
    Computer("CPU, HBM", 800, "figure 21", (1.4, 7, 42)),
)


@dataclass(frozen=True)
class Work:
    """Holds the bytes that a product moves on one node alone, and on the slowest of all."""

    alone: int
    slowest: int


@cache
def work(subject: Subject, elements: int, reuse: Reuse) -> Work:
    """Return the bytes of a product with K ``elements`` in a row of the dense matrices."""
    partition, row = subject.partition, ELEMENT_BYTES * elements
    nodes = []
    for node in range(subject.nodes):
        idxs = partition.idx_stream(subject.matrix, node)
        own = partition.boundaries[node + 1] - partition.boundaries[node]
        brought = np.unique(idxs).size if reuse is Reuse.ONCE else idxs.size
        nodes.append(NONZERO_BYTES * idxs.size + row * (brought + own))
    nonzeros, rows = subject.matrix.indices.size, subject.rows
    used = np.unique(subject.matrix.indices).size if reuse is Reuse.ONCE else nonzeros
    alone = NONZERO_BYTES * nonzeros + row * (used + rows)
    return Work(int(alone), int(max(nodes)))
