"""Finds what is sent in each block, and what the switch adds of it: features, partial sums."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.planning.cut import CutGraph
from sim.switchgnn.planning.plan import Plan
from sim.switchgnn.planning.saved import Bools, Int32s, Saved, refuse

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Senders(Saved):
    """Lists senders, ascending by block; each is a FEATURE or PARTIAL in each slice of its block.

    A FEATURE is of a source and is added to all its destinations in the block. A PARTIAL is the sum
    of a worker's features for one destination. An aggregator is a destination in a block. Both
    sums and features of a vertex are sent by, or come back to, the vertex's worker.
    """

    schema = "switchgnn.senders/1"

    blocks: int
    block: Int32s  #: [senders], ascending
    worker: Int32s  #: [senders]
    vertex: Int32s  #: [senders]: source, or a PARTIAL's destination
    partial: Bools  #: [senders]: whether it is a PARTIAL
    #: [E], in the order of the cut graph: the sender that brings the source's feature
    sender: Int32s
    aggregator: Int32s  #: [E]: the one that the edge ends in
    aggregator_block: Int32s  #: [aggregators], ascending
    aggregator_vertex: Int32s  #: [aggregators], the destination
    aggregator_worker: Int32s  #: [aggregators], the destination's

    def check(self) -> None:
        refuse(
            not self.block.size == self.worker.size == self.vertex.size == self.partial.size
            or self.sender.size != self.aggregator.size
            or not self.aggregators == self.aggregator_vertex.size == self.aggregator_worker.size
            or (np.diff(self.block) < 0).any()
            or (np.diff(self.aggregator_block) < 0).any()
            or not np.bincount(self.sender, minlength=self.count).all()
            or not np.bincount(self.aggregator, minlength=self.aggregators).all()
            or (self.block[self.sender] != self.aggregator_block[self.aggregator]).any()
            or int(self.block.max()) >= self.blocks,
            "the senders, aggregators and edges do not fit together",
        )

    @property
    def count(self) -> int:
        """Return the number of senders: packets of a slice over all blocks."""
        return self.block.size

    @property
    def aggregators(self) -> int:
        """Return the number of aggregators used over all blocks: results of a slice."""
        return self.aggregator_block.size

    @cached_property
    def additions(self) -> tuple[Ints, Ints]:
        """Return each addition's sender and aggregator, ascending; a PARTIAL's edges make one."""
        keys = np.unique(self.sender.astype(np.int64) * self.aggregators + self.aggregator)
        return keys // self.aggregators, keys % self.aggregators

    @cached_property
    def expected(self) -> Ints:
        """Return the number of additions that complete each aggregator: [aggregators]."""
        return np.bincount(self.additions[1], minlength=self.aggregators)


def senders_of(cut: CutGraph, plan: Plan, theta: int = 0) -> Senders:
    """Return senders and aggregators of a plan.

    With ``theta`` of 2 or more a worker that has as many neighbours of a destination in a block
    adds them up itself, and sends one PARTIAL for that destination; 0 is none.
    """
    refuse(theta < 0 or theta == 1, f"theta is 0 or at least 2, not {theta}")
    plan.check_fits(cut)
    block = plan.block.astype(np.int64)
    ends, aggregator = np.unique(block * cut.n + cut.destinations, return_inverse=True)
    worker = cut.worker[cut.sources]
    group = _with_theta(aggregator * cut.workers + worker, theta)
    # A PARTIAL's key lies behind those of all FEATUREs of its block.
    summed = np.where(group, worker * np.int64(cut.n) + cut.destinations + cut.n, cut.sources)
    width = np.int64(cut.n) * (cut.workers + 1)
    keys, sender = np.unique(block * width + summed, return_inverse=True)
    key = keys % width
    partial = key >= cut.n
    vertex = key % cut.n
    return Senders(
        blocks=plan.blocks,
        block=(keys // width).astype(np.int32),
        worker=np.where(partial, key // cut.n - 1, cut.worker[vertex]).astype(np.int32),
        vertex=vertex.astype(np.int32),
        partial=partial,
        sender=sender.astype(np.int32),
        aggregator=aggregator.astype(np.int32),
        aggregator_block=(ends // cut.n).astype(np.int32),
        aggregator_vertex=(ends % cut.n).astype(np.int32),
        aggregator_worker=cut.worker[ends % cut.n],
    )


def _with_theta(groups: Ints, theta: int) -> NDArray[np.bool_]:
    """Return which edges are in a group, a worker's neighbours of an aggregator, of >= theta."""
    if not theta:
        return np.zeros(groups.size, bool)
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return sizes[group] >= theta
