"""Takes packets from a stream that must never wait: whole ones, or nothing of them."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.axi import AxiStreamSignature
from hdl.common.component import Component
from hdl.common.packet_buffer import PacketBuffer, PacketBufferParams
from hdl.common.packets import AXIS, BEAT, to_axis
from hdl.common.params import Params, same_as, tagged

#: packets of a kernel's stream, which has no mark of a corrupt packet
STREAM = AxiStreamSignature(data_bits=AXIS.data_bits, user=False)


class PacketEntryParams(Params, suffix="{beats}"):
    """Sets the size of a packet entry or exit, and which packets an entry drops."""

    #: beats that can wait; a packet has 3 less
    beats: int = same_as(PacketBufferParams, "words", default=512)
    #: whether the source marks corrupt packets, which an entry then drops
    marked: bool = tagged("_marked", default=False)
    #: kind of memory: ultra has 4096 beats in no more than one
    style: str = same_as(PacketBufferParams, "style", default="block", tag="_{}")

    @property
    def buffer(self) -> PacketBufferParams:
        """Return the sizes of the buffer of whole packets."""
        return PacketBufferParams(shape=BEAT, words=self.beats, behind=1, style=self.style)


class PacketEntry(Component):
    """Takes packets of ``i``, whose ``tready`` is always high, to ``o``.

    A packet that does not fit is lost as a whole: ``dropped`` is high for a cycle. What is before
    a kernel, such as the VNx project's ``cmac``, would otherwise lose the middle of a packet. With
    ``params.marked`` a packet that ``tuser`` marks with its last beat is dropped, too. ``used`` is
    the number of beats that wait.

    Throughput: a beat a cycle. Latency: ``latency`` cycles from a packet's last beat to its first
    one at ``o``. Stalls: packets wait up to the buffer's size; longer ones are dropped, and so
    is the first one after a reset, of which the beginning may be missing, unless
    ``params.marked``: such a source is reset with the entry.
    """

    latency = PacketBuffer.latency + 1

    def __init__(self, params: PacketEntryParams) -> None:
        source = In(AXIS if params.marked else STREAM)
        used = Out(bits_for(params.beats))
        super().__init__(params, i=source, o=Out(AXIS), dropped=Out(1), used=used)

    def build(self, m: Module) -> None:
        m.submodules.packets = packets = PacketBuffer(self.params.buffer)
        to_axis(m, packets.o, self.o)
        come, room = Signal(), Signal()
        word = Signal(BEAT, reset_less=True)
        # A beat of the packet found no room, or may have come in a reset that its source had not.
        lost = Signal(init=not self.params.marked)
        m.d.sync += [
            come.eq(self.i.tvalid),
            room.eq(packets.room),
            word.data.eq(self.i.tdata),
            word.keep.eq(self.i.tkeep),
            word.last.eq(self.i.tlast),
            self.dropped.eq(packets.ends & ~packets.keep),
        ]
        with m.If(come):
            m.d.sync += lost.eq((lost | ~room) & ~word.last)
        m.d.comb += [
            self.i.tready.eq(1),
            packets.write.eq(come & room),
            packets.word.eq(word),
            packets.ends.eq(come & word.last),
            packets.keep.eq(room & ~lost),
            self.used.eq(packets.used),
        ]
        if self.params.marked:
            marked = Signal(reset_less=True)
            m.d.sync += marked.eq(self.i.tuser)
            m.d.comb += packets.keep.eq(room & ~lost & ~marked)
