"""Puts SwitchGNN's switches, endpoints and all links into one simulated design."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amaranth.hdl import Const, Module, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from gen.base.emission.emit import module_name
from hdl.common.component import Component
from hdl.switchgnn.endpoint.endpoint import Endpoint
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.switch.banks.bank import Bank
from hdl.switchgnn.switch.egress.egress_port import EgressPort
from hdl.switchgnn.switch.ingress.ingress_port import GnnIngressPort
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.verilator import Build, build, emission_of
from sim.surroundings.axi_ram import RAM_ARRAY, AxiRam, ram_file
from sim.surroundings.link import Link, LinkParams
from sim.switchgnn.job import SWITCH, Place
from sim.switchgnn.network.background import Background, BackgroundParams
from sim.switchgnn.network.cluster import Cluster, ClusterParams
from sim.switchgnn.racked_job import leaf_name, spine_name
from sim.switchgnn.table_rams import add_rams, empty_rams, ram_members

LINK_DEPTH = 1024  #: beats on their way
MAX_LINKS = 128  #: links in both directions, each direction of which has a number of 8 bits


@dataclass(frozen=True, kw_only=True)
class NetworkParams:
    """Sets a switch, and endpoints at its first ports; or leaves with endpoints, below spines.

    Each leaf has one rack's share of the endpoints; its links lead to a spine each.
    """

    switch: GnnSwitchParams  #: the only switch, or each leaf
    endpoints: ClusterParams
    racks: int = 1

    def __post_init__(self) -> None:
        workers, spines = self.endpoints.workers // self.racks, self.switch.links
        if workers + spines > self.switch.ports:
            more = f" and {spines} links to spines" if spines else ""
            raise ValueError(
                f"{workers} worker{'s' * (workers > 1)}{more} need {workers + spines} ports, the"
                f" switch has {self.switch.ports}"
            )
        if self.racks > 1 and self.switch.in_memory:
            raise ValueError("switches in racks have tables on chip: --set tables=chip")
        if len(self.places) + len(self.cables) > MAX_LINKS:
            raise ValueError(f"there are {MAX_LINKS} links at most, between switches included")

    @property
    def switches(self) -> dict[str, GnnSwitchParams]:
        """Return the sizes of all switches, by their names."""
        if self.racks == 1:
            return {SWITCH: self.switch}
        spine = replace(self.switch, ports=self.racks, links=self.racks)
        return {leaf_name(k): self.switch for k in range(self.racks)} | {
            spine_name(k): spine for k in range(self.switch.links)
        }

    @property
    def places(self) -> list[Place]:
        """Return where each worker is."""
        each = self.endpoints.workers // self.racks
        names = [leaf_name(k) for k in range(self.racks)] if self.racks > 1 else [SWITCH]
        return [(name, port) for name in names for port in range(each)]

    @property
    def cables(self) -> list[tuple[Place, Place]]:
        """Return the links between switches, by their ends: of a leaf and of a spine."""
        return [
            ((leaf_name(k), self.switch.first_link + spine), (spine_name(spine), k))
            for k in range(self.racks)
            for spine in range(self.switch.links)
        ]

    @property
    def ends(self) -> list[tuple[Place, Place]]:
        """Return the ends of all links, by number: of a worker or a leaf, and of what is above."""
        workers = [(f"worker_{k}", 0) for k in range(self.endpoints.workers)]
        return [*zip(workers, self.places, strict=True), *self.cables]

    @property
    def distance(self) -> int:
        """Return the most links between two workers."""
        return 2 if self.racks == 1 else 4

    @property
    def link(self) -> LinkParams:
        """Return the sizes of a link."""
        return LinkParams(depth=LINK_DEPTH, beats=self.switch.frames.beats)

    @property
    def background(self) -> BackgroundParams:
        """Return the sizes of other traffic on a link."""
        return BackgroundParams()


class Network(Component):
    """Connects endpoints to ports of switches, and leaves to spines, by links in both directions.

    The link from worker k to its switch has the number 2 k, the one to worker k the next. Behind
    them come those between switches, first the one from the leaf.
    ``frames`` counts what all links were given, ``lost`` what they dropped or broke. Other traffic
    uses each link, too (:class:`Background`), in front of it, by the first of its settings on links
    from workers; ``background`` counts its beats on those to workers. A switch whose
    tables are in memory has RAMs for them, whose numbers follow those of the endpoints. Kinds of it
    have another ``cluster``, other :meth:`switches`, and ``more`` ports.
    """

    cluster: type[Cluster] = Cluster

    def __init__(self, params: NetworkParams, **more: Any) -> None:
        outer = self.cluster(params.endpoints).signature.members
        self.inherited = [name for name in outer if "_axis_" not in name]
        tables = ram_members(params.switch.table_memory) if params.switch.in_memory else {}
        super().__init__(
            params,
            **{
                f"{name}_axil": switch.signature.members["s_axil"]
                for name, switch in self.switches(params).items()
            },
            link_settings=In(params.link.settings),
            frames=Out(32),
            lost=Out(32),
            background_settings=In(data.ArrayLayout(params.background.settings, 2)),
            background=Out(32),
            **tables,
            **{name: outer[name] for name in self.inherited},
            **more,
        )

    def build(self, m: Module) -> None:
        switches = self.switches(self.params)
        for name, switch in switches.items():
            m.submodules[name] = switch
            connect(m, flipped(getattr(self, f"{name}_axil")), switch.s_axil)
        m.submodules.endpoints = endpoints = self.cluster(self.params.endpoints)
        if self.params.switch.in_memory:
            memory, first = self.params.switch.table_memory, self.params.endpoints.memories
            add_rams(m, memory, self, switches[SWITCH].m_axi_tables, first=first)
        forward(m, self, endpoints, self.inherited)
        links: list[Link] = []
        others: list[Background] = []
        below = [
            (getattr(endpoints, f"m_axis_{k}"), getattr(endpoints, f"s_axis_{k}"))
            for k in range(self.params.endpoints.workers)
        ]
        below += [
            (switches[leaf].m_axis[up], switches[leaf].s_axis[up])
            for (leaf, up), _ in self.params.cables
        ]
        above = [*self.params.places, *(spine for _, spine in self.params.cables)]
        for k, ((source, sink), (name, port)) in enumerate(zip(below, above, strict=True)):
            far = switches[name]
            ends = (source, far.s_axis[port]), (far.m_axis[port], sink)
            for path, (source, sink) in enumerate(ends):
                m.submodules[f"link_{k}_{path}"] = link = Link(self.params.link)
                links.append(link)
                m.submodules[f"background_{k}_{path}"] = other = Background(self.params.background)
                others.append(other)
                connect(m, source, other.i)
                connect(m, other.o, link.i)
                connect(m, link.o, sink)
                m.d.comb += [
                    link.index.eq(2 * k + path),
                    link.settings.eq(self.link_settings),
                    other.index.eq(2 * k + path),
                    other.settings.eq(self.background_settings[path]),
                ]
        m.d.comb += self.background.eq(total(other.sent for other in others[1::2]))
        count_frames(m, links, self.frames, self.lost)
        self.add_more(m, switches)

    def switches(self, params: Any) -> dict[str, Any]:
        """Return the switches by their names."""
        return {name: GnnSwitch(switch) for name, switch in params.switches.items()}

    def add_more(self, m: Module, switches: dict[str, Any]) -> None:
        """Add what kinds of it have beside the endpoints and their links."""


def forward(m: Module, outer: Any, inner: Any, names: Sequence[str]) -> None:
    """Connect ports of a component to those of these names of one that is in it."""
    for name in names:
        near, far, member = (
            getattr(outer, name),
            getattr(inner, name),
            inner.signature.members[name],
        )
        if member.is_signature:
            connect(m, flipped(near), far)
        else:
            m.d.comb += far.eq(near) if member.flow is In else near.eq(far)


def count_frames(m: Module, links: Sequence[Link], frames: Value, lost: Value) -> None:
    """Let ``frames`` and ``lost`` count what links are given, and what they lose."""
    losses = (count for link in links for count in (link.dropped, link.corrupted))
    m.d.comb += [frames.eq(total(link.sent for link in links)), lost.eq(total(losses))]


def total(counts: Iterable[Value]) -> Value:
    """Return the sum of counters of 32 bits, which wraps as they do."""
    return Value.cast(sum(counts, Const(0, 32)))[:32]


def network_of(
    switch: GnnSwitchParams, workers: int, racks: int = 1, spines: int = 1
) -> NetworkParams:
    """Describe a switch's network; its endpoints have its sizes, and room for a window.

    In several racks each has such a switch, with a link to each of the ``spines``.
    """
    window = switch.window * switch.frames.beats
    endpoint = EndpointParams(
        lanes=switch.lanes,
        window=switch.window,
        banks=switch.banks,
        depth=switch.slots,
        copies=64,  # raw features are of no use to a network of this kind
        address_bits=24,
        prefetch_beats=128,
        ingress_beats=max(128, 1 << ceil_log2(window)),
    )
    cluster = ClusterParams(endpoint=endpoint, workers=workers, ram_bytes=1 << 24)
    if racks > 1:
        switch = replace(switch, links=spines)
    return NetworkParams(switch=switch, endpoints=cluster, racks=racks)


def build_network(params: NetworkParams, *, optimise: bool = False) -> Build:
    """Build the simulator of a network, or find it in the cache.

    ``optimise`` is for long simulations. What stands in the network many times is then compiled
    once each.
    """
    return build(
        emission_of(Network(params)),
        extra_sources=[RAM_ARRAY],
        hier_blocks=[module_name(block) for block in blocks(params)] if optimise else [],
        optimise=optimise,
    )


def blocks(params: NetworkParams) -> list[Component]:
    """Return the largest parts of which there are many."""
    endpoints = params.endpoints
    ends = [Endpoint(endpoints.endpoint), Link(params.link), AxiRam(endpoints.ram)]
    switches = dict.fromkeys(params.switches.values())
    return [*ends, *(block for switch in switches for block in switch_blocks(switch))]


def switch_blocks(switch: GnnSwitchParams) -> list[Component]:
    """Return the largest parts of a switch of which there are many."""
    return [part(switch) for part in (Bank, GnnIngressPort, EgressPort)]


def empty_memories(params: ClusterParams, folder: Path) -> list[str]:
    """Return arguments of a simulation whose memories hold zeros at first, from a file."""
    empty = folder / "empty.bin"
    with empty.open("wb") as file:
        file.truncate(params.ram_bytes)
    return [ram_file(k, empty) for k in range(params.memories)]


def empty_network(params: NetworkParams, folder: Path) -> list[str]:
    """Return arguments of a simulation of a network whose memories hold zeros at first."""
    arguments = empty_memories(params.endpoints, folder)
    if params.switch.in_memory:
        memory, first = params.switch.table_memory, params.endpoints.memories
        arguments += empty_rams(memory, folder, first=first)
    return arguments
