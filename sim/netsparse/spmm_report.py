"""Reports what a product on simulated SNICs has cost: figures from counters, a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import Any

from hdl.common.core_clock import CORE_MHZ
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.snic_counters import BUCKETS, CLASSES
from sim.harness.picture import picture
from sim.netsparse.gather_job import GatherResult
from sim.netsparse.golden.redundancy import (
    ELEMENT_BYTES,
    WINDOW,
    Redundancy,
    header_share,
    redundancy,
)
from sim.netsparse.network_figures import NetworkFigures
from sim.netsparse.spmm import SpmmRun

LINE_GBPS = BEAT_BYTES * 8 * CORE_MHZ / 1e3  #: a beat of packets a cycle
BUCKET_NAMES = tuple(
    str(1 << k) if not k else f"{1 << k}+" if k + 1 == BUCKETS else f"{1 << k}-{(2 << k) - 1}"
    for k in range(BUCKETS)
)
MAX_NAMES = 8  #: most nodes that are named below a picture
STALLS = ("idx", "table", "filter", "transmit")  #: what a client's idx may wait for
FATES = ("local", "coalesced", "filtered", "prs")  #: what becomes of an idx


@dataclass(frozen=True)
class NodeFigures:
    """Computes one node's figures, or all nodes', from counters alone (tables 7 and 8)."""

    unit: Mapping[str, int]  #: the units' counters, summed
    snic: Mapping[str, int]
    cycles: int  #: of the whole gather, which rates are over; of several nodes added up
    property_bytes: int
    clients: int  #: number of a node's clients
    requests: int  #: work requests
    accesses: Mapping[str, int]  #: how often the host used registers while requests were under way
    done: int  #: cycles from the gather's first request to these nodes' last completion

    @property
    def remote(self) -> int:
        """Return the number of idxs that another node owns."""
        return sum(self.unit[name] for name in ("coalesced", "filtered", "prs"))

    @property
    def filter_coalesce_rate(self) -> float:
        """Return the share of the remote idxs that needed no PR."""
        return ratio(self.remote - self.unit["prs"], self.remote)

    def packets(self, path: str, kind: str) -> int:
        """Return the packets of ``kind`` (reads, responses) ``path`` (sent, received)."""
        return self.snic[f"{kind}_{path}_packets"]

    def packet_bytes(self, path: str) -> int:
        """Return the bytes of all packets, headers included."""
        return sum(self.snic[f"{kind}_{path}_bytes"] for kind in CLASSES)

    @property
    def lines_per_property(self) -> float:
        """Return how many requests of lines writing a property to host memory takes."""
        return ratio(self.snic["host_write_requests"], self.snic["host_write_properties"])

    def prs_per_packet(self, kind: str) -> float:
        """Return the mean PRs of the packets that were sent."""
        return ratio(self.snic[f"{kind}_sent_prs"], self.packets("sent", kind))

    def histogram(self, kind: str) -> list[int]:
        """Return the numbers of packets sent, by the PRs in them; see BUCKET_NAMES."""
        return [self.snic[f"{kind}_sent_prs_{1 << k}"] for k in range(BUCKETS)]

    @property
    def payload_bytes(self) -> int:
        """Return the bytes of the properties that came, without headers."""
        return self.unit["responses"] * self.property_bytes

    @property
    def headers(self) -> float:
        """Return the headers' share of what PRs cost: reads sent, responses received."""
        total = self.snic["reads_sent_bytes"] + self.snic["responses_received_bytes"]
        return ratio(total - self.payload_bytes, total)

    @property
    def headers_by_formula(self) -> float:
        """Return the headers' share by the formula of Table 3, at the mean PRs per packet."""
        packets = self.packets("sent", "reads") + self.packets("received", "responses")
        if not packets:
            return 0.0
        prs = (self.unit["prs"] + self.unit["responses"]) / packets
        return header_share(self.property_bytes // ELEMENT_BYTES, prs)

    @property
    def goodput(self) -> float:
        """Return the properties received, as a share of what the line could bring."""
        return ratio(self.payload_bytes, self.cycles * BEAT_BYTES)

    def utilisation(self, kind: str) -> float:
        """Return all bytes received of ``kind``, as a share of what the line could bring."""
        return ratio(self.snic[f"{kind}_received_bytes"], self.cycles * BEAT_BYTES)

    def stalled(self, name: str) -> float:
        """Return the share of the clients' cycles in which one of STALLS held an idx up."""
        return ratio(self.unit[f"{name}_stall"], self.cycles * self.clients)

    def per_cycle(self, name: str) -> float:
        """Return the rate of a unit's counter, over all units."""
        return ratio(self.unit[name], self.cycles)

    def accesses_per_request(self, kind: str) -> float:
        """Return the host's writes or reads of registers per work request."""
        return ratio(self.accesses[kind], self.requests)

    def summary(self) -> dict[str, Any]:
        """Return the figures, and the counters they come from, fit for JSON."""
        return {
            "remote": self.remote,
            "filter_coalesce_rate": self.filter_coalesce_rate,
            "prs_per_packet": {kind: self.prs_per_packet(kind) for kind in CLASSES},
            "header_share": self.headers,
            "header_share_by_formula": self.headers_by_formula,
            "goodput": self.goodput,
            "line_utilisation": {kind: self.utilisation(kind) for kind in CLASSES},
            "idxs_per_cycle": self.per_cycle("consumed"),
            "prs_per_cycle": self.per_cycle("prs"),
            "host_lines_per_property": self.lines_per_property,
            "stalled": {name: self.stalled(name) for name in STALLS},
            "cycles": self.done,
            "requests": self.requests,
            "register_accesses": dict(self.accesses),
            "register_accesses_per_request": {
                kind: self.accesses_per_request(kind) for kind in self.accesses
            },
            "unit_counters": dict(self.unit),
            "snic_counters": dict(self.snic),
        }


def together(nodes: Sequence[NodeFigures]) -> NodeFigures:
    """Add up counters and cycles of all nodes, so that rates are means."""
    return NodeFigures(
        {name: sum(node.unit[name] for node in nodes) for name in nodes[0].unit},
        {name: sum(node.snic[name] for node in nodes) for name in nodes[0].snic},
        sum(node.cycles for node in nodes),
        nodes[0].property_bytes,
        nodes[0].clients,
        sum(node.requests for node in nodes),
        {kind: sum(node.accesses[kind] for node in nodes) for kind in nodes[0].accesses},
        max(node.done for node in nodes),
    )


@dataclass(frozen=True)
class SpmmReport:
    """Holds a product that has run."""

    run: SpmmRun
    name: str  #: name of the matrix
    result: GatherResult
    window: int = WINDOW  #: window of table 4

    @cached_property
    def redundancy(self) -> Redundancy:
        """Return tables 1 and 4 for this matrix and partition."""
        return redundancy(self.run.matrix, self.run.partition, window=self.window)

    @property
    def headers_alone(self) -> float:
        """Return table 3's share of headers without concatenation."""
        return header_share(self.run.requested.property_bytes // ELEMENT_BYTES)

    @property
    def network(self) -> NetworkFigures:
        """Return the figures of switches and links."""
        return NetworkFigures(self.result)

    @property
    def nodes(self) -> list[NodeFigures]:
        """Return the figures of each node."""
        run, cycles = self.run, self.result.cycles
        return [
            NodeFigures(
                node.totals,
                node.snic,
                cycles,
                run.requested.property_bytes,
                run.clients,
                len(node.completions),
                node.accesses,
                node.cycles,
            )
            for node in self.result.nodes
        ]

    def details(self) -> dict[str, Any]:
        """Return what the JSON says beside figures: matrix, partition, nodes' counters."""
        figures = self.redundancy
        return {
            "matrix": {
                "name": self.name,
                "rows": figures.rows,
                "nonzeros": figures.nonzeros,
                "nonzeros_per_row": figures.nonzeros_per_row,
            },
            "partition": {
                "nodes": figures.nodes,
                "boundaries": list(self.run.partition.boundaries),
                "share_remote": figures.share_remote,
                "useful": figures.useful,
                "su": known(figures.su),
                "sa": known(figures.sa),
                "destinations": known(figures.destinations),
                "header_share_alone": self.headers_alone,
            },
            "clients": self.run.clients,
            "servers": self.run.servers,
            "cycles": self.result.cycles,
            "cycles_to_first_packet": self.result.first_packet,
            "microseconds": self.result.cycles / CORE_MHZ,
            "clock_mhz": CORE_MHZ,
            "simulated_cycles_per_second": ratio(self.result.cycles, self.result.seconds),
            "line_gbps": LINE_GBPS,
            "network": self.network.details(),
            "nodes": [node.summary() for node in self.nodes],
            "all": together(self.nodes).summary(),
        }

    def plot(self, path: Path, title: str) -> None:
        """Draw what became of each node's idxs, and how many PRs its packets had."""
        nodes = self.nodes
        names = [f"node {k}" for k in range(len(nodes))]
        colours = ("0.75", "tab:green", "tab:blue", "tab:orange")
        title = f"{title}: {self.result.cycles:,} cycles"
        with picture(path, title, 2) as (fates, packets):
            bottom = [0] * len(nodes)
            for fate, colour in zip(FATES, colours, strict=True):
                counts = [node.unit[fate] for node in nodes]
                label = "PR" if fate == "prs" else fate
                fates.bar(names, counts, 0.6, bottom=bottom, label=label, color=colour)
                bottom = [a + b for a, b in zip(bottom, counts, strict=True)]
            if len(nodes) > MAX_NAMES:
                fates.set_xticks([0, len(nodes) - 1])
            fates.set_ylabel("idxs")
            fates.set_ylim(top=1.2 * max(1, *bottom))
            fates.set_title("what became of the idxs")
            every = together(nodes)
            for k, kind in enumerate(CLASSES):
                places = [bucket + 0.4 * k - 0.2 for bucket in range(BUCKETS)]
                packets.bar(places, every.histogram(kind), 0.4, label=kind)
            packets.set_xticks(range(BUCKETS), BUCKET_NAMES)
            packets.set_xlabel("PRs of a packet")
            packets.set_ylabel("packets sent")
            packets.set_title("PRs joined to packets")
            for axis in (fates, packets):
                axis.grid(axis="y", alpha=0.3)
                axis.set_axisbelow(True)
                axis.legend(loc="upper right", ncols=len(FATES) if axis is fates else 1)


def ratio(part: float, whole: float) -> float:
    """Return ``part / whole``, 0 if there is nothing."""
    return part / whole if whole else 0.0


def known(figure: float) -> float | None:
    """Return ``figure``, None where there is nothing to divide by: JSON has no NaN."""
    return None if isnan(figure) else figure
