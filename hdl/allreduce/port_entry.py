"""Receives frames from a port, and routes whole good ones to the banks of their slots."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.allreduce.frame import HEADER_BYTES, WideFrame
from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.common.streams import forward
from hdl.switch.frame_filter import Quality
from hdl.switch.packet_port import PacketPort


class PortEntry(Component):
    """Passes the beats of good frames from ``axis`` to ``o``, each with the number of its bank.

    ``next`` has that of the frame behind a frame's last beat (:class:`Crossbar`).
    ``number`` is the port's. ``judged``, ``quality`` and ``lost`` are those of the
    :class:`PacketPort`, and so are throughput, latency, and what becomes of frames without room.
    """

    def __init__(self, params: AllReduceSwitchParams) -> None:
        self.latency = PacketPort(params.port).latency
        super().__init__(
            params,
            axis=In(AXIS),
            address=In(48),
            number=In(params.port_bits),
            o=Out(stream.Signature(params.crossbar.beat)),
            next=Out(params.crossbar.announcement),
            judged=Out(1),
            quality=Out(Quality),
            lost=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.port = port = PacketPort(self.params.port)
        connect(m, flipped(self.axis), port.axis)
        word, beat = port.packets.payload, self.params.beat(self.o.payload.beat)
        begins = Signal()  # the next beat begins a packet, as packets leave without a gap
        bank = Signal(self.params.bank_bits, reset_less=True)
        following = port.following.word[: 8 * HEADER_BYTES]  # data is first
        follows = data.View(WideFrame, following).seq[: self.params.bank_bits]
        m.d.comb += [
            port.address.eq(self.address),
            forward(port.packets, self.o),
            begins.eq(~self.o.valid | word.last),
            self.o.payload.to.eq(bank),
            self.next.valid.eq(port.following.valid & begins),
            self.next.to.eq(follows),
            beat.data.eq(word.data),
            beat.sender.eq(self.number),
            beat.last.eq(word.last),
            self.judged.eq(port.judged),
            self.quality.eq(port.quality),
            self.lost.eq(port.lost),
        ]
        with m.If(begins & (~self.o.valid | self.o.ready)):
            m.d.sync += bank.eq(follows)
