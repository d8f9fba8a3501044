"""Counts what others send for the same sums: hosts alone, multicast alone, the paper's strawman."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.evaluation.frames import Traffic, counted
from sim.switchgnn.planning.cut import CutGraph
from sim.switchgnn.planning.saved import places, starts

Ints = NDArray[np.int64]


def full_graph(cut: CutGraph) -> Traffic:
    """Send every feature by hosts to each worker with a neighbour: BNS-GCN with p = 1.

    G3 balances the same traffic; it is held to ``Traffic.mean`` of this, its mean port.
    """
    source, receiver = np.divmod(cut.copies, cut.workers)
    return _copied(cut, sent=cut.worker[source], received=receiver)


def raw_multicast(cut: CutGraph) -> Traffic:
    """Send every feature once to the switch, which copies it to each worker with a neighbour."""
    return _copied(cut, sent=_senders(cut), received=cut.copies % cut.workers)


@dataclass(frozen=True, kw_only=True, eq=False)
class StrawmanRun:
    """Holds what becomes of every feature in the paper's strawman, in slots.

    In a slot every worker sends a feature, from the first slot on.
    """

    slot: Ints  #: [n]: in which a vertex is sent; -1 for one that only receives
    missed: NDArray[np.bool_]  #: [E]: whether the source found no aggregator for the destination
    taken: Ints  #: [n]: the slot in which a destination got its aggregator, -1 for none
    complete: Ints  #: [n]: the slot in which a destination's last feature came, -1 for none

    def raws(self, cut: CutGraph) -> Ints:
        """Return source and worker of features sent on, once to each worker: [2, raws]."""
        receivers = cut.worker[cut.destinations[self.missed]]
        keys = np.unique(cut.sources[self.missed].astype(np.int64) * cut.workers + receivers)
        return np.stack(np.divmod(keys, cut.workers))


def strawman(cut: CutGraph, aggregators: int, seed: int = 1) -> Traffic:
    """Return what the paper's strawman sends, see :func:`strawman_run`."""
    run = strawman_run(cut, aggregators, seed)
    return Traffic(
        features=_of_workers(cut, _senders(cut)),
        partials=np.zeros((1, cut.workers), np.int64),
        raws=_of_workers(cut, run.raws(cut)[1]),
        results=_of_workers(cut, cut.worker[run.taken >= 0]),
    )


def strawman_run(cut: CutGraph, aggregators: int, seed: int = 1) -> StrawmanRun:
    """Run the paper's strawman (section 2.3.2): random order, aggregators for whoever comes first.

    An aggregator is taken by a destination's first feature that finds one free, and is free again
    when the last has come. Features for destinations that have none go on, once to each worker.
    """
    drawn = np.random.default_rng(seed).permutation(np.unique(cut.sources))
    slots = places(cut.worker[drawn])
    first = starts(np.bincount(cut.sources, minlength=cut.n))
    missing = cut.in_degrees.copy()
    holds = np.zeros(cut.n, bool)
    missed = np.zeros(cut.edges, bool)
    slot, taken, complete = (np.full(cut.n, -1) for _ in range(3))
    slot[drawn] = slots
    free = aggregators
    for source in drawn[np.argsort(slots, kind="stable")].tolist():
        low, high = first[source], first[source + 1]
        near = cut.destinations[low:high]
        wanting = near[~holds[near]]
        served = wanting[:free]
        holds[served] = True
        taken[served] = slot[source]
        missed[low:high] = ~holds[near]
        missing[near] -= 1
        ended = near[missing[near] == 0]
        complete[ended] = slot[source]
        free += int(holds[ended].sum()) - served.size
    return StrawmanRun(slot=slot, missed=missed, taken=taken, complete=complete)


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
