"""Stores packets until they are whole, and drops those that are marked as broken."""

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packet_buffer import PacketBuffer
from hdl.common.packet_entry import PacketEntryParams
from hdl.common.packets import AXIS, BEAT


class PacketExit(Component):
    """Passes packets of ``i`` to ``o`` when they have come whole; one that is broken is dropped.

    ``tuser`` marks a packet as broken, such as one that a reset of packets has cut. So no packet
    at ``o`` waits for a beat, and a MAC without such a mark sends none that is broken.

    Throughput: a beat a cycle. Latency: ``latency`` cycles from a packet's last beat to its first
    one at ``o``. Stalls: packets wait up to the buffer's size, and then at ``i``; a packet has at
    most 3 beats less than the buffer.
    """

    latency = PacketBuffer.latency

    def __init__(self, params: PacketEntryParams) -> None:
        super().__init__(params, i=In(AXIS), o=Out(stream.Signature(BEAT)))

    def build(self, m: Module) -> None:
        m.submodules.packets = packets = PacketBuffer(self.params.buffer)
        connect(m, packets.o, flipped(self.o))
        m.d.comb += [
            self.i.tready.eq(packets.room),
            packets.write.eq(self.i.tvalid & packets.room),
            packets.word.data.eq(self.i.tdata),
            packets.word.keep.eq(self.i.tkeep),
            packets.word.last.eq(self.i.tlast),
            packets.ends.eq(packets.write & self.i.tlast),
            packets.keep.eq(~self.i.tuser),
        ]
