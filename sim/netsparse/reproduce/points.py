"""Describes the runs of a reproduction: a matrix, a cluster, and what differs from the paper.

Times of the paper become cycles of ours by the clock of its SNIC, 2.2 GHz: a client takes an idx
a cycle in both. A line of 400 Gb/s brings 22.7 bytes in such a cycle, so that links of ours, of 64
bytes, stand still in 165 of 256 cycles. A pipe of the paper's switch carries the lines of four
ports, so that ToRs have a pipe for each port.

A matrix of ours has a small part of the paper's nonzeros; batch, cache and latencies are scaled by
it, so that they are as large against the whole run. DelayCycles are not scaled: how many PRs meet
in a queue depends on how fast they come, not on how many there are. Pending PR Tables have as many
entries for each cycle of a PR's way there and back as the paper's, so that a node asks as fast
against its line, and the same nodes take longest. Scaled as the nonzeros are, as if DelayCycles
were too, they would let units ask at a fraction of the line's pace; with all of them, as many PRs
would wait in queues of the network as a node of ours sends in all.

Requests that follow each other ask for the same idxs: those of a line of queen's points, or of a
host of a web. Neither shrinks as the nonzeros do, and a PR's way is still longer against the run
than the paper's. So a scaled request is a small part of what recurs, and clients that run scaled
requests in turn ask for the same idxs at the same time, which nothing can coalesce: by that alone,
the tail node of queen would receive 1.6 times as much. Clients get shares of a node's requests
instead, and are then a 16th of its idxs apart: 1.2 lines of queen, 4 hosts of arabic and 2 of uk,
where the paper's requests are 1.5 lines, 13 hosts and 3 apart.

Unscaled, all of these are the numbers of table 5. Work requests are in rings, because a small batch
has little time for registers.
"""

from dataclasses import dataclass, replace
from math import log2

from hdl.common.core_clock import CORE_MHZ
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.concat.concatenator_params import MOST_DELAY
from hdl.netsparse.params import SnicParams
from hdl.netsparse.property_cache.params import SEGMENT_BYTES, PropertyCacheParams
from hdl.netsparse.rig.params import RigParams
from hdl.netsparse.switch.params import NetSparseSwitchParams
from sim.netsparse.partition_names import BLOCKS
from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.subjects import Subject
from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.spmm_session import Hardware, SpmmSession
from sim.netsparse.spmm_workload import SpmmWorkload, switch_of
from sim.netsparse.topologies import topology_of
from sim.netsparse.topology_names import LEAF_SPINE

FORMS = {True: "scaled", False: "unscaled"}  #: names of the two kinds of runs
CYCLE_NS = 1 / paper.CLOCK_GHZ  #: length of a cycle of the paper's SNIC
#: cycles in 256 in which a link stands still
LINK_STALL = round(256 * (1 - paper.LINE_GBPS / 8 * CYCLE_NS / BEAT_BYTES))
SOFTWARE_CYCLES = 1e3 * paper.SOFTWARE_US / CYCLE_NS  #: cycles of a SAOpt core for a PR
OUR_CYCLE_NS = 1e3 / CORE_MHZ
OUR_SOFTWARE_CYCLES = 1e3 * paper.SOFTWARE_US / OUR_CYCLE_NS  #: the same at our line's clock
LINKS = 8  #: links that a PR and its response pass between racks
#: DelayCycles on the way of a PR and its response
DELAYS = 2 * (paper.NIC_DELAY + 2 * paper.SWITCH_DELAY)
PATIENCE = 10_000_000  #: the watchdog's cycles without progress


def round_trip(scale: float) -> float:
    """Return the cycles of a PR to another rack and of its response, latencies times ``scale``."""
    return scale * (LINKS * paper.LINK_NS + paper.HOST_NS) / CYCLE_NS + DELAYS


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Describes nodes, racks and hardware of a run."""

    nodes: int
    racks: int
    spines: int
    snic: SnicParams
    preset: str  #: preset of the ToRs
    changes: str = ""  #: parameters of the ToRs that differ from it
    model: bool  #: whether it runs on the model, not in RTL
    sizes_as_requested: bool = True  #: whether caches and tables have a point's sizes
    link_stall: int = 0  #: chance in 256 that an end of a link moves nothing

    @property
    def line_bytes(self) -> float:
        """Return the bytes that a line brings in a cycle."""
        return BEAT_BYTES * (256 - self.link_stall) / 256

    @property
    def engine(self) -> str:
        """Return what runs it: "model" or "RTL"."""
        return "model" if self.model else "RTL"

    @property
    def switch(self) -> NetSparseSwitchParams:
        """Return a ToR with the preset's sizes."""
        return switch_of(self.preset)

    @property
    def what(self) -> str:
        """Return the cluster in words."""
        return (
            f"{self.racks} racks of {self.nodes // self.racks} nodes with {self.snic.units} RIG"
            f" units, {self.spines} spines"
        )


