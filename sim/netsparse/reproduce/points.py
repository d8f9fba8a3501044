"""Runs that a reproduction asks for: a matrix, a cluster, and what differs from the paper.

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

Unscaled, all of these are the numbers of table 5, but for links, whose latency has 255 cycles at
most. Work requests are in rings, because a small batch has little time for registers.
"""

from dataclasses import dataclass, replace
from math import log2

from hdl.common.core_clock import CORE_MHZ
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.params import SnicParams
from hdl.netsparse.property_cache.params import SEGMENT_BYTES, PropertyCacheParams
from hdl.netsparse.rig.params import RigParams
from hdl.netsparse.switch.params import NetSparseSwitchParams
from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.subjects import Subject
from sim.netsparse.spmm_session import Hardware, SpmmSession
from sim.netsparse.spmm_workload import MOST_LINK_LATENCY, SpmmWorkload, switch_of

FORMS = {True: "scaled", False: "unscaled"}  #: of a run
CYCLE_NS = 1 / paper.CLOCK_GHZ  #: of the paper's time
LINK_STALL = round(256 * (1 - paper.LINE_GBPS / 8 * CYCLE_NS / BEAT_BYTES))  #: cycles of 256
SOFTWARE_CYCLES = 1e3 * paper.SOFTWARE_US / CYCLE_NS  #: of SAOpt, a PR and core
OUR_CYCLE_NS = 1e3 / CORE_MHZ
OUR_SOFTWARE_CYCLES = 1e3 * paper.SOFTWARE_US / OUR_CYCLE_NS  #: of such cores at our line
MOST_DELAY = 32768  #: DelayCycles that hardware can have
LINKS = 8  #: that a PR passes on its way there and back, between racks
DELAYS = 2 * (paper.NIC_DELAY + 2 * paper.SWITCH_DELAY)  #: DelayCycles on that way
PATIENCE = 10_000_000  #: cycles without progress, of the watchdog


def round_trip(scale: float) -> float:
    """Cycles of a PR to another rack and of its response, by latencies that are scaled so much."""
    return scale * (LINKS * paper.LINK_NS + paper.HOST_NS) / CYCLE_NS + DELAYS


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Nodes, racks and hardware."""

    nodes: int
    racks: int
    spines: int
    snic: SnicParams
    preset: str  #: of the ToRs
    changes: str = ""  #: of their parameters
    model: bool  #: run on the model, not in RTL
    sizes_as_asked: bool = True  #: a point says how large caches and tables are; else the build
    link_stall: int = 0  #: chance in 256 that an end of a link moves nothing

    @property
    def line_bytes(self) -> float:
        """That a line brings in a cycle."""
        return BEAT_BYTES * (256 - self.link_stall) / 256

    @property
    def engine(self) -> str:
        """What runs it."""
        return "model" if self.model else "RTL"

    @property
    def switch(self) -> NetSparseSwitchParams:
        """A ToR with the preset's sizes."""
        return switch_of(self.preset)

    @property
    def what(self) -> str:
        """In words."""
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
#: As large as RTL runs in minutes.
RTL = Cluster(
    nodes=8,
    racks=2,
    spines=1,
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
    sizes_as_asked=False,  # a simulator has one
)


RTL_MODEL = replace(RTL, model=True)  #: the same on the model


