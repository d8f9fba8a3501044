"""Runs clusters, in RTL or on the model that is calibrated against it, and collects counters."""

import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.snic_counters import CLASSES
from sim.netsparse.golden.software import SaOpt, SuOpt, sparsity_aware
from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.egress_load import EgressLoad, egress_load
from sim.netsparse.reproduce.points import Point
from sim.netsparse.reproduce.subjects import Subject
from sim.netsparse.spmm_report import NodeFigures
from sim.netsparse.spmm_session import SpmmSession
from sim.workloads.partition import Partition, dealt


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Holds what came of a run, from the counters of its SNICs and switches."""

    figures: Mapping[str, float]  #: figures of SpmmSession
    tail: NodeFigures  #: the node that took longest
    tail_node: int
    tail_useful: int  #: different remote idxs of that node
    tail_hit_rate: float  #: hit rate of its rack's switch; 0 without lookups
    busiest_client: int  #: most idxs that a client of any node has consumed
    busiest_link: str  #: name of the link with most bytes
    busiest_link_bytes: int
    node_cycles: tuple[int, ...]  #: when each node ends, from the first request on
    max_received: int  #: bytes of the node that has received most, which may be another
    egress: EgressLoad  #: what caches in the egress pipes of racks' switches would add
    su: SuOpt
    sa: SaOpt
    line_bytes: float  #: bytes that a line brings in a cycle
    exact: bool | None  #: None of the model, which compares nothing
    seconds: float  #: time that this computer took

    @property
    def cycles(self) -> float:
        """Return the cycles from the first request to the last completion."""
        return self.figures["cycles"]

    @property
    def speed_up(self) -> float:
        """Return the speed-up over SUOpt."""
        return self.su.cycles(self.line_bytes) / self.cycles

    @property
    def traffic_reduction(self) -> float:
        """Return SUOpt's bytes for a node, divided by those that the tail node has received."""
        return self.su.received / self.tail.packet_bytes("received")

    @property
    def busiest_reduction(self) -> float:
        """Return the same for the node that has received most, which need not end last."""
        return self.su.received / self.max_received

    @property
    def prs_per_packet(self) -> float:
        """Return the mean PRs of the packets of responses that the tail node has received."""
        received = self.tail.packets("received", "responses")
        return self.tail.unit["responses"] / received if received else 0.0

    @property
    def utilisation(self) -> float:
        """Return the bytes that the tail node has received, as a share of its line's capacity."""
        return self.tail.packet_bytes("received") / (self.cycles * self.line_bytes)

    @property
    def goodput(self) -> float:
        """Return the bytes of properties that the tail node received, as a share of its line's."""
        return self.tail.goodput * BEAT_BYTES / self.line_bytes

    @property
    def link_bound(self) -> float:
        """Return the share of the time that the busiest link needs for its bytes."""
        return self.busiest_link_bytes / (self.cycles * self.line_bytes)

    @property
    def bounds(self) -> str:
        """Return what bounds the time, in words."""
        return (
            f"{self.cycles:,.0f} cycles, of which the tail's line is needed for"
            f" {self.utilisation:.0%}, the busiest link ({self.busiest_link}) for"
            f" {self.link_bound:.0%}, the busiest client for {self.client_bound:.0%}"
        )

    @property
    def client_bound(self) -> float:
        """Return the share of the time that the busiest client needs at an idx a cycle."""
        return self.busiest_client / self.cycles

    def sa_speed_up(self, pr_cycles: float, line_bytes: float) -> float:
        """Return SAOpt's speed-up over SUOpt on such a line; a PR costs a core ``pr_cycles``."""
        return self.su.cycles(line_bytes) / self.sa.cycles(line_bytes, pr_cycles)


Outcomes = Mapping[Point, Outcome]


def measured(point: Point) -> Outcome:
    """Run a point and collect what the figures need."""
    start = perf_counter()
    session = SpmmSession(point.snic, point.workload)
    simulator = session.build(point.hardware)
    with tempfile.TemporaryDirectory(prefix="reproduce-") as folder:
        result = session.run(simulator, Path(folder))
    report = session.report
    assert report is not None
    nodes = report.result.nodes
    tail = max(range(len(nodes)), key=lambda node: nodes[node].cycles)
    topology = report.result.topology
    tor = report.network.switches[topology.rack(tail)]
    tors = report.result.switches[: topology.racks]
    passed = [sum(counts[kind]["bytes"] for kind in CLASSES) for counts in report.result.links]
    link = max(range(len(passed)), key=passed.__getitem__)
    su, sa = software(point.subject, point.property_bytes)
    return Outcome(
        figures=dict(result.figures),
        tail=report.nodes[tail],
        tail_node=tail,
        tail_useful=useful(session.product.matrix, session.product.partition, tail),
        tail_hit_rate=tor.hit_rate or 0.0,
        busiest_client=max(unit["consumed"] for node in nodes for unit in node.units),
        busiest_link=topology.link_name(link),
        busiest_link_bytes=passed[link],
        node_cycles=tuple(node.cycles for node in nodes),
        max_received=report.network.tail.received_bytes,
        egress=egress_load(tors, topology.nodes_per_rack, point.property_bytes),
        su=su,
        sa=sa,
        line_bytes=point.cluster.line_bytes,
        exact=result.exact,
        seconds=perf_counter() - start,
    )


def useful(matrix: csr_array, partition: Partition, node: int) -> int:
    """Return the number of different remote idxs of a node: the least number of PRs."""
    idxs = partition.idx_stream(matrix, node)
    return np.unique(idxs[~partition.is_local(idxs, node)]).size


@cache
def repeats(subject: Subject, batch: int, clients: int, *, shares: bool) -> tuple[float, float]:
    """Return where a node had asked for its repeated remote idxs before, by shares.

    The first share is in the same work request, where a repeat is coalesced or filtered. The second
    is in the request that another unit runs at the same time, if all requests take equally long:
    that unit's read may not have been answered yet.
    """
    partition, same, close, count = subject.partition, 0, 0, 0
    for node in range(subject.nodes):
        stream = partition.idx_stream(subject.matrix, node)
        places = np.flatnonzero(~partition.is_local(stream, node))
        order = places[np.argsort(stream[places], kind="stable")]
        again = np.diff(stream[order]) == 0
        request = order // batch
        turns = turns_of(math.ceil(stream.size / batch), clients, shares=shares)[request]
        alike = np.diff(request)[again] == 0
        count += alike.size
        same += np.count_nonzero(alike)
        close += np.count_nonzero(~alike & (np.diff(turns)[again] == 0))
    return (same / count, close / count) if count else (0.0, 0.0)


def turns_of(requests: int, clients: int, *, shares: bool) -> NDArray[np.int64]:
    """Return, for each of a node's requests, how many its client has before it."""
    turns = np.zeros(requests, np.int64)
    for own in dealt(range(requests), clients, shares=shares):
        turns[own] = np.arange(len(own))
    return turns


@cache
def software(subject: Subject, property_bytes: int) -> tuple[SuOpt, SaOpt]:
    """Return both software baselines."""
    partition = subject.partition
    return SuOpt(partition=partition, property_bytes=property_bytes), sparsity_aware(
        subject.matrix, partition, property_bytes=property_bytes, cores=paper.CORES
    )
