"""Computes what a gather cost the network: figures of switches, bytes of links, the tail node."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hdl.netsparse.snic_counters import CLASSES
from sim.netsparse.conservation import malformed
from sim.netsparse.gather_job import GatherResult
from sim.netsparse.switch_counts import SwitchCounts


@dataclass(frozen=True)
class SwitchFigures:
    """Computes one switch's figures, from its counters alone."""

    name: str
    counts: SwitchCounts

    @property
    def hits(self) -> int:
        """Return the number of reads that were answered here."""
        return self.counts.pipe("cache_hit")

    @property
    def misses(self) -> int:
        """Return the number of reads that looked up and went on."""
        return self.counts.pipe("cache_miss")

    @property
    def hit_rate(self) -> float | None:
        """Return the share of lookups that hit; None if there were none."""
        lookups = self.hits + self.misses
        return self.hits / lookups if lookups else None

    def packets(self, path: str, kind: str) -> int:
        """Return the packets of ``kind`` (reads, responses) ``path`` (in, out), over all ports."""
        return self.counts.port(f"{kind}_{path}_packets")

    def prs_per_packet(self, kind: str) -> float | None:
        """Return the mean PRs of packets that leave; None if the switch does not unpack them."""
        packets = self.counts.pipe(f"{kind}_sent_packets")
        return self.counts.pipe(f"{kind}_sent_prs") / packets if packets else None

    @property
    def dropped(self) -> int:
        """Return the number of packets that were malformed, or had no route."""
        return sum(
            self.counts.port(f"{kind}_no_route")
            + self.counts.port(f"{kind}_short")
            + sum(malformed(pipe, kind) for pipe in self.counts.pipes)
            for kind in CLASSES
        )

    def summary(self) -> dict[str, Any]:
        """Return the figures, and the counters they come from, fit for JSON."""
        return {
            "name": self.name,
            "hits": self.hits,
            "misses": self.misses,
            "hit_rate": self.hit_rate,
            **{
                f"packets_{path}": {kind: self.packets(path, kind) for kind in CLASSES}
                for path in ("in", "out")
            },
            "prs_per_packet": {kind: self.prs_per_packet(kind) for kind in CLASSES},
            "dropped": self.dropped,
            "port_counters": [dict(port) for port in self.counts.ports],
            "pipe_counters": [dict(pipe) for pipe in self.counts.pipes],
        }


@dataclass(frozen=True)
class Tail:
    """Describes the node that has received most: in the end the others wait for it."""

    node: int
    received_bytes: int
    cycles: int  #: from the first request of all to its last completion


@dataclass(frozen=True)
class NetworkFigures:
    """Computes the figures of all switches and links of a gather."""

    result: GatherResult

    @property
    def switches(self) -> list[SwitchFigures]:
        """Return the figures of each switch, those of racks first."""
        topology = self.result.topology
        return [
            SwitchFigures(topology.name(k), counts) for k, counts in enumerate(self.result.switches)
        ]

    def links(self, what: str) -> int:
        """Return the packets or bytes of both classes, over all links: table 8's traffic."""
        return sum(counts[kind][what] for counts in self.result.links for kind in CLASSES)

    @property
    def tail(self) -> Tail:
        """Return the node that has received most bytes, headers included."""
        received = [
            sum(node.snic[f"{kind}_received_bytes"] for kind in CLASSES)
            for node in self.result.nodes
        ]
        node = max(range(len(received)), key=received.__getitem__)
        return Tail(node, received[node], self.result.nodes[node].cycles)

    @property
    def hit_rate(self) -> float:
        """Return the share of all lookups of all switches that hit; 0 if there were none."""
        hits, lookups = self.total("cache_hit"), self.total("cache_hit") + self.total("cache_miss")
        return hits / lookups if lookups else 0.0

    def total(self, name: str) -> int:
        """Return the sum of a counter over all middle pipes of all switches."""
        return sum(counts.pipe(name) for counts in self.result.switches)

    def figures(self) -> dict[str, float]:
        """Return the values of NETWORK_FIGURES by name."""
        tail = self.tail
        return {
            "link_packets": self.links("packets"),
            "link_bytes": self.links("bytes"),
            "cache_hits": self.total("cache_hit"),
            "cache_misses": self.total("cache_miss"),
            "cache_hit_rate": self.hit_rate,
            "tail_received_bytes": tail.received_bytes,
            "tail_cycles": tail.cycles,
        }

    def details(self) -> dict[str, Any]:
        """Return what the JSON says of the network."""
        topology, tail = self.result.topology, self.tail
        return {
            "topology": topology.suffix,
            "racks": topology.racks,
            "nodes_per_rack": topology.nodes_per_rack,
            "spines": topology.switches - topology.racks,
            **self.figures(),
            "tail_node": tail.node,
            "node_cycles": [node.cycles for node in self.result.nodes],
            "switches": [switch.summary() for switch in self.switches],
            "links": [
                {"name": topology.link_name(k)} | {kind: dict(counts[kind]) for kind in CLASSES}
                for k, counts in enumerate(self.result.links)
            ],
        }


NETWORK_FIGURES: Mapping[str, str] = {
    "link_packets": "packets, summed over all links that they pass",
    "link_bytes": "bytes, headers included, summed over all links that they pass",
    "cache_hits": "reads that switches have answered",
    "cache_misses": "reads that a switch has looked up and sent on",
    "cache_hit_rate": "share of the lookups in switches that hit",
    "tail_received_bytes": "bytes that the node has received that received most",
    "tail_cycles": "from the first request to the last completion of that node",
}
