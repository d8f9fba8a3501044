"""Cuts a simulated cluster at its links: a node, or a switch, with its ends of the links to others.

Numbers of nodes and links are inputs, so that one simulator serves for all nodes, and one for all
switches with equally many ports.
"""

from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.params import Params
from hdl.netsparse.params import SnicParams
from hdl.netsparse.registers import snic_registers
from hdl.netsparse.snic_counters import CLASSES
from hdl.netsparse.switch.params import NetSparseSwitchParams
from hdl.netsparse.switch.registers import switch_registers
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.netsparse.surroundings.delay_line import INDEX_BITS
from sim.netsparse.surroundings.limits import INDEX_BITS as NODE_BITS
from sim.netsparse.surroundings.link import (
    COMMON,
    INPUTS,
    LINK_COUNTS,
    LINK_SETTINGS,
    OUTPUTS,
    TAPS,
    LinkParams,
    add_ends,
    set_link,
)
from sim.netsparse.surroundings.node import ACCESSES, Node, host_memory, snic_memory
from sim.surroundings.exchange import add_exchange


class CutLinks(Component):
    """Is one end of two links, one in each direction, whose other end is in another process.

    Its parts are those of :class:`~sim.netsparse.surroundings.link.SharedLink`. ``index`` is that
    of the link on which it sends, ``index ^ 1`` that on which it receives. ``counts`` are those of
    the former, ``counts_received`` of the latter; what the other end counts is 0. ``channel`` tells
    cut links of a part apart. The wire's delay is that of the exchange: ``settings.latency`` is
    what is beyond it.
    """

    taps = TAPS

    def __init__(self, params: LinkParams) -> None:
        own = {
            "channel": In(8),
            "faulty_link": In(INDEX_BITS - 1),
            "counts_received": Out(LINK_COUNTS),
        }
        super().__init__(params, **INPUTS, **OUTPUTS, **COMMON, **own)

    def build(self, m: Module) -> None:
        near, far = add_ends(m, self)
        set_link(m, near, self.index, self.settings, self.faulty_link)
        set_link(m, far, self.index ^ 1, self.settings, self.faulty_link)
        m.d.comb += [self.counts.eq(near.counts), self.counts_received.eq(far.counts)]
        add_exchange(
            m,
            self.channel,
            sent=(Cat(near.sent.valid, far.credits), near.sent.beat, near.sent.valid.any()),
            come=(Cat(far.sent.valid, near.credits), far.sent.beat),
        )


def link_ports(ports: int) -> dict[str, Any]:
    """Return the ports of a part with this many pairs of cut links.

    ``numbers`` are those of links on which it sends; ``link_counts`` has, of each pair, this link's
    and the other's.
    """
    return {
        "link": In(LINK_SETTINGS),
        "faulty_link": In(INDEX_BITS - 1),
        "numbers": In(data.ArrayLayout(INDEX_BITS - 1, ports)),
        "link_counts": Out(data.ArrayLayout(LINK_COUNTS, 2 * ports)),
    }


def add_links(m: Module, part: Any, link: LinkParams, senders: Any, receivers: Any) -> None:
    """Add the ends of a part's cut links; streams are by class, then by port."""
    for k, _ in enumerate(senders[CLASSES[0]]):
        m.submodules[f"link_{k}"] = ends = CutLinks(link)
        for kind in CLASSES:
            connect(m, senders[kind][k], getattr(ends, f"{kind}_i"))
            connect(m, getattr(ends, f"{kind}_o"), receivers[kind][k])
        m.d.comb += [
            ends.index.eq(part.numbers[k]),
            ends.channel.eq(k),
            ends.settings.eq(part.link),
            ends.faulty_link.eq(part.faulty_link),
            part.link_counts[2 * k].eq(ends.counts),
            part.link_counts[2 * k + 1].eq(ends.counts_received),
        ]


class NodePartParams(Params, suffix="{snic.suffix}_{link.suffix}"):
    """Sets a node of a cluster, and its links."""

    snic: SnicParams
    link: LinkParams


class NodePart(Component):
    """Connects node ``number`` to its ends of the links to its switch.

    Its other ports are those of :class:`~sim.netsparse.surroundings.cluster_system.ClusterSystem`
    with one node.
    """

    def __init__(self, params: NodePartParams) -> None:
        snic = params.snic
        axil = AxiLiteSignature(address_bits=snic_registers(snic).address_bits)
        host, dram = host_memory(snic), snic_memory(snic)
        super().__init__(
            params,
            **link_ports(1),
            number=In(NODE_BITS),
            s_axil=In(axil).array(1),
            host=In(host.settings),
            dram=In(dram.settings),
            fail_index=In(8),
            dump=In(1),
            interrupts=Out(1),
            missing=Out(32),
            lost=Out(32),
            access=In(host.access).array(1),
            accessed=Out(host.data_bits).array(1),
            register_accesses=Out(ACCESSES).array(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.node = node = Node(self.params.snic)
        connect(m, flipped(self.s_axil[0]), node.s_axil)
        senders, receivers = (
            {kind: [getattr(node, f"{side}_axis_{kind}")] for kind in CLASSES} for side in "ms"
        )
        add_links(m, self, self.params.link, senders, receivers)
        m.d.comb += [
            node.index.eq(self.number),
            node.host.eq(self.host),
            node.dram.eq(self.dram),
            node.fail_index.eq(self.fail_index),
            node.dump.eq(self.dump),
            node.access.eq(self.access[0]),
            self.accessed[0].eq(node.accessed),
            self.register_accesses[0].eq(node.register_accesses),
            self.interrupts.eq(node.irq),
            self.missing.eq(node.missing),
            self.lost.eq(node.lost),
        ]


class SwitchPartParams(Params, suffix="{switch.suffix}_{link.suffix}"):
    """Sets a switch of a cluster, and its links."""

    switch: NetSparseSwitchParams
    link: LinkParams


class SwitchPart(Component):
    """Connects a switch to its ends of the links to nodes and other switches."""

    def __init__(self, params: SwitchPartParams) -> None:
        axil = AxiLiteSignature(address_bits=switch_registers(params.switch).address_bits)
        super().__init__(params, **link_ports(params.switch.ports), s_axil_switch=In(axil).array(1))

    def build(self, m: Module) -> None:
        m.submodules.switch = switch = NetSparseSwitch(self.params.switch)
        connect(m, flipped(self.s_axil_switch[0]), switch.s_axil)
        senders, receivers = (
            {kind: getattr(switch, f"{side}_axis_{kind}") for kind in CLASSES} for side in "ms"
        )
        add_links(m, self, self.params.link, senders, receivers)
