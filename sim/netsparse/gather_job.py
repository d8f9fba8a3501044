"""Describes a gather on a simulated cluster, as the simulator gets it, and what comes back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sim.netsparse.host.snic.request import Completion, Request
from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.switch_counts import SwitchCounts
from sim.netsparse.topology import Topology

JOB_FILE = "job.pickle"
RESULT_FILE = "result.pickle"
PROGRESS_FILE = "progress"


@dataclass(frozen=True, kw_only=True)
class NodeJob:
    """Says what one node does."""

    requests: Sequence[Sequence[Request]]  #: work requests by client unit
    servers: Sequence[int]  #: units that serve
    served_address: int
    served_bytes: int
    filter_address: int = 0
    rings: tuple[int, int] | None = None  #: address and places of its rings; None: registers


@dataclass(frozen=True, kw_only=True)
class GatherJob:
    """Says what all nodes do, and in which surroundings."""

    boundaries: Sequence[int]
    nodes: Sequence[NodeJob]
    mechanisms: Mapping[str, int] = field(default_factory=dict)  #: register fields of all SNICs
    host: Mapping[str, Any] = field(default_factory=dict)  #: settings of host memories
    dram: Mapping[str, Any] = field(default_factory=dict)  #: parameters of SNICs' memories
    link: Mapping[str, Any] = field(default_factory=dict)  #: settings of all links
    faulty_link: int = 0  #: number of the link that has faults
    switch: Mapping[str, int] = field(default_factory=dict)  #: register fields of all switches
    spine_choice: SpineChoice = SpineChoice.HOME
    fail_index: int = 0
    timeout_cycles: int = 20_000_000


@dataclass(frozen=True, kw_only=True)
class NodeResult:
    """Holds what one node's hardware says of a gather."""

    completions: Sequence[Completion]
    units: Sequence[Mapping[str, int]]  #: counters, by unit
    snic: Mapping[str, int]  #: counters
    accesses: Mapping[str, int]  #: writes and reads of registers, while requests were under way
    cycles: int  #: from the first request of the gather to this node's last completion

    @property
    def totals(self) -> dict[str, int]:
        """Return the units' counters, summed."""
        return {name: sum(unit[name] for unit in self.units) for name in self.units[0]}


@dataclass(frozen=True, kw_only=True)
class PartResult:
    """Holds what the hardware of some members of a cluster says of a gather."""

    nodes: Mapping[int, NodeResult]  #: by number, as the others
    switches: Mapping[int, SwitchCounts]
    #: counts by link and class; 0 where another part counts
    links: Mapping[int, Mapping[str, Mapping[str, int]]]
    first_packet: int  #: as in :class:`GatherResult`
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, kw_only=True)
class GatherResult:
    """Holds what came of a :class:`GatherJob`."""

    nodes: Sequence[NodeResult]
    cycles: int  #: from the first request to the last completion
    first_packet: int  #: cycles from the first request to the first packet of reads; 0: none
    #: seconds that this computer took from the first request to the last completion
    seconds: float = field(compare=False)
    #: seconds of CPU that each part took meanwhile, or the whole
    cpu_seconds: Sequence[float] = field(default=(), compare=False)
    topology: Topology
    links: Sequence[Mapping[str, Mapping[str, int]]]  #: counts by link and class
    switches: Sequence[SwitchCounts]


def joined(topology: Topology, parts: Sequence[PartResult]) -> GatherResult:
    """Return the result of a whole cluster."""
    nodes = {number: node for part in parts for number, node in part.nodes.items()}
    switches = {number: counts for part in parts for number, counts in part.switches.items()}
    links = [
        {
            kind: {name: sum(each[kind][name] for each in halves) for name in halves[0][kind]}
            for kind in halves[0]
        }
        for number in range(len(topology.links))
        if (halves := [part.links[number] for part in parts if number in part.links])
    ]
    return GatherResult(
        nodes=[nodes[number] for number in range(topology.nodes)],
        cycles=max(node.cycles for node in nodes.values()),
        first_packet=min((part.first_packet for part in parts if part.first_packet), default=0),
        seconds=max(part.seconds for part in parts),
        cpu_seconds=[part.cpu_seconds for part in parts],
        topology=topology,
        links=links,
        switches=[switches[number] for number in range(topology.switches)],
    )
