"""Counts what each class of links carries between leaves and spines, and the time that takes.

Hosts are in racks, each with a leaf switch; every leaf has a link to each spine, and its packets
are spread evenly over these. Leaves add: a rack sends the sum of all its sources of a destination
once (section 6.2), or a copy of a source's feature, which the other leaf adds (``rack_cover``).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.switchgnn.evaluation.baselines import full_graph, strawman_run
from sim.switchgnn.evaluation.frames import Traffic, counted, traffic_of
from sim.switchgnn.planning.cover import rack_cover
from sim.switchgnn.planning.cut import CutGraph
from sim.switchgnn.planning.plan import Plan
from sim.switchgnn.planning.senders import Senders

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class RackTraffic:
    """Counts the packets of one slice by block, at each host and at each leaf."""

    up: Ints  #: [blocks, M]: that a host sends to its leaf
    out: Ints  #: [blocks, racks]: that a leaf sends to spines
    into: Ints  #: [blocks, racks]: that spines send to a leaf
    down: Ints  #: [blocks, M]: that a leaf sends to a host

    @property
    def classes(self) -> dict[str, Ints]:
        """Return the packets at each link of a class, or at each leaf's links to spines."""
        return {
            "host to leaf": self.up,
            "leaf to spine": self.out,
            "spine to leaf": self.into,
            "leaf to host": self.down,
        }

    @property
    def packets(self) -> dict[str, int]:
        """Return the number of packets of each class of links."""
        return {name: int(each.sum()) for name, each in self.classes.items()}

    def slots(self, spines: int, least: ArrayLike = 0) -> float:
        """Return the packets of busiest links, at ``least`` so many: blocks wait for each other."""
        links = [each.max(1) for each in self._of_a_link(spines).values()]
        return float(np.maximum(np.max(links, 0), least).sum())

    def together(self) -> "RackTraffic":
        """Return the same packets in one block, so that no worker waits for others."""
        return RackTraffic(
            up=self.up.sum(0, keepdims=True),
            out=self.out.sum(0, keepdims=True),
            into=self.into.sum(0, keepdims=True),
            down=self.down.sum(0, keepdims=True),
        )

    def mean_slots(self, spines: int) -> float:
        """Return all blocks' packets at the busiest link, if a class shared its traffic evenly."""
        return max(self._means(spines).values())

    def bottleneck(self, spines: int) -> str:
        """Return the class of links with the most packets at each."""
        means = self._means(spines)
        return max(means, key=lambda name: means[name])

    def _means(self, spines: int) -> dict[str, float]:
        classes = self._of_a_link(spines)
        return {name: float(each.sum(0).mean()) for name, each in classes.items()}

    def _of_a_link(self, spines: int) -> dict[str, NDArray[np.float64]]:
        return {
            name: each / (spines if "spine" in name else 1) for name, each in self.classes.items()
        }


def racks_of(workers: int, racks: int) -> Ints:
    """Return the rack of each worker: consecutive workers, as many in each."""
    return np.arange(workers) * racks // workers


def hosts_alone(cut: CutGraph, rack: Ints) -> RackTraffic:
    """Send every feature by hosts to each worker with a neighbour: BNS-GCN with p = 1."""
    source, receiver = np.divmod(cut.copies, cut.workers)
    ways = rack[cut.worker[source]], rack[receiver]
    return _with_racks(full_graph(cut), np.zeros(source.size, np.int64), *ways, rack)


