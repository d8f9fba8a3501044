"""Makes the paper's plan: blocks of vertices, then of the edges between them (section 3.3)."""

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.planning.cut import CutGraph
from sim.switchgnn.planning.plan import Plan
from sim.switchgnn.planning.saved import refuse
from sim.workloads.metis import parts_within

Ints = NDArray[np.int64]


def multilevel_plan(cut: CutGraph, aggregators: int, seed: int = 1) -> Plan:
    """Plan by multi-level graph partitioning for K aggregators.

    Of each level, METIS divides the vertices that have edges left into parts of at most K. Edges
    within a part are done; small parts are packed into blocks, first-fit decreasing. Edges between
    parts are the next level, until its vertices fit one block. UserError for K below 2.
    """
    refuse(aggregators < 2, f"a block needs at least 2 aggregators, not {aggregators}")
    block = np.full(cut.edges, -1, np.int32)
    levels: list[int] = []
    left = np.arange(cut.edges)
    depth = 0
    while left.size:
        depth += 1
        placed = _level(cut, left, aggregators, seed)
        done = placed >= 0
        block[left[done]] = placed[done] + len(levels)
        levels += [depth] * (int(placed.max()) + 1)
        left = left[~done]
    return Plan(
        kind="multi-level",
        aggregators=aggregators,
        block=block,
        level=np.array(levels, np.int32),
    )


def _level(cut: CutGraph, edges: Ints, most: int, seed: int) -> NDArray[np.int32]:
    """Return the block of each of ``edges``, -1 for those that are left to the next level."""
    sources, destinations = cut.sources[edges], cut.destinations[edges]
    vertices = np.unique(np.concatenate([sources, destinations]))
    if vertices.size <= most:
        return np.zeros(edges.size, np.int32)
    graph = cut.undirected(edges)[vertices][:, vertices]
    part = np.zeros(cut.n, np.int32)
    part[vertices] = parts_within(graph, most, seed)
    inside = part[sources] == part[destinations]
    if not inside.any():  # no part has an edge: one edge at least is done
        inside[0] = True
        part[destinations[0]] = part[sources[0]] = part.max() + 1
        inside = part[sources] == part[destinations]
    active = np.unique(np.concatenate([sources[inside], destinations[inside]]))
    bins = first_fit_decreasing(np.bincount(part[active], minlength=part.max() + 1), most)
    return np.where(inside, bins[part[sources]], -1).astype(np.int32)


def first_fit_decreasing(sizes: Ints, most: int) -> NDArray[np.int32]:
    """Return the bin of each size, none with a sum over ``most``; -1 for sizes of zero."""
    bins = np.full(sizes.size, -1, np.int32)
    room = np.full(sizes.size, most)
    for item in np.argsort(-sizes, kind="stable"):
        if not sizes[item]:
            break
        bins[item] = np.argmax(room >= sizes[item])
        room[bins[item]] -= sizes[item]
    return bins