PAPER = Cluster(
    nodes=paper.NODES,
    racks=paper.RACKS,
    spines=16,
    snic=SnicParams(most_delay=MOST_DELAY),
    preset="paper",
    changes=f"most_delay={MOST_DELAY}",
    model=True,
    link_stall=LINK_STALL,
)
#: A cluster that is small enough for RTL to run it in minutes.
RTL = Cluster(
    nodes=8,
    racks=4,
    spines=2,
    snic=SnicParams(
        units=4,
        rig=RigParams(
            nodes=8,
            idx_bits=20,
            address_bits=28,
            pending_entries=32,
            lsq_entries=16,
            lsq_reserved=4,
            transmit_prs=8,
        ),
        receive_packets=4,
        filter_banks=4,
        filter_unit_bytes=1024,
        filter_cache_bytes=16384,
        filter_ways=2,
        dram_address_bits=24,
        host_requests=32,
    ),
    preset="small",
    model=False,
    sizes_as_requested=False,  # a simulator has one
)


RTL_MODEL = replace(RTL, model=True)  #: the same cluster on the model
#: A cluster of the paper's shape, with SNICs that are small enough for RTL.
SHAPE = replace(
    RTL,
    nodes=PAPER.nodes,
    racks=PAPER.racks,
    spines=PAPER.spines,
    snic=replace(RTL.snic, units=2, rig=replace(RTL.snic.rig, nodes=PAPER.nodes)),
)
SHAPE_MODEL = replace(SHAPE, model=True)  #: the same cluster on the model