def strawman_in_racks(cut: CutGraph, rack: Ints, aggregators: int, seed: int = 1) -> RackTraffic:
    """Run the strawman at every leaf: each has ``aggregators`` for all that its hosts send.

    A rack's sum of a destination crosses once if it found an aggregator. A feature that found none
    crosses once to each rack, is added there if the destination has an aggregator at its own leaf,
    and else goes on to its worker, as do other racks' sums of that destination.
    """
    of_source = rack[cut.worker[cut.sources]]
    summed = np.zeros((int(rack.max()) + 1, cut.n), bool)
    missed = np.zeros(cut.edges, bool)
    for each in range(len(summed)):
        own = of_source == each
        edges = replace(cut, sources=cut.sources[own], destinations=cut.destinations[own])
        run = strawman_run(edges, aggregators, seed)
        summed[each], missed[own] = run.taken >= 0, run.missed
    home = rack[cut.worker]
    sender, destination = np.nonzero(summed)
    sources, destinations = cut.sources[missed].astype(np.int64), cut.destinations[missed]
    copies = np.unique(sources * len(summed) + home[destinations])
    ways = (
        np.concatenate([sender, home[copies // len(summed)]]),
        np.concatenate([home[destination], copies % len(summed)]),
    )
    # To workers: a sum of each destination that its own leaf adds up, of others all that comes.
    at_home = summed[home, np.arange(cut.n)]
    through = ~at_home[destination]
    raws = np.unique((sources * cut.workers + cut.worker[destinations])[~at_home[destinations]])
    receivers = np.concatenate(
        [
            cut.worker[at_home],
            cut.worker[destination[through]],
            raws % cut.workers,
        ]
    )
    senders = cut.worker[np.unique(cut.sources)]
    star = Traffic(
        features=counted(np.zeros_like(senders), senders, (1, cut.workers)),
        partials=np.zeros((1, cut.workers), np.int64),
        raws=counted(np.zeros_like(receivers), receivers, (1, cut.workers)),
        results=np.zeros((1, cut.workers), np.int64),
    )
    return _with_racks(star, np.zeros(ways[0].size, np.int64), *ways, rack)


def plan_in_racks(
    cut: CutGraph, plan: Plan, senders: Senders, rack: Ints, *, cover: bool
) -> RackTraffic:
    """Count a plan whose leaves add; with ``cover`` racks send the fewest packets, else sums alone.

    No leaf needs more aggregators than a block has destinations: each is one of its rack, or one of
    another rack that it makes a sum for.
    """
    make = _covered if cover else _summed
    return _with_racks(traffic_of(senders, cut.workers), *make(cut, plan.block, rack), rack)


def leaf_rows(cut: CutGraph, block: ArrayLike, rack: Ints, sums: Ints, banks: int) -> Ints:
    """Return the least rows of leaves: of hosts' features, and one of each sum between racks."""
    keys = np.asarray(block, np.int64) * cut.n + cut.sources
    keys, edges = np.unique(keys, return_counts=True)
    at = keys // cut.n * sums.shape[1] + rack[cut.worker[keys % cut.n]]
    return sums + np.bincount(at, -(-edges // banks), sums.size).reshape(sums.shape)


def _summed(cut: CutGraph, block: ArrayLike, rack: Ints) -> tuple[Ints, Ints, Ints]:
    """Return block, sending and receiving rack of every sum that leaves a rack."""
    sender = rack[cut.worker[cut.sources]]
    key = np.asarray(block, np.int64) * cut.n + cut.destinations
    keys = np.unique(key * rack.size + sender)
    sums, sender = np.divmod(keys, rack.size)
    return sums // cut.n, sender, rack[cut.worker[sums % cut.n]]


def _covered(cut: CutGraph, block: ArrayLike, rack: Ints) -> tuple[Ints, Ints, Ints]:
    """Return block, sending and receiving rack of each block's least set of sums and copies."""
    of_edge = np.asarray(block)
    ways = []
    for each in range(int(of_edge.max()) + 1):
        inside = of_edge == each
        edges = replace(cut, sources=cut.sources[inside], destinations=cut.destinations[inside])
        built = rack_cover(edges, rack)
        ways.append(np.stack([np.full(built.packets, each), built.sender, built.receiver]))
    result = np.concatenate(ways, 1).astype(np.int64)
    return result[0], result[1], result[2]


def _with_racks(
    star: Traffic, block: Ints, sender: Ints, receiver: Ints, rack: Ints
) -> RackTraffic:
    """Join hosts' links as in a star with packets of these blocks between racks."""
    crosses = sender != receiver
    shape = (star.features.shape[0], int(rack.max()) + 1)
    return RackTraffic(
        up=star.features + star.partials,
        out=counted(block[crosses], sender[crosses], shape),
        into=counted(block[crosses], receiver[crosses], shape),
        down=star.raws + star.results,
    )
