"""Draws background traffic among workers: flows of a Hadoop cluster's sizes, at Poisson times."""

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.planning.saved import places

Ints = NDArray[np.int64]

#: Bytes of a flow, and the share of flows that have fewer: a cluster for Hadoop (Roy et al., Inside
#: the Social Network's Datacenter Network, SIGCOMM 2015, figure 6), in the points that HPCC's
#: authors took from it (Li et al., SIGCOMM 2019).
HADOOP = (
    (0, 0.0),
    (100, 0.01),
    (200, 0.02),
    (300, 0.05),
    (350, 0.15),
    (400, 0.2),
    (500, 0.3),
    (600, 0.4),
    (700, 0.5),
    (1_000, 0.6),
    (2_000, 0.67),
    (7_000, 0.7),
    (30_000, 0.72),
    (50_000, 0.82),
    (80_000, 0.87),
    (120_000, 0.9),
    (300_000, 0.95),
    (1_000_000, 0.975),
    (2_000_000, 0.99),
    (10_000_000, 1.0),
)
SIZES, SHARES = (np.array(column, np.float64) for column in zip(*HADOOP, strict=True))
NEVER = np.iinfo(np.int64).max
PACE = 4  #: slots from one packet of a flow to the next
MEAN = float(np.sum(np.diff(SHARES) * (SIZES[1:] + SIZES[:-1]) / 2))  #: bytes of a flow


class Background:
    """Holds what workers' links have to carry for others: packets, each due from some slot on.

    Flows begin at every worker at Poisson times until ``slots``, so that they make up ``load`` of
    its link, and go to any other worker. A flow has a packet every PACE slots; ``packet`` has the
    bytes of one. A flow's last packet is full or is not sent at all, as often as keeps the mean.
    """

    def __init__(
        self, workers: int, load: float, slots: int, packet: float, rng: np.random.Generator
    ) -> None:
        flows = rng.poisson(load * packet * slots / MEAN, workers)
        source = np.repeat(np.arange(workers), flows)
        begin = rng.integers(0, slots, source.size)
        sizes = np.interp(rng.random(source.size), SHARES, SIZES) / packet
        packets = np.floor(sizes + rng.random(source.size)).astype(np.int64)
        target = (source + rng.integers(1, workers, source.size)) % workers
        flow = np.repeat(np.arange(packets.size), packets)
        due = begin[flow] + PACE * places(flow)
        order = np.lexsort((due, source[flow]))
        self.count = np.bincount(source[flow], minlength=workers)
        place = places(source[flow][order])
        shape = (workers, int(self.count.max(initial=0)) + 1)
        self.due = np.full(shape, NEVER)  #: [M, packets]: ascending, NEVER behind the last
        self.target = np.full(shape, -1)  #: [M, packets]
        self.due[source[flow][order], place] = due[order]
        self.target[source[flow][order], place] = target[flow][order]
        self.next = np.zeros(workers, np.int64)
        self.workers = np.arange(workers)

    def waits(self, now: int) -> NDArray[np.bool_]:
        """Return which workers' links have something to carry: [M]."""
        return self.due[self.workers, self.next] <= now

    def take(self, carries: NDArray[np.bool_]) -> Ints:
        """Return the targets of what the links of some workers carry in this slot."""
        targets = self.target[self.workers, self.next][carries]
        self.next = self.next + carries
        return targets