@dataclass(frozen=True, kw_only=True)
class Point:
    """Describes a run: matrix, size of properties, and what differs from the paper's default."""

    subject: Subject
    cluster: Cluster = PAPER
    elements: int = 16  #: K, elements of a property
    scaled: bool = True  #: whether sizes and latencies are in proportion to the matrix
    filter: bool = True
    coalesce: bool = True
    concatenate: bool = True
    middle_pipes: bool = True  #: whether ToRs have them; else they only forward
    units: int | None = None  #: active RIG units of a SNIC, half of them clients
    batch: int | None = None  #: idxs of a request for the paper's matrix, if not its default
    delay: int | None = None  #: DelayCycles of a SNIC, and by it a switch's, as the paper counts
    pending: int | None = None  #: entries of a Pending PR Table, if not in proportion
    spine_choice: SpineChoice = SpineChoice.HOME
    partition: str = BLOCKS  #: how rows are divided among nodes, as of a workload
    topology: str = LEAF_SPINE  #: how the racks are joined, as of a workload
    cache_bytes: int | None = None  #: cache of a switch for the paper's matrix; 0: none

    @property
    def scale(self) -> float:
        """Return the factor of batch, cache and latencies."""
        return self.subject.scale if self.scaled else 1.0

    @property
    def property_bytes(self) -> int:
        """Return the bytes of a property of K elements."""
        return paper.PROPERTY_BYTES[self.elements]

    @property
    def what(self) -> str:
        """Return the run in words."""
        return f"{self.subject.family}, K = {self.elements}, {self.form}, {self.cluster.engine}"

    @property
    def form(self) -> str:
        """Return "scaled" or "unscaled"."""
        return FORMS[self.scaled]

    @property
    def clients(self) -> int:
        """Return the number of a SNIC's client units; there are as many servers."""
        return (self.units or self.cluster.snic.units) // 2

    @property
    def requests(self) -> int:
        """Return the idxs of a work request."""
        return max(1, round(self.scale * (self.batch or self.subject.paper.batch)))

    @property
    def snic(self) -> SnicParams:
        """Return SNICs with the paper's number of pending entries for a cycle of a PR's round trip.

        The number is rounded to a power of two, as the hardware needs.
        """
        snic = self.cluster.snic
        if (self.units or 0) > snic.units:
            snic = replace(snic, units=self.units)
        if not self.cluster.sizes_as_requested:
            return snic
        part = min(1.0, round_trip(self.scale) / round_trip(1.0))
        entries = self.pending or 2 ** round(log2(snic.rig.pending_entries * part))
        return replace(snic, rig=replace(snic.rig, pending_entries=entries))

    @property
    def delays(self) -> tuple[int, int]:
        """Return DelayCycles of SNICs and of switches."""
        nic = paper.NIC_DELAY if self.delay is None else self.delay
        return nic, round(nic * paper.SWITCH_DELAY / paper.NIC_DELAY)

    @property
    def pipes(self) -> int:
        """Return the middle pipes of a ToR: the preset's or, if scaled, one for each port."""
        switch = self.cluster.switch
        return switch.ports if self.scaled and self.cluster.sizes_as_requested else switch.pipes

    @property
    def uplinks(self) -> int:
        """Return the ports of a ToR that lead to other switches."""
        cluster = self.cluster
        shape = topology_of(self.topology, cluster.nodes, cluster.racks, cluster.spines)
        return len(shape.uplinks(0))

    @property
    def cache(self) -> PropertyCacheParams:
        """Return the cache of a pipe, of the legal size nearest to its part of the switch's cache.

        It has fewer segments if the smallest cache with all of them would be too large.
        """
        switch = self.cluster.switch
        requested = paper.CACHE_BYTES if self.cache_bytes is None else self.cache_bytes
        caches = min(self.pipes, self.uplinks)  # those of uplinks are used
        expected = max(1.0, self.scale * requested / caches)
        segments = switch.cache.segments
        least = 2 * SEGMENT_BYTES * switch.cache.ways  # of a segment: two sets
        needed = max(2, self.property_bytes // SEGMENT_BYTES)
        while segments > needed and segments * least > expected:
            segments //= 2
        sets = min(16, max(1, round(log2(expected * 2 / (segments * least)))))
        size = (segments * least << sets) >> 1
        return replace(switch.cache, cache_bytes=size, segments=segments)

    @property
    def switch(self) -> str:
        """Return the ToRs in the form that a workload takes."""
        cluster, cache = self.cluster, self.cache
        changes = [cluster.changes] if cluster.changes else []
        if not self.middle_pipes:
            changes.append("pipes=0")
        elif cluster.sizes_as_requested:
            changes.append(f"pipes={self.pipes}")
            changes += [f"cache_bytes={cache.cache_bytes}", f"segments={cache.segments}"]
        return f"{cluster.preset}:{','.join(changes)}" if changes else cluster.preset

    def cycles(self, nanoseconds: float) -> int:
        """Convert a latency of the paper's to cycles of ours."""
        return round(self.scale * nanoseconds / CYCLE_NS)

    @property
    def workload(self) -> SpmmWorkload:
        """Return the workload of the session."""
        cluster = self.cluster
        nic, switch = self.delays
        return SpmmWorkload(
            matrix=self.subject.text,
            nodes=cluster.nodes,
            racks=cluster.racks,
            spines=cluster.spines,
            spine_choice=self.spine_choice,
            topology=self.topology,
            partition=self.partition,
            switch=self.switch,
            property_bytes=self.property_bytes,
            clients=self.clients,
            servers=self.clients,
            batch=self.requests,
            shares=self.scaled,
            filter=self.filter,
            coalesce=self.coalesce,
            concatenate=self.concatenate,
            switch_cache=self.cache_bytes != 0,
            switch_concatenate=self.concatenate,
            switch_read_delay=switch,
            switch_response_delay=switch,
            read_delay=nic,
            response_delay=nic,
            host_latency=self.cycles(paper.HOST_NS),
            dram_latency=self.cycles(paper.DRAM_NS),
            link_latency=self.cycles(paper.LINK_NS),
            link_stall=cluster.link_stall,
            rings=True,
            watchdog=PATIENCE,
            model=cluster.model,
        )

    @property
    def hardware(self) -> Hardware | str:
        """Return the hardware that is built for it; many points share one."""
        return SpmmSession.hardware(self.snic, self.workload)
