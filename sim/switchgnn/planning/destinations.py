"""Makes the default plan: blocks of destinations, each with all edges into them."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen.base.errors import UserError
from sim.switchgnn.planning.cut import CutGraph
from sim.switchgnn.planning.plan import Plan
from sim.switchgnn.planning.saved import refuse, starts
from sim.workloads.hypergraphs import parts_of
from sim.workloads.metis import metis, moved_to_room

PARTITIONERS = ("metis", "mtkahypar")
Ints = NDArray[Any]


def destination_plan(
    cut: CutGraph, aggregators: int, seed: int = 1, partitioner: str = "metis"
) -> Plan:
    """Divide destinations into blocks of at most K; sources go to each block with a neighbour.

    There are ceil(destinations / K) blocks. Their sends, the sum over sources of the blocks with a
    neighbour, are kept low: METIS divides the cut graph, or Mt-KaHyPar (package mtkahypar) the
    hypergraph whose nets are the sources' neighbourhoods. UserError for K below 2.
    """
    refuse(aggregators < 2, f"a block needs at least 2 aggregators, not {aggregators}")
    targets, target = np.unique(cut.destinations, return_inverse=True)
    parts = -(-targets.size // aggregators)
    if parts == 1:
        part = np.zeros(targets.size, np.int32)
    elif partitioner == "metis":
        part = _by_metis(cut, targets, parts, aggregators, seed)
    elif partitioner == "mtkahypar":
        part = _by_hypergraph(cut, target, targets.size, parts, aggregators, seed)
    else:
        raise UserError(f"partitioners are {', '.join(PARTITIONERS)}, not {partitioner}")
    _, part = np.unique(part, return_inverse=True)
    return Plan(
        kind=f"destinations, {partitioner}",
        aggregators=aggregators,
        block=part[target].astype(np.int32),
        level=np.ones(int(part.max()) + 1, np.int32),
    )


def _by_metis(cut: CutGraph, targets: Ints, parts: int, most: int, seed: int) -> Ints:
    """Divide the targets so that few edges are cut; what is over K moves to parts with room."""
    graph = cut.undirected()
    if targets.size == cut.n:
        part = metis(graph, parts, seed)
    else:  # vertices that only send take no room
        weights = np.zeros(cut.n, np.int32)
        weights[targets] = 1
        part = metis(graph, parts, seed, weights)[targets]
        graph = graph[targets][:, targets]
    return moved_to_room(graph, part, most)


def _by_hypergraph(
    cut: CutGraph, target: Ints, targets: int, parts: int, most: int, seed: int
) -> Ints:
    """Divide the targets by Mt-KaHyPar, which counts what is sent: a net for each source."""
    first = starts(np.bincount(cut.sources, minlength=cut.n))
    nets = [target[low:high].tolist() for low, high in pairwise(first.tolist()) if high - low > 1]
    return parts_of(nets, targets, parts, seed, most=most)
