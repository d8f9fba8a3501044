"""Keeps all links of racks full, to find deadlocks, and measures how full they were."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hdl.netsparse.snic_counters import CLASSES
from sim.netsparse.gather import Gather
from sim.netsparse.gather_job import GatherResult
from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.topology import Topology
from sim.workloads.partition import Ints, Partition

OFF = {"filter": 0, "coalesce": 0}  #: settings of SNICs with which every idx makes a PR
NOTHING_MOVES = 100_000  #: cycles without progress that end a request as WATCHDOG


@dataclass(frozen=True, kw_only=True)
class Saturation:
    """Says what every node asks for, and in which surroundings.

    Every client asks for idxs of every other node, in random order, as fast as it can. Fewer of
    them are in other racks than a random choice would take: their links are shared by the nodes of
    a rack, and with ``far`` of the idxs at the other racks, the spines for each node of a rack, all
    links have the same to carry.
    """

    topology: Topology
    spine_choice: SpineChoice = SpineChoice.HOME
    idxs: int  #: idxs that a client asks for
    batch: int  #: idxs of a work request
    rows: int = 4096  #: number of properties; few of them are found in caches more often
    property_bytes: int = 64
    far: float = 0.25  #: share of the idxs that another rack owns
    burst: bool = False  #: whether one node owns all idxs of a work request
    clients: int = 1  #: units of a node that ask
    servers: int = 1  #: units of a node that answer
    concatenate: bool = True  #: join PRs in SNICs and in switches
    cache: bool = True  #: use the property caches in switches
    delay: int = 0  #: DelayCycles, of SNICs and of switches, of both classes
    stall: int = 128  #: chance in 256, every cycle, that an end of a link moves nothing
    latency: int = 0  #: cycles that links take
    memory_latency: int = 0
    seed: int

    def gather(self) -> Gather:
        """Return the gather of all nodes."""
        rng = np.random.default_rng([self.seed, 0])
        partition = Partition.blocks(self.rows, self.topology.nodes)
        words = (self.rows, self.property_bytes // 4)
        delays = {f"{path}_delay": self.delay for path in ("read", "response")}
        ram = {"read_latency": self.memory_latency, "write_latency": self.memory_latency}
        return Gather(
            partition=partition,
            properties=rng.integers(0, 1 << 32, words, dtype=np.uint32),
            idxs=[
                [self.requests(rng, partition, node) for _ in range(self.clients)]
                for node in range(self.topology.nodes)
            ],
            servers=self.servers,
            watchdog=NOTHING_MOVES,
            mechanisms=OFF | delays | {"concatenate": int(self.concatenate)},
            host=ram,
            dram=ram,
            link={
                "latency": self.latency,
                **dict.fromkeys(("in_stall", "out_stall"), self.stall),
                "seed": self.seed,
            },
            spine_choice=self.spine_choice,
            switch=delays | {"concatenate": int(self.concatenate), "cache": int(self.cache)},
        )

    def requests(self, rng: np.random.Generator, partition: Partition, node: int) -> list[Ints]:
        """Return a client's idxs, by work request."""
        nodes = np.arange(self.topology.nodes)
        racks = nodes // self.topology.nodes_per_rack
        is_far = racks != self.topology.rack(node)
        is_near = ~is_far & (nodes != node)
        chance = self.far * is_far / max(1, is_far.sum())
        chance = chance + (1 - self.far) * is_near / max(1, is_near.sum())
        draws = -(-self.idxs // self.batch) if self.burst else self.idxs
        owners = rng.choice(nodes, draws, p=chance / chance.sum())
        if self.burst:
            owners = np.repeat(owners, self.batch)[: self.idxs]
        first = np.asarray(partition.boundaries)
        idxs = rng.integers(first[owners], first[owners + 1])
        return [idxs[k : k + self.batch] for k in range(0, self.idxs, self.batch)]


@dataclass(frozen=True)
class LinkLoad:
    """Says what a link was doing, in shares of the cycles; classes by name."""

    name: str
    between_switches: bool
    carried: Mapping[str, float]  #: cycles in which a beat was delivered
    blocked: Mapping[str, float]  #: share in which the sender had a beat that was not taken
    refused: Mapping[str, float]  #: share in which a beat was there that the far end did not take

    @property
    def used(self) -> float:
        """Return the share of the cycles in which the link delivered something."""
        return sum(self.carried.values())


def loads(result: GatherResult) -> list[LinkLoad]:
    """Return the loads of all links."""
    topology, cycles = result.topology, result.cycles
    return [
        LinkLoad(
            topology.link_name(k),
            wire.source.port is not None and wire.target.port is not None,
            *(
                {kind: counts[kind][name] / cycles for kind in CLASSES}
                for name in ("beats", "blocked", "refused")
            ),
        )
        for k, (wire, counts) in enumerate(zip(topology.links, result.links, strict=True))
    ]


def load_lines(result: Sequence[LinkLoad], cycles: int) -> Iterator[str]:
    """Yield a table of the least and mean load over the links of each kind."""
    yield f"{cycles:,} cycles; shares of them, least and mean over links, reads and responses:"
    for title, between in (("links of nodes", False), ("links of spines", True)):
        chosen = [load for load in result if load.between_switches == between]
        parts = [f"used {low_and_mean([load.used for load in chosen])}"]
        for name in ("blocked", "refused"):
            for kind in CLASSES:
                shares = [getattr(load, name)[kind] for load in chosen]
                parts.append(f"{name} {kind} {low_and_mean(shares)}")
        yield f"  {title}: {', '.join(parts)}"


def low_and_mean(values: Sequence[float]) -> str:
    """Return the least and the mean of shares, as text."""
    return f"{min(values):.0%} {np.mean(values):.0%}"


def waits(result: GatherResult) -> Mapping[str, float]:
    """Return shares of cycles that packets wait for room behind middle pipes, means over ports."""
    ports = [port for switch in result.switches if switch.pipes for port in switch.ports]
    return {
        kind: sum(port[f"{kind}_waits"] for port in ports) / len(ports) / result.cycles
        for kind in CLASSES
    }
