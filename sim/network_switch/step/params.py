"""Sets the sizes of a system that carries out whole training steps."""

from dataclasses import dataclass, field
from itertools import chain

from hdl.gather.engine_params import GatherEngineParams
from hdl.network_switch.params import NetworkSwitchParams
from sim.network_switch.step.timeline import STAGES
from sim.surroundings.event_log import EventLog
from sim.surroundings.link import LinkParams
from sim.surroundings.pcie.params import PcieHostParams
from sim.switchgnn.endpoint_side import Regions
from sim.switchgnn.network.cluster import ClusterParams
from sim.switchgnn.network.network import LINK_DEPTH, NetworkParams, network_of

RING_PLACES = 64  #: work requests that a gather engine's ring holds
ROOM_BITS = 22  #: width of an address of host memory, and of each memory of a card


@dataclass(frozen=True, kw_only=True)
class WorkersParams(ClusterParams):
    """Sets endpoints with three memories each, one of which a gather engine fills from a host's."""

    ram_bytes: int = 1 << ROOM_BITS
    gather: GatherEngineParams = field(
        default_factory=lambda: GatherEngineParams(address_bits=24, descriptors=4)
    )

    @property
    def host(self) -> PcieHostParams:
        """Return the sizes of a worker's host."""
        return PcieHostParams(data_bits=self.gather.data_bits, address_bits=ROOM_BITS)

    @property
    def rams(self) -> tuple[str, ...]:
        """Return the names of a card's memories, each a channel of its HBM."""
        return "tables", "features", "sums"

    @property
    def regions(self) -> Regions:
        """Return where a host has an endpoint's tables, features and sums, for DMA."""
        return {name: (k * self.room, 0, self.room) for k, name in enumerate(self.rams)}


@dataclass(frozen=True, kw_only=True)
class StepParams(NetworkParams):
    """Sets a switch for SwitchGNN and all-reduces, and workers that each have two ports of it.

    Worker k of M has its card at port k, and its host's network interface at port M + k.
    """

    endpoints: WorkersParams
    network: NetworkSwitchParams

    @property
    def nic_link(self) -> LinkParams:
        """Return the sizes of a link to a host's network interface."""
        return LinkParams(depth=LINK_DEPTH, beats=self.network.allreduce.frames.beats)

    @property
    def logs(self) -> list[EventLog]:
        """Return the log of each worker: a bit for each thing that moves in a cycle."""
        fields = tuple((name, 1) for name in chain.from_iterable(STAGES.values()))
        return [EventLog(k, fields) for k in range(self.endpoints.workers)]


def step_of(network: NetworkSwitchParams, workers: int) -> StepParams:
    """Describe the system around a switch; ValueError if it has too few ports, or lacks a part."""
    if network.ports < 2 * workers:
        raise ValueError(
            f"{workers} workers need {2 * workers} ports, as each has one for its card and one for"
            f" its host; the switch has {network.ports}"
        )
    for name in ("switchgnn", "allreduce"):
        if not getattr(network, f"has_{name}"):
            raise ValueError(f"the switch has no engine {name}: --set has_{name}=true")
    usual = network_of(network.switchgnn, workers)
    endpoints = WorkersParams(endpoint=usual.endpoints.endpoint, workers=workers)
    return StepParams(switch=network.switchgnn, endpoints=endpoints, network=network)
