"""Partitions graphs by METIS: into parts of equal size, or of a largest size."""

import signal
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sim.workloads.files import InputError

SEEDS = 1 << 31  #: METIS' integers
MAX_TRIES = 8  #: most attempts with more parts, before vertices of too large ones are moved

Ints = NDArray[np.int32]


@cache
def _pymetis() -> ModuleType:
    try:
        import pymetis
    except ImportError:
        raise InputError("a partition needs pymetis: pip install 'ingather[graphs]'") from None
    return pymetis


def undirected(adjacency: csr_array) -> csr_array:
    """Return ones for edges in either direction; none from a vertex to itself."""
    both = csr_array(adjacency.astype(bool) + adjacency.T.astype(bool)).tocoo()
    rows, columns = both.coords
    stored = rows != columns
    ones = np.ones(int(stored.sum()), np.int32)
    return csr_array((ones, (rows[stored], columns[stored])), both.shape)


def metis(graph: csr_array, parts: int, seed: int, weights: Ints | None = None) -> Ints:
    """Return the part of each vertex of an undirected graph: ``parts`` of nearly the same size.

    The size of a part is the sum of its vertices' ``weights``, by default one each. METIS cuts
    few edges, by recursive bisection up to 8 parts and k-way above; the same seed gives the same
    parts. InputError for a seed that METIS cannot take, and without pymetis.
    """
    if not 0 <= seed < SEEDS:
        raise InputError(f"the seed of a partition is 0 to {SEEDS - 1}, not {seed}")
    count = graph.indptr.size - 1
    if parts <= 1 or not count:
        return np.zeros(count, np.int32)
    if parts >= count:
        return np.arange(count, dtype=np.int32)
    pymetis = _pymetis()
    csr = pymetis.CSRAdjacency(graph.indptr.astype(np.int32), graph.indices.astype(np.int32))
    options = pymetis.Options(seed=seed)
    _, part = pymetis.part_graph(parts, csr, vweights=weights, options=options)
    # METIS puts the handler of SIGTERM back such that a read begins anew behind it, for ever.
    signal.siginterrupt(signal.SIGTERM, True)
    return np.asarray(part, np.int32)


def parts_within(graph: csr_array, most: int, seed: int, tries: int = MAX_TRIES) -> Ints:
    """Return the part of each vertex, with at most ``most`` vertices in a part.

    There are ceil(vertices / most) parts, and more, as often as ``tries`` says, while one is too
    large. Then vertices of those that still are move to parts with room.
    """
    count = graph.indptr.size - 1
    parts = -(-count // most)
    part = metis(graph, parts, seed)
    for _ in range(tries):
        largest = int(np.bincount(part).max(initial=0))
        if largest <= most:
            return part
        parts = max(parts + 1, parts * largest // most)
        if parts * 2 > count:
            break
        part = metis(graph, parts, seed)
    return moved_to_room(graph, part, most)


def moved_to_room(graph: csr_array, part: Ints, most: int) -> Ints:
    """Move vertices from parts with over ``most`` to parts with room; return the parts.

    A part gives those with the fewest neighbours in it, each to the part with room that has most of
    its neighbours. There are new parts if all are full.
    """
    part = part.copy()
    sizes = np.bincount(part, minlength=-(-part.size // most))
    edges = graph.tocoo()
    same = part[edges.coords[0]] == part[edges.coords[1]]
    inside = np.bincount(edges.coords[0][same], minlength=part.size)
    for large in np.flatnonzero(sizes > most):
        members = np.flatnonzero(part == large)
        provided = members[np.argsort(inside[members], kind="stable")][: sizes[large] - most]
        for vertex in provided:
            near = part[graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]]]
            expected = np.bincount(near, minlength=sizes.size) + 1
            to = int(np.argmax(np.where(sizes < most, expected, 0)))
            part[vertex] = to
            sizes[to] += 1
            sizes[large] -= 1
    return part
