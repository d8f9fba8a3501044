"""Connects transports by a network, without anything to train: AllReduce alone."""

from dataclasses import field

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.params import Params
from hdl.p4sgd.transport.params import NETWORK_SETTINGS, TransportParams
from hdl.p4sgd.transport.transport import NETWORK_EVENTS, Transport
from sim.p4sgd.surroundings.network import Network, NetworkParams
from sim.surroundings.link import LINK_COUNTS


class AllReduceParams(Params, suffix="{network.suffix}_{transport.suffix}"):
    """Sets the sizes of the system."""

    transport: TransportParams = field(default_factory=TransportParams)
    network: NetworkParams = field(default_factory=NetworkParams)


class AllReduceSystem(Component):
    """Connects M :class:`Transport` by a :class:`Network`; ``clear`` begins a job on all."""

    def __init__(self, params: AllReduceParams) -> None:
        count = params.network.workers
        activations = stream.Signature(params.transport.activations)
        super().__init__(
            params,
            settings=In(NETWORK_SETTINGS).array(count),
            clear=In(1),
            partial=In(activations).array(count),
            full=Out(activations).array(count),
            idle=Out(count),
            abandoned=Out(count),
            events=Out(NETWORK_EVENTS).array(count),
            s_axil=In(params.network.axil),
            link=In(params.network.link.settings),
            cut=In(count),
            counts=Out(LINK_COUNTS),
        )

    def build(self, m: Module) -> None:
        m.submodules.network = network = Network(self.params.network)
        connect(m, flipped(self.s_axil), network.s_axil)
        m.d.comb += [
            network.link.eq(self.link),
            network.cut.eq(self.cut),
            self.counts.eq(network.counts),
        ]
        for k in range(self.params.network.workers):
            m.submodules[f"transport_{k}"] = transport = Transport(self.params.transport)
            connect(m, flipped(self.partial[k]), transport.partial)
            connect(m, transport.full, flipped(self.full[k]))
            connect(m, transport.m_axis, network.from_workers[k])
            connect(m, network.to_workers[k], transport.s_axis)
            m.d.comb += [
                transport.settings.eq(self.settings[k]),
                transport.clear.eq(self.clear),
                transport.allowed.eq(1),
                self.idle[k].eq(transport.idle),
                self.abandoned[k].eq(transport.abandoned),
                self.events[k].eq(transport.events),
            ]