@dataclass(frozen=True, kw_only=True)
class Point:
    """A run: a matrix, a size of properties, and what differs from the paper's default."""

    subject: Subject
    cluster: Cluster = PAPER
    elements: int = 16  #: K
    scaled: bool = True  #: batch, cache and latencies, and Pending PR Tables with a PR's way
    filter: bool = True
    coalesce: bool = True
    concatenate: bool = True
    middle_pipes: bool = True  #: of the ToRs; without, they only forward
    units: int | None = None  #: active ones of a SNIC, half of them clients
    batch: int | None = None  #: of the paper's nonzeros, if not the paper's default
    delay: int | None = None  #: DelayCycles of a SNIC as the paper counts them; a switch's too
    cache_bytes: int | None = None  #: of a switch, for the paper's nonzeros; 0: no cache

    @property
    def scale(self) -> float:
        """By which batch, cache and latencies are multiplied."""
        return self.subject.scale if self.scaled else 1.0

    @property
    def property_bytes(self) -> int:
        """Of K elements."""
        return paper.PROPERTY_BYTES[self.elements]

    @property
    def what(self) -> str:
        """In words, as far as one may want to know what runs."""
        return f"{self.subject.family}, K = {self.elements}, {self.form}, {self.cluster.engine}"

    @property
    def form(self) -> str:
        """Scaled or not, in a word."""
        return FORMS[self.scaled]

    @property
    def clients(self) -> int:
        """Client units of a SNIC; there are as many servers."""
        most = self.cluster.snic.units // 2
        return most if self.units is None else min(most, self.units // 2)

    @property
    def requests(self) -> int:
        """Idxs of a work request."""
        return max(1, round(self.scale * (self.batch or self.subject.paper.batch)))

    @property
    def snic(self) -> SnicParams:
        """SNICs with as many pending entries for each cycle of a PR's way as the paper's.

        Of the legal numbers, the powers of two, it is the nearest one.
        """
        snic = self.cluster.snic
        if not self.cluster.sizes_as_asked:
            return snic
        part = min(1.0, round_trip(self.scale) / round_trip(1.0))
        entries = 2 ** round(log2(snic.rig.pending_entries * part))
        return replace(snic, rig=replace(snic.rig, pending_entries=entries))

    @property
    def delays(self) -> tuple[int, int]:
        """DelayCycles of SNICs, at most what hardware can have, and of switches."""
        nic = paper.NIC_DELAY if self.delay is None else self.delay
        return min(nic, MOST_DELAY), round(nic * paper.SWITCH_DELAY / paper.NIC_DELAY)

    @property
    def pipes(self) -> int:
        """Middle pipes of a ToR: the preset's, or scaled a line's worth for each port."""
        switch = self.cluster.switch
        return switch.ports if self.scaled and self.cluster.sizes_as_asked else switch.pipes

    @property
    def cache(self) -> PropertyCacheParams:
        """The cache of a pipe: of the legal sizes the nearest to what the whole switch is to have.

        It has fewer segments where the smallest cache of all of them would be too large.
        """
        switch = self.cluster.switch
        asked = paper.CACHE_BYTES if self.cache_bytes is None else self.cache_bytes
        caches = min(self.pipes, self.cluster.spines)  # those of uplinks are used
        wanted = max(1.0, self.scale * asked / caches)
        segments = switch.cache.segments
        least = 2 * SEGMENT_BYTES * switch.cache.ways  # of a segment: two sets
        needed = max(2, self.property_bytes // SEGMENT_BYTES)
        while segments > needed and segments * least > wanted:
            segments //= 2
        sets = min(16, max(1, round(log2(wanted * 2 / (segments * least)))))
        size = (segments * least << sets) >> 1
        return replace(switch.cache, cache_bytes=size, segments=segments)

    @property
    def switch(self) -> str:
        """The ToRs, as a workload names them."""
        cluster, cache = self.cluster, self.cache
        changes = [cluster.changes] if cluster.changes else []
        if not self.middle_pipes:
            changes.append("pipes=0")
        elif cluster.sizes_as_asked:
            changes.append(f"pipes={self.pipes}")
            changes += [f"cache_bytes={cache.cache_bytes}", f"segments={cache.segments}"]
        return f"{cluster.preset}:{','.join(changes)}" if changes else cluster.preset

    def cycles(self, nanoseconds: float) -> int:
        """A latency of the paper's in our cycles."""
        return round(self.scale * nanoseconds / CYCLE_NS)

    @property
    def workload(self) -> SpmmWorkload:
        """What the session is asked."""
        cluster = self.cluster
        nic, switch = self.delays
        return SpmmWorkload(
            matrix=self.subject.text,
            nodes=cluster.nodes,
            racks=cluster.racks,
            spines=cluster.spines,
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
            link_latency=min(MOST_LINK_LATENCY, self.cycles(paper.LINK_NS)),
            link_stall=cluster.link_stall,
            rings=True,
            watchdog=PATIENCE,
            **({"model": True} if cluster.model else {}),
        )

    @property
    def hardware(self) -> Hardware | str:
        """What is built to run it; many points share one."""
        return SpmmSession.hardware(self.snic, self.workload)
