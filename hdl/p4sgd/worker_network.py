"""Connects a worker's engines, its host and the network."""

from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import connect, flipped

from hdl.p4sgd.engine.params import LENGTHS
from hdl.p4sgd.network.frame import FRAME_KEEP
from hdl.p4sgd.transport.registers import network_values
from hdl.p4sgd.worker_parts import WorkerParts


def connect_exchange(m: Module, parts: WorkerParts) -> None:
    """Connect the exchange between the engines' weights, the host and the network."""
    core, control, exchange, port = parts.core, parts.control, parts.exchange, parts.model_port
    for e in range(parts.params.engines):
        connect(m, port.load[e], exchange.host_load[e])
        connect(m, port.peek[e], exchange.host_peek[e])
        connect(m, exchange.host_peeked[e], port.peeked[e])
    m.d.comb += [
        exchange.settings.eq(core.settings),
        exchange.begin.eq(control.begin),
        control.finished.eq(exchange.finished),
    ]
    if parts.movers:
        m.d.comb += exchange.engines_finished.eq(Cat(x.finished for x in parts.movers).all())
        return
    for e in range(parts.params.engines):
        connect(m, exchange.load[e], core.load[e])
        connect(m, exchange.peek[e], core.peek[e])
        connect(m, core.peeked[e], exchange.peeked[e])
    m.d.comb += [
        exchange.updated.eq(core.updated),
        exchange.engines_finished.eq(core.finished),
        core.exchanging.eq(exchange.exchanging),
        core.refill.eq(exchange.refill),
    ]


def connect_network(m: Module, parts: WorkerParts, m_axis: Any, s_axis: Any) -> None:
    """Connect the transport to the switch, and the gate of vanilla order."""
    core, exchange, transport, gate = parts.core, parts.exchange, parts.transport, parts.gate
    control, settings = parts.control, parts.settings
    connect(m, core.partial, exchange.partial)
    connect(m, exchange.full, core.full)
    connect(m, exchange.network_partial, transport.partial)
    connect(m, transport.full, exchange.network_full)
    connect_mac(m, parts, m_axis)
    connect(m, flipped(s_axis), transport.s_axis)
    for name, value in network_values(settings).items():
        m.d.comb += [transport.settings[name].eq(value), control.network[name].eq(value)]
    m.d.comb += [
        transport.clear.eq(settings.start_job & control.idle),
        transport.allowed.eq(gate.allowed),
        *(gate.lengths[name].eq(core.settings[name]) for name, _ in LENGTHS),
        gate.start.eq(control.begin),
        gate.vanilla.eq(settings.vanilla),
        gate.seen.eq(transport.seen),
        gate.delivered.eq(transport.delivered),
        control.join.eq(settings.join),
        control.vanilla.eq(settings.vanilla),
        control.network_open.eq(transport.open),
        control.network_busy.eq(transport.clearing),
        control.network_idle.eq(transport.idle),
        control.abandoned.eq(transport.abandoned),
        control.peers_missing.eq(transport.peers_missing),
    ]


def connect_mac(m: Module, parts: WorkerParts, axis: Any) -> None:
    """Connect frames to the MAC: an offered frame stays, even if the transport is reset."""
    frame, offer = parts.transport.m_axis, parts.offer
    m.d.comb += [
        offer.i.payload.eq(frame.tdata[: len(offer.i.payload)]),
        offer.i.valid.eq(frame.tvalid),
        frame.tready.eq(offer.i.ready),
        axis.tdata.eq(offer.o.payload),
        axis.tkeep.eq(FRAME_KEEP),
        axis.tlast.eq(1),
        axis.tvalid.eq(offer.o.valid),
        offer.o.ready.eq(axis.tready),
    ]
