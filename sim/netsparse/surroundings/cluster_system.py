"""Puts racks of nodes, their switches and links into one simulated design."""

from dataclasses import field

from amaranth.hdl import Cat, Const, Module
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.params import Params
from hdl.netsparse.params import SnicParams
from hdl.netsparse.registers import snic_registers
from hdl.netsparse.snic_counters import CLASSES
from sim.netsparse.surroundings.delay_line import INDEX_BITS
from sim.netsparse.surroundings.limits import MAX_NODES
from sim.netsparse.surroundings.link import LINK_SETTINGS
from sim.netsparse.surroundings.network import Network, NetworkParams, link_counts, switch_buses
from sim.netsparse.surroundings.node import ACCESSES, Node, host_memory, snic_memory
from sim.surroundings.axi_ram import AxiRamParams
from sim.surroundings.pcie.params import PcieHostParams


class ClusterParams(Params, suffix="{network.suffix}_{snic.suffix}"):
    """Sets the SNICs and the network of a cluster."""

    snic: SnicParams = field(default_factory=SnicParams)
    network: NetworkParams = field(default_factory=NetworkParams)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nodes > self.snic.rig.nodes:
            raise ValueError(
                f"{self.nodes} nodes are more than the SNICs are built for: {self.snic.rig.nodes}"
            )

    @property
    def nodes(self) -> int:
        """Return N, the number of nodes."""
        return self.network.topology.nodes

    @property
    def host(self) -> AxiRamParams | PcieHostParams:
        """Return the sizes of a node's host memory."""
        return host_memory(self.snic)

    @property
    def dram(self) -> AxiRamParams:
        """Return the sizes of a SNIC's memory."""
        return snic_memory(self.snic)


class ClusterSystem(Component):
    """Connects every node of a leaf-spine cluster (:class:`Node`) to a :class:`Network`.

    ``host`` and ``dram`` are the settings of every such memory; their failures apply only to RAM
    number ``fail_index``. ``dump`` writes all memories to their files when it rises. ``missing``
    and ``lost`` count accesses beyond a memory's end, summed. ``access`` is that of a host's
    processor to its memory, ``register_accesses`` are those to a SNIC over its ``s_axil``.
    ``s_axil_switch_<k>``, ``link``, ``faulty_link`` and ``link_counts`` are the network's.
    """

    def __init__(self, params: ClusterParams) -> None:
        if params.nodes > MAX_NODES:
            raise ValueError(f"a simulation has at most {MAX_NODES} nodes: {params.nodes}")
        topology = params.network.topology
        axil = AxiLiteSignature(address_bits=snic_registers(params.snic).address_bits)
        super().__init__(
            params,
            s_axil=In(axil).array(params.nodes),
            **switch_buses(params.network),
            host=In(params.host.settings),
            dram=In(params.dram.settings),
            fail_index=In(8),
            link=In(LINK_SETTINGS),
            faulty_link=In(INDEX_BITS - 1),
            link_counts=Out(link_counts(topology)),
            dump=In(1),
            interrupts=Out(params.nodes),
            missing=Out(32),
            lost=Out(32),
            access=In(params.host.access).array(params.nodes),
            accessed=Out(params.host.data_bits).array(params.nodes),
            register_accesses=Out(ACCESSES).array(params.nodes),
        )

    def build(self, m: Module) -> None:
        m.submodules.network = network = Network(self.params.network)
        for name in switch_buses(self.params.network):
            connect(m, flipped(getattr(self, name)), getattr(network, name))
        m.d.comb += [
            network.link.eq(self.link),
            network.faulty_link.eq(self.faulty_link),
            self.link_counts.eq(network.counts),
        ]
        nodes = []
        for k in range(self.params.nodes):
            m.submodules[f"node_{k}"] = node = Node(self.params.snic)
            connect(m, flipped(self.s_axil[k]), node.s_axil)
            for kind in CLASSES:
                connect(m, getattr(node, f"m_axis_{kind}"), getattr(network, f"{kind}_i")[k])
                connect(m, getattr(network, f"{kind}_o")[k], getattr(node, f"s_axis_{kind}"))
            m.d.comb += [
                node.index.eq(k),
                node.host.eq(self.host),
                node.dram.eq(self.dram),
                node.fail_index.eq(self.fail_index),
                node.dump.eq(self.dump),
                node.access.eq(self.access[k]),
                self.accessed[k].eq(node.accessed),
                self.register_accesses[k].eq(node.register_accesses),
            ]
            nodes.append(node)
        m.d.comb += [
            self.interrupts.eq(Cat(node.irq for node in nodes)),
            self.missing.eq(sum((node.missing for node in nodes), start=Const(0, 32))[:32]),
            self.lost.eq(sum((node.lost for node in nodes), start=Const(0, 32))[:32]),
        ]
