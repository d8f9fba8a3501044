"""What others send for the same sums: hosts alone, multicast alone, the paper's strawman."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sim.switchgnn.evaluation.frames import Traffic, counted
from sim.switchgnn.planning.cut import CutGraph

Ints = NDArray[np.int64]


def full_graph(cut: CutGraph) -> Traffic:
    """BNS-GCN with p = 1: every feature to each worker with a neighbour, by hosts.

    G3 balances the same traffic; it is held to ``Traffic.mean`` of this, its mean port.
    """
    source, receiver = np.divmod(cut.copies, cut.workers)
    return _copied(cut, sent=cut.worker[source], received=receiver)


def raw_multicast(cut: CutGraph) -> Traffic:
    """Every feature once to the switch, which copies it to each worker with a neighbour."""
    return _copied(cut, sent=_senders(cut), received=cut.copies % cut.workers)


def strawman(cut: CutGraph, aggregators: int, seed: int = 1) -> Traffic:
    """The paper's strawman (section 2.3.2): random order, aggregators for those who come first.

    An aggregator is taken by a destination's first feature that finds one free, and is free again
    when the last has come. Features for destinations that have none go on, once to each worker.
    """
    sources = np.random.default_rng(seed).permutation(np.unique(cut.sources))
    shape = (cut.n, cut.n)
    graph = csr_array((np.ones(cut.edges, np.int8), (cut.sources, cut.destinations)), shape)
    missing = cut.in_degrees.copy()
    holds = np.zeros(cut.n, bool)
    free = aggregators
    results = np.zeros(cut.workers, np.int64)
    raws = np.zeros(cut.workers, np.int64)
    for source in sources.tolist():
        near = graph.indices[graph.indptr[source] : graph.indptr[source + 1]]
        wanting = near[~holds[near]]
        holds[wanting[:free]] = True
        raws[np.unique(cut.worker[wanting[free:]])] += 1
        free = max(free - wanting.size, 0)
        missing[near] -= 1
        complete = near[holds[near] & (missing[near] == 0)]
        results += np.bincount(cut.worker[complete], minlength=cut.workers)
        free += complete.size
    return Traffic(
        features=_of_workers(cut, _senders(cut)),
        partials=np.zeros((1, cut.workers), np.int64),
        raws=raws[None],
        results=results[None],
    )


def _senders(cut: CutGraph) -> NDArray[np.int32]:
    return cut.worker[np.unique(cut.sources)]


def _of_workers(cut: CutGraph, workers: NDArray[np.integer]) -> Ints:
    return counted(np.zeros(workers.size, np.int64), workers, (1, cut.workers))


def _copied(cut: CutGraph, sent: NDArray[np.integer], received: NDArray[np.integer]) -> Traffic:
    nothing = np.zeros((1, cut.workers), np.int64)
    return Traffic(
        features=_of_workers(cut, sent),
        partials=nothing,
        raws=_of_workers(cut, received),
        results=nothing,
    )
