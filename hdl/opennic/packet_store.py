"""Stores packets until they have come whole, so that their size is known with their first beat."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import Fifo
from hdl.common.packet_buffer import PacketBuffer, PacketBufferParams
from hdl.common.packets import AXIS, BEAT
from hdl.common.params import Params, same_as
from hdl.opennic.packet_measure import SIZE_BITS

#: Describes a beat with the size of its packet, the same in all of them.
SIZED = data.StructLayout({**{n: f.shape for n, f in BEAT}, "size": SIZE_BITS})


class PacketStoreParams(Params, suffix="{words}_{behind}"):
    """Sets the size of a store of packets."""

    words: int = same_as(PacketBufferParams, "words")  #: beats that can wait
    behind: int = same_as(PacketBufferParams, "behind")  #: cycles from ``room`` to a beat

    @property
    def buffer(self) -> PacketBufferParams:
        """Return the sizes of the buffer of whole packets."""
        return PacketBufferParams(shape=BEAT.size, words=self.words, behind=self.behind)


class PacketStore(Component):
    """Passes packets of ``i`` to ``o`` when all of them has come, each beat with the packet's size.

    ``size`` comes with a packet's last beat. A packet is dropped as a whole if ``i.tuser`` marks
    it, with its last beat, or if it is longer than ``params.buffer.max_packet_words`` beats
    (``malformed``), or else if one of its beats comes without room (``dropped``). The other packets
    are ``kept``. One of the three is high with a packet's last beat.

    ``i.tready`` is always high. A source that sends a beat only if ``room`` was high
    ``params.behind`` cycles before loses none; one that ignores ``room`` loses whole packets.
    Throughput: a beat in and a beat out every cycle. Latency: a packet's length, then
    :attr:`latency` cycles from its last beat to its first at ``o``.
    """

    latency = PacketBuffer.latency

    def __init__(self, params: PacketStoreParams) -> None:
        events = dict.fromkeys(("kept", "dropped", "malformed"), Out(1))
        super().__init__(
            params,
            i=In(AXIS),
            size=In(SIZE_BITS),
            room=Out(1),
            o=Out(stream.Signature(SIZED)),
            **events,
        )

    def build(self, m: Module) -> None:
        i, params = self.i, self.params
        m.submodules.packets = packets = PacketBuffer(params.buffer)
        # A packet has a word of its own, and two words are in registers behind the memory.
        sizes = Fifo.sized(shape=SIZE_BITS, depth=params.words + 2, style="block", refuses=False)
        m.submodules.sizes = sizes
        most = params.buffer.max_packet_words
        count = Signal(range(most + 1))  # beats of the packet so far, as far as it is not lost
        lost = Signal()  # a beat of the packet found no room, or was one too many
        long = Signal()
        too_long = count == most
        gone = lost | too_long | ~delay(m, packets.room, params.behind, "room")
        bad = long | too_long | i.tuser
        ends = i.tvalid & i.tlast
        m.d.comb += [
            i.tready.eq(1),
            self.room.eq(packets.room),
            packets.write.eq(i.tvalid & ~gone),
            packets.word.eq(Cat(i.tdata, i.tkeep, i.tlast)),
            packets.ends.eq(i.tvalid & (gone | i.tlast)),
            packets.keep.eq(~gone & ~i.tuser),
            self.kept.eq(ends & packets.keep),
            self.malformed.eq(ends & bad),
            self.dropped.eq(ends & gone & ~bad),
            sizes.i.valid.eq(self.kept),
            sizes.i.payload.eq(self.size),
        ]
        with m.If(i.tvalid):
            m.d.sync += [
                lost.eq(gone & ~i.tlast),
                long.eq((long | too_long) & ~i.tlast),
                count.eq(Mux(i.tlast | gone, 0, (count + 1)[: len(count)])),
            ]
        beat = BEAT(packets.o.payload)
        m.d.comb += [  # a size is at the end of its queue before its packet is at the buffer's
            self.o.valid.eq(packets.o.valid),
            *(self.o.payload[name].eq(beat[name]) for name, _ in BEAT),
            self.o.payload.size.eq(sizes.o.payload),
            packets.o.ready.eq(self.o.ready),
            sizes.o.ready.eq(packets.o.valid & self.o.ready & beat.last),
        ]
        expect(m, self, knows_the_size=lambda: ~packets.o.valid | sizes.o.valid)
