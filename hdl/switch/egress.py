"""Queues answers and sends them as frames, port by port."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.switch.params import PacketSwitchParams


def parent_ports(params: PacketSwitchParams) -> dict[str, Any]:
    """Return the ports with a parent's address; there are none if tenants have no parents."""
    return {"above": In(48), "place": In(32)} if params.parents else {}


class EgressPort(Component):
    """Sends each ``answer`` that comes with ``answered`` as one frame.

    Frames go from ``source`` to ``destination`` and have the answer's fields; all other fields are
    zero. An answer that is ``up`` goes to the parent at the address ``above``, with the bit
    ``place``, by which the parent knows the switch. ``sent`` pulses when a frame has left.
    Throughput: an answer a cycle. Latency: :attr:`latency`. Full: the answer is lost, and
    ``dropped`` is high in that cycle.
    """

    def __init__(self, params: PacketSwitchParams) -> None:
        self.latency = params.egress_fifo.latency
        super().__init__(
            params,
            destination=In(48),
            source=In(48),
            **parent_ports(params),
            answered=In(1),
            answer=In(params.answer),
            axis=Out(params.frames.axis),
            sent=Out(1),
            dropped=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.fifo = fifo = Fifo(self.params.egress_fifo)
        answer, params = fifo.o.payload, self.params.frames
        frame = Signal(params.first)
        m.d.comb += [
            fifo.i.valid.eq(self.answered),
            fifo.i.payload.eq(self.answer),
            self.dropped.eq(self.answered & ~fifo.i.ready),
            *params.fill(frame, self.destination, self.source),
        ]
        params.write(m, self.axis, answer, frame, self if self.params.parents else None)
        m.d.comb += [
            self.axis.tlast.eq(1),
            self.axis.tvalid.eq(fifo.o.valid),
            fifo.o.ready.eq(self.axis.tready),
            self.sent.eq(fifo.o.valid & self.axis.tready),
        ]


class SwitchEgress(Component):
    """Sends every answer to the ports of its ``bm``, each of which has a queue of its own.

    Throughput: one answer a cycle to all ports. A port that is stalled loses its answers, and does
    not block the others. ``sent`` and ``dropped`` have a bit for each port (:class:`EgressPort`).
    An answer that is ``up`` also goes to the port in ``parent``, which is not in ``bm``.
    """

    def __init__(self, params: PacketSwitchParams) -> None:
        self.latency = EgressPort(params).latency
        super().__init__(
            params,
            destination=In(48),
            source=In(48),
            **parent_ports(params),
            **({"parent": In(params.ports)} if params.parents else {}),
            answered=In(1),
            answer=In(params.answer),
            axis=Out(params.frames.axis).array(params.ports),
            sent=Out(params.ports),
            dropped=Out(params.ports),
        )

    def build(self, m: Module) -> None:
        for k in range(self.params.ports):
            m.submodules[f"port_{k}"] = port = EgressPort(self.params)
            connect(m, port.axis, flipped(self.axis[k]))
            m.d.comb += [
                port.destination.eq(self.destination),
                port.source.eq(self.source),
                port.answered.eq(self.answered & self.answer.bm[k]),
                port.answer.eq(self.answer),
                self.sent[k].eq(port.sent),
                self.dropped[k].eq(port.dropped),
            ]
            if self.params.parents:
                up = self.answer.up & self.parent[k]
                m.d.comb += [
                    port.above.eq(self.above),
                    port.place.eq(self.place),
                    port.answer.up.eq(up),
                    port.answered.eq(self.answered & (self.answer.bm[k] | up)),
                ]
