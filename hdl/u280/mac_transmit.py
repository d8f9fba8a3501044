"""Takes packets from the core to a MAC that cannot wait for the rest of a packet."""

from amaranth.hdl import Cat, DomainRenamer, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.crossing.crossing import inside
from hdl.common.packet_buffer import PacketBuffer, PacketBufferParams
from hdl.common.packets import AXIS, BEAT, LEAST_BYTES, to_axis, to_transmitter
from hdl.common.params import Params, same_as, whole
from hdl.u280.packet_crossing import PacketCrossing


class MacTransmitParams(Params, suffix="{beats}"):
    """Sets the sizes of the way to a MAC."""

    #: beats that can wait; a packet has 3 less
    beats: int = same_as(PacketBufferParams, "words", default=512)
    #: kind of memory: ultra has 4096 beats in no more than one
    style: str = same_as(PacketBufferParams, "style", default="block", tag="_{}")
    #: beats that may wait before no more are taken, at least those of a packet; 0: all
    most: int = whole(16, or_zero=True, default=0, tag="_most_{}")

    @property
    def buffer(self) -> PacketBufferParams:
        """Return the sizes of the buffer of whole packets."""
        return PacketBufferParams(shape=BEAT, words=self.beats, behind=1, style=self.style)


class MacTransmit(Component):
    """Takes packets of ``axis``, in the core's clock, to ``mac`` in the MAC's, without a gap.

    A packet leaves when all of it has come. Bytes behind its end become zero, and those of a frame
    that is shorter than Ethernet allows are sent as well. Nothing leaves of a packet that ``tuser``
    marks as broken, or whose last beat lacks its first byte.

    A reset of either clock loses what is inside; afterwards whole packets leave. The rest of a
    packet that a reset of the MAC's clock has cut is taken and dropped: ``cut``, in the core's
    clock, is high for a cycle. Of one that a reset of the core's clock has cut nothing leaves.
    ``entered`` is high when a packet has come that is to leave, and ``runs`` while none is lost.

    Throughput: a beat a cycle of the slower clock. Latency: a packet's length, the crossing, and
    five cycles of the MAC's. Full: ``axis.tready`` goes low. Longer packets than
    ``params.buffer.max_packet_words`` never leave. With ``params.most``, less is in the way of what
    the core sends next: ``axis.tready`` is low while so many beats wait, give or take those of the
    crossing.
    """

    domains = ("sync", "mac")

    def __init__(self, params: MacTransmitParams) -> None:
        self.crossings = inside(
            "path", PacketCrossing().crossings, {"write": "sync", "read": "mac"}
        )
        reported = dict.fromkeys(("cut", "entered", "runs"), Out(1))
        super().__init__(params, axis=In(AXIS), mac=Out(AXIS), **reported)

    def build(self, m: Module) -> None:
        m.submodules.path = path = DomainRenamer({"write": "sync", "read": "mac"})(PacketCrossing())
        m.submodules.packets = packets = DomainRenamer("mac")(PacketBuffer(self.params.buffer))
        to_transmitter(m, self.axis, path.i)
        to_axis(m, packets.o, self.mac)
        beat = BEAT(path.o.payload)
        begins = Signal(init=1)  # the beat that comes is a packet's first
        write = Signal()
        word = Signal(BEAT)
        whole = Signal()  # what ends is not cut off
        room = packets.room
        if self.params.most:
            few = Signal()
            m.d.mac += few.eq(packets.used < self.params.most)
            room = room & few
        m.d.comb += [
            self.cut.eq(path.dropped),
            self.entered.eq(path.entered),
            self.runs.eq(path.write_runs),
            path.o.ready.eq(room),
            packets.write.eq(write),
            packets.word.eq(word),
            packets.ends.eq(write & word.last),
            packets.keep.eq(whole),
        ]
        short = begins & beat.last
        m.d.mac += [
            write.eq(path.o.valid & room),
            whole.eq(beat.keep[0]),
            word.last.eq(beat.last),
            word.keep.eq(beat.keep | Mux(short, (1 << LEAST_BYTES) - 1, 0)),
            word.data.eq(beat.data & Cat(bit.replicate(8) for bit in beat.keep)),
        ]
        with m.If(path.o.valid & path.o.ready):
            m.d.mac += begins.eq(beat.last)
