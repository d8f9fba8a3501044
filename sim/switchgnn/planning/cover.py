"""Finds what racks send each other: for each pair the least set of raw copies and leaf sums.

An edge between two racks is done either by a copy of its source's feature, which the other rack's
switch adds there, or within the sum of all its destination's sources in the rack, which that rack's
switch makes. What covers all edges of a pair with the fewest packets is a least vertex cover of a
bipartite graph; by Koenig's theorem it follows from a maximum matching (Hopcroft and Karp).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_bipartite_matching

from sim.switchgnn.planning.cut import CutGraph
from sim.switchgnn.planning.saved import Bools, Int32s, Saved, refuse

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class RackCover(Saved):
    """Holds the packets between racks: a source's feature, or a destination's sum within a rack."""

    schema = "switchgnn.cover/1"

    racks: int
    sender: Int32s  #: [packets]: the rack that sends it
    receiver: Int32s  #: [packets]
    vertex: Int32s  #: [packets]: of the cut graph
    is_sum: Bools  #: [packets]: whether it is a leaf sum

    def check(self) -> None:
        refuse(
            not self.sender.size == self.receiver.size == self.vertex.size == self.is_sum.size
            or (np.concatenate([self.sender, self.receiver]) >= self.racks).any()
            or (self.sender == self.receiver).any(),
            "the packets between racks do not fit together",
        )

    @property
    def packets(self) -> int:
        """Return the number of packets for each slice."""
        return self.vertex.size


def rack_cover(cut: CutGraph, rack: ArrayLike) -> RackCover:
    """Find the least packets between racks, each pair by itself; ``rack`` is that of each worker.

    UserError if ``rack`` is of another length or has negative numbers.
    """
    of_worker = np.asarray(rack)
    refuse(
        of_worker.shape != (cut.workers,)
        or of_worker.dtype.kind not in "iu"
        or of_worker.min() < 0,
        f"there must be a rack, a number from 0 on, for each of {cut.workers} workers",
    )
    racks = int(of_worker.max()) + 1
    first, second = of_worker[cut.worker[cut.sources]], of_worker[cut.worker[cut.destinations]]
    pair = first.astype(np.int64) * racks + second
    pair[first == second] = -1
    order = np.argsort(pair, kind="stable")
    bounds = np.flatnonzero(np.diff(pair[order], prepend=-1, append=-2))
    result: list[tuple[int, NDArray[np.int32], NDArray[np.int32]]] = []
    for low, high in pairwise(bounds.tolist()):
        edges = order[low:high]
        sources, left = np.unique(cut.sources[edges], return_inverse=True)
        destinations, right = np.unique(cut.destinations[edges], return_inverse=True)
        copied, summed = least_vertex_cover(left, right)
        result.append((int(pair[edges[0]]), sources[copied], destinations[summed]))
    sizes = [(pairs, copied.size, summed.size) for pairs, copied, summed in result]
    pairs = np.repeat([p for p, _, _ in sizes], [c + s for _, c, s in sizes]).astype(np.int64)
    empty = np.empty(0, np.int32)
    return RackCover(
        racks=racks,
        sender=(pairs // racks).astype(np.int32),
        receiver=(pairs % racks).astype(np.int32),
        vertex=np.concatenate([empty, *(part for each in result for part in each[1:])]),
        is_sum=np.concatenate(
            [np.empty(0, bool), *(np.repeat([False, True], [c, s]) for _, c, s in sizes)]
        ),
    )


def least_vertex_cover(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Find the fewest vertices that touch every edge (left, right), numbered from 0 on.

    Returns those of the left and those of the right. Koenig: of the vertices that alternating paths
    reach from unmatched left ones, the right ones; and the left ones that are not reached.
    """
    lefts, rights = int(left.max()) + 1, int(right.max()) + 1
    graph = csr_array((np.ones(left.size, np.int8), (left, right)), (lefts, rights))
    mate = maximum_bipartite_matching(graph, perm_type="row")  # of each right one, or -1
    matched = np.flatnonzero(mate >= 0)
    unmatched = np.setdiff1d(np.arange(lefts), mate[matched])
    # Paths go from left to right by any edge and back by the matching, from a root before all.
    root = lefts + rights
    ways = (
        np.concatenate([left, matched + lefts, np.full(unmatched.size, root)]),
        np.concatenate([right + lefts, mate[matched], unmatched]),
    )
    paths = csr_array((np.ones(ways[0].size, np.int8), ways), (root + 1, root + 1))
    reached = np.zeros(root + 1, bool)
    reached[breadth_first_order(paths, root, return_predecessors=False)] = True
    return np.flatnonzero(~reached[:lefts]), np.flatnonzero(reached[lefts:root])
