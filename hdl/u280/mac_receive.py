"""Takes packets from a MAC that cannot wait to the core: whole ones, or nothing of them."""

from amaranth.hdl import DomainRenamer, Module, Signal
from amaranth.lib.wiring import In, Out, connect

from hdl.common.component import Component
from hdl.common.crossing.crossing import inside
from hdl.common.packet_buffer import PacketBuffer
from hdl.common.packets import AXIS, BEAT, to_axis
from hdl.u280.mac_transmit import MacTransmitParams
from hdl.u280.packet_crossing import PacketCrossing


class MacReceive(Component):
    """Takes packets that come by ``mac`` in the MAC's clock to ``axis`` in the core's.

    ``mac.tready`` is always high. A packet that the MAC marks as broken, by ``tuser`` with its
    last beat, and one that does not fit, is lost as a whole: ``broken`` or ``dropped`` is high for
    a cycle of the MAC's. One that is both counts as broken.

    A reset of either clock loses what is inside; afterwards whole packets leave. One of which a
    part has left when the MAC's clock is reset ends with a beat without its first byte, which
    nobody takes for a packet's end (:class:`PacketCrossing`). ``left``, in the core's clock, is
    high when a packet has left, and ``runs`` while none is lost.

    Throughput: a beat a cycle of the slower clock. Latency: a packet's length, five cycles of the
    MAC's and the crossing. Stalls: packets wait up to the buffer's size; longer ones are dropped.
    """

    domains = ("mac", "sync")
    verdict_latency = 2  #: cycles from a packet's last beat to ``broken`` or ``dropped``

    def __init__(self, params: MacTransmitParams) -> None:
        self.crossings = inside(
            "path", PacketCrossing().crossings, {"write": "mac", "read": "sync"}
        )
        super().__init__(
            params,
            mac=In(AXIS),
            axis=Out(AXIS),
            dropped=Out(1),
            broken=Out(1),
            left=Out(1),
            runs=Out(1),
            used=Out(params.beats.bit_length()),
        )

    def build(self, m: Module) -> None:
        m.submodules.packets = packets = DomainRenamer("mac")(PacketBuffer(self.params.buffer))
        m.submodules.path = path = DomainRenamer({"write": "mac", "read": "sync"})(PacketCrossing())
        to_axis(m, path.o, self.axis)
        m.d.comb += [
            self.left.eq(path.left),
            self.runs.eq(path.read_runs),
        ]
        come = Signal()
        room = Signal()
        word = Signal(BEAT, reset_less=True)
        bad = Signal()
        lost = Signal()  # a beat of the packet found no room
        m.d.mac += [
            come.eq(self.mac.tvalid),
            room.eq(packets.room),
            word.data.eq(self.mac.tdata),
            word.keep.eq(self.mac.tkeep),
            word.last.eq(self.mac.tlast),
            bad.eq(self.mac.tuser),
            self.broken.eq(packets.ends & bad),
            self.dropped.eq(packets.ends & ~bad & ~packets.keep),
        ]
        with m.If(come):
            m.d.mac += lost.eq((lost | ~room) & ~word.last)
        connect(m, packets.o, path.i)
        m.d.comb += [
            self.used.eq(packets.used),
            self.mac.tready.eq(1),
            packets.write.eq(come & room & ~lost),
            packets.word.eq(word),
            packets.ends.eq(come & word.last),
            packets.keep.eq(room & ~lost & ~bad),
        ]
