"""Connects SNICs inside the simulated design, by switches and the links between them."""

from dataclasses import dataclass, field, replace
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.netsparse.params import SnicParams
from hdl.netsparse.snic_counters import CLASSES
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.registers import switch_registers
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.netsparse.leaf_spine import LeafSpine
from sim.netsparse.surroundings.delay_line import INDEX_BITS
from sim.netsparse.surroundings.link import (
    LINK_COUNTS,
    LINK_SETTINGS,
    MAX_LATENCY,
    LinkParams,
    SharedLink,
    set_link,
)
from sim.netsparse.topology import End, Topology


@dataclass(frozen=True, kw_only=True)
class NetworkParams:
    """Sets the shape of a network, and what its switches are."""

    topology: Topology = field(default_factory=LeafSpine)
    switch: NetSparseSwitchParams = field(  #: parameters of each ToR, but for its ports
        default_factory=lambda: NetSparseSwitchParams(pipes=0)
    )
    link_latency: int = MAX_LATENCY  #: most that links have buffers for

    def __post_init__(self) -> None:
        if self.topology.nodes > self.switch.nodes:
            raise ValueError(
                f"{self.topology.nodes} nodes are more than the switches are built for:"
                f" {self.switch.nodes}"
            )
        _ = self.of(0)  # judges a ToR; spines of a model may have more ports than hardware

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: shape and switches."""
        return f"{self.topology.suffix}_{self.of(0).suffix}"

    @property
    def link(self) -> LinkParams:
        """Return the sizes of every link."""
        return LinkParams(mtu=self.switch.mtu, latency=self.link_latency)

    def of(self, switch: int) -> NetSparseSwitchParams:
        """Return the sizes of a switch: a spine has no middle pipes.

        All pipes of a ToR have equally many ports; so it has ``switch.pipes`` pipes, or fewer where
        that number does not divide the ports.
        """
        ports = self.topology.ports(switch)
        if not self.topology.is_tor(switch):
            return replace(self.switch, ports=ports, pipes=0)
        pipes = max((k for k in range(1, self.switch.pipes + 1) if not ports % k), default=0)
        return replace(self.switch, ports=ports, pipes=pipes)


class Network(Component):
    """Links every node to the ToR of its rack and back, and every ToR to every spine.

    Node n sends into ``reads_i[n]`` and ``responses_i[n]`` and receives from the ports ``_o``.
    ``s_axil_switch_<k>`` is the register bus of switch k (:class:`Topology`: ToRs first). All
    links have the settings ``link``, but faults and stops only link number ``faulty_link`` of
    ``topology.links``; ``counts`` are by link.
    """

    def __init__(self, params: NetworkParams) -> None:
        topology = params.topology
        super().__init__(
            params,
            **{f"{kind}_i": In(AXIS).array(topology.nodes) for kind in CLASSES},
            **{f"{kind}_o": Out(AXIS).array(topology.nodes) for kind in CLASSES},
            **switch_buses(params),
            link=In(LINK_SETTINGS),
            faulty_link=In(INDEX_BITS - 1),
            counts=Out(link_counts(topology)),
        )

    def build(self, m: Module) -> None:
        topology = self.params.topology
        switches = []
        for k in range(topology.switches):
            m.submodules[f"switch_{k}"] = switch = NetSparseSwitch(self.params.of(k))
            connect(m, flipped(getattr(self, f"s_axil_switch_{k}")), switch.s_axil)
            switches.append(switch)

        def source(end: End, kind: str) -> Any:
            if end.port is None:
                return flipped(getattr(self, f"{kind}_i")[end.index])
            return getattr(switches[end.index], f"m_axis_{kind}")[end.port]

        def target(end: End, kind: str) -> Any:
            if end.port is None:
                return flipped(getattr(self, f"{kind}_o")[end.index])
            return getattr(switches[end.index], f"s_axis_{kind}")[end.port]

        for k, wire in enumerate(topology.links):
            m.submodules[f"link_{k}"] = link = SharedLink(self.params.link)
            for kind in CLASSES:
                connect(m, source(wire.source, kind), getattr(link, f"{kind}_i"))
                connect(m, getattr(link, f"{kind}_o"), target(wire.target, kind))
            set_link(m, link, k, self.link, self.faulty_link)
            m.d.comb += self.counts[k].eq(link.counts)


def network_params(
    topology: Topology, snic: SnicParams, switch: NetSparseSwitchParams
) -> NetworkParams:
    """Describe a network whose switches take as long packets and properties as such SNICs."""
    return NetworkParams(
        topology=topology,
        switch=replace(
            switch,
            nodes=snic.rig.nodes,
            mtu=snic.mtu,
            most_property_bytes=snic.rig.most_property_bytes,
        ),
    )


def switch_buses(params: NetworkParams) -> dict[str, Any]:
    """Return the register bus of each switch, by name."""
    return {
        f"s_axil_switch_{k}": In(
            AxiLiteSignature(address_bits=switch_registers(params.of(k)).address_bits)
        )
        for k in range(params.topology.switches)
    }


def link_counts(topology: Topology) -> data.ArrayLayout:
    """Return the layout of the counts of all links."""
    return data.ArrayLayout(LINK_COUNTS, len(topology.links))
