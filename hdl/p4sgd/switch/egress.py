"""Where answers leave: queued and made into frames, port by port."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import AXIS
from hdl.p4sgd.network.frame import FRAME_KEEP, Frame, frame_bits
from hdl.p4sgd.switch.params import SwitchParams


class EgressPort(Component):
    """Sends each answer that comes with ``answered`` as one frame.

    Frames go from ``source`` to ``destination``. Throughput: one a cycle. Latency:
    :attr:`latency`. Full: the answer is lost and ``dropped`` is high in that cycle; ``sent`` is
    high for a cycle when a frame has left.
    """

    def __init__(self, params: SwitchParams) -> None:
        self.latency = params.egress_fifo.latency
        super().__init__(
            params,
            {
                "destination": In(48),
                "source": In(48),
                "answered": In(1),
                "answer": In(params.answer),
                "axis": Out(AXIS),
                "sent": Out(1),
                "dropped": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.fifo = fifo = Fifo(self.params.egress_fifo)
        answer = self.params.answer(fifo.o.payload)
        header = {name: answer.header[name] for name in self.params.header.members}
        payload = Signal(Frame.as_shape()["payload"].shape)
        m.d.comb += [
            fifo.i.valid.eq(self.answered),
            fifo.i.payload.eq(self.answer),
            self.dropped.eq(self.answered & ~fifo.i.ready),
            *(payload[k].eq(answer.payload[k]) for k in range(self.params.lanes)),
            self.axis.tdata.eq(
                frame_bits(
                    destination=self.destination,
                    source=self.source,
                    acked=answer.acked,
                    bm=answer.bm,
                    saturated=answer.saturated,
                    payload=payload,
                    **header,
                )
            ),
            self.axis.tkeep.eq(FRAME_KEEP),
            self.axis.tlast.eq(1),
            self.axis.tvalid.eq(fifo.o.valid),
            fifo.o.ready.eq(self.axis.tready),
            self.sent.eq(fifo.o.valid & self.axis.tready),
        ]
        return m


class SwitchEgress(Component):
    """Every answer goes to the ports of its ``bm``, whose queues are independent of each other.

    Throughput: one answer a cycle to all ports. A port that takes nothing loses its answers and
    holds up no other. ``sent`` and ``dropped`` have a bit for each port (:class:`EgressPort`).
    """

    def __init__(self, params: SwitchParams) -> None:
        self.latency = EgressPort(params).latency
        super().__init__(
            params,
            {
                "destination": In(48),
                "source": In(48),
                "answered": In(1),
                "answer": In(params.answer),
                "axis": Out(AXIS).array(params.ports),
                "sent": Out(params.ports),
                "dropped": Out(params.ports),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
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
        return m
