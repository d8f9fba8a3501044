"""Puts SwitchGNN's switch, its endpoints and all links into one simulated design."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Const, Module, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from gen.base.emission.emit import module_name
from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.switchgnn.endpoint.endpoint import Endpoint
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.switch.banks.bank import Bank
from hdl.switchgnn.switch.egress.egress_port import EgressPort
from hdl.switchgnn.switch.ingress.ingress_port import GnnIngressPort
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.registers import gnn_switch_registers
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.verilator import Build, build, emission_of
from sim.surroundings.axi_ram import RAM_ARRAY, AxiRam, ram_file
from sim.surroundings.link import Link, LinkParams
from sim.switchgnn.network.background import Background, BackgroundParams
from sim.switchgnn.network.cluster import Cluster, ClusterParams
from sim.switchgnn.table_rams import add_rams, empty_rams, ram_members

LINK_DEPTH = 1024  #: beats on their way


@dataclass(frozen=True, kw_only=True)
class NetworkParams:
    """Sets a switch, and endpoints at its first ports."""

    switch: GnnSwitchParams
    endpoints: ClusterParams

    def __post_init__(self) -> None:
        if self.endpoints.workers > self.switch.ports:
            raise ValueError(
                f"{self.endpoints.workers} workers need {self.endpoints.workers} ports, the switch"
                f" has {self.switch.ports}"
            )

    @property
    def link(self) -> LinkParams:
        """Return the sizes of a link."""
        return LinkParams(depth=LINK_DEPTH, beats=self.switch.frames.beats)

    @property
    def background(self) -> BackgroundParams:
        """Return the sizes of other traffic on a link."""
        return BackgroundParams()


class Network(Component):
    """Connects endpoints to the ports of a switch, each by a link in both directions.

    The link from worker k to the switch has the number 2 k, the one to worker k the next.
    ``frames`` counts what all links were given, ``lost`` what they dropped or broke. Other traffic
    uses each link, too (:class:`Background`), in front of it, by the first of its settings on links
    from workers; ``background`` counts its beats on those to workers. A switch whose
    tables are in memory has RAMs for them, whose numbers follow those of the endpoints.
    """

    def __init__(self, params: NetworkParams) -> None:
        registers = gnn_switch_registers(params.switch)
        outer = Cluster(params.endpoints).signature.members
        self.inherited = [name for name in outer if "_axis_" not in name]
        tables = ram_members(params.switch.table_memory) if params.switch.in_memory else {}
        super().__init__(
            params,
            {
                "switch_axil": In(AxiLiteSignature(address_bits=registers.address_bits)),
                "link_settings": In(params.link.settings),
                "frames": Out(32),
                "lost": Out(32),
                "background_settings": In(data.ArrayLayout(params.background.settings, 2)),
                "background": Out(32),
                **tables,
                **{name: outer[name] for name in self.inherited},
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        switch: Any = GnnSwitch(self.params.switch)
        m.submodules.switch = switch
        m.submodules.endpoints = endpoints = Cluster(self.params.endpoints)
        connect(m, flipped(self.switch_axil), switch.s_axil)
        if self.params.switch.in_memory:
            memory, first = self.params.switch.table_memory, self.params.endpoints.memories
            add_rams(m, memory, self, switch.m_axi_tables, first=first)
        for name in self.inherited:
            near, far = getattr(self, name), getattr(endpoints, name)
            if name.startswith("axil"):
                connect(m, flipped(near), far)
            elif self.signature.members[name].flow is In:
                m.d.comb += far.eq(near)
            else:
                m.d.comb += near.eq(far)
        links: list[Link] = []
        others: list[Background] = []
        for k in range(self.params.endpoints.workers):
            ends = (
                (getattr(endpoints, f"m_axis_{k}"), switch.s_axis[k]),
                (switch.m_axis[k], getattr(endpoints, f"s_axis_{k}")),
            )
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
        m.d.comb += [
            self.background.eq(total(other.sent for other in others[1::2])),
            self.frames.eq(total(link.sent for link in links)),
            self.lost.eq(
                total(count for link in links for count in (link.dropped, link.corrupted))
            ),
        ]
        return m


def total(counts: Iterable[Value]) -> Value:
    """Return the sum of counters of 32 bits, which wraps as they do."""
    return Value.cast(sum(counts, Const(0, 32)))[:32]


def network_of(switch: GnnSwitchParams, workers: int) -> NetworkParams:
    """Describe a switch's network; its endpoints have its sizes, and room for a window."""
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
    return NetworkParams(switch=switch, endpoints=cluster)


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
    switch, endpoints = params.switch, params.endpoints
    return [
        Endpoint(endpoints.endpoint),
        Bank(switch),
        Link(params.link),
        AxiRam(endpoints.ram),
        GnnIngressPort(switch),
        EgressPort(switch),
    ]


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
