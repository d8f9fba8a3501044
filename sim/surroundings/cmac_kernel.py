"""Simulates the VNx project's ``cmac`` kernel, between a kernel's streams and a link.

What it does is read off that project's block design (xup_vitis_network_example,
Ethernet/bd_cmac.tcl): a transmitter's FIFO sends whole packets, the receiver's has no TUSER, and
the MAC before it cannot wait.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packet_buffer import PacketBuffer, PacketBufferParams
from hdl.common.packet_entry import STREAM
from hdl.common.packets import AXIS, BEAT, to_axis

SENT = PacketBufferParams(shape=BEAT, words=512, behind=1)


class CmacKernel(Component):
    """Sends packets of ``s_axis`` to ``to_link``; those of ``of_link`` leave at ``m_axis``.

    A packet that is sent leaves when all of it has come, without a gap. What is received does not
    wait: a beat that ``m_axis`` does not take at once is ``lost``, which counts such beats; the
    real one would lose it when 512 beats wait. Latency of what is received: a cycle. A packet that
    came damaged is not marked.
    """

    def __init__(self, params: None = None) -> None:
        super().__init__(
            params,
            s_axis=In(STREAM),
            m_axis=Out(STREAM),
            to_link=Out(AXIS),
            of_link=In(AXIS),
            lost=Out(16),
        )

    def build(self, m: Module) -> None:
        m.submodules.sent = sent = PacketBuffer(SENT)
        beat = Signal(BEAT)
        m.d.comb += [
            beat.data.eq(self.s_axis.tdata),
            beat.keep.eq(self.s_axis.tkeep),
            beat.last.eq(self.s_axis.tlast),
            self.s_axis.tready.eq(sent.room),
            sent.word.eq(beat),
            sent.write.eq(self.s_axis.tvalid & sent.room),
            sent.ends.eq(sent.write & beat.last),
            sent.keep.eq(1),
            self.of_link.tready.eq(1),
        ]
        to_axis(m, sent.o, self.to_link)
        m.d.sync += [
            *(
                getattr(self.m_axis, name).eq(getattr(self.of_link, name))
                for name in ("tdata", "tkeep", "tlast", "tvalid")
            ),
            self.lost.eq((self.lost + (self.m_axis.tvalid & ~self.m_axis.tready))[:16]),
        ]
