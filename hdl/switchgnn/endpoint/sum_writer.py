"""Writes beats, and tracks for each slot whether all of them are in memory."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.common.streams import StreamRegister
from hdl.switchgnn.endpoint.bundles import BEAT_BITS, SLOT_BITS, SLOTS
from hdl.switchgnn.endpoint.params import EndpointParams

COUNT_BITS = 10  #: width of the number of a slot's beats under way, enough for all of a port


class SumWriter(Component):
    """Sends each of ``writes`` to a port as a burst of one beat; the port's tag is the slot.

    ``written`` has a bit for each slot: every beat that was taken for it is in memory, as B has
    acknowledged. Bursts have one beat, so that a frame that ends early leaves no unfinished burst
    on the bus. While ``stop`` is high no burst begins; the beat of a burst that has begun still
    follows.

    Throughput: a beat a cycle. Latency: :attr:`latency` from a beat to the port. Stalls: holds.
    """

    latency = StreamRegister.latency

    def __init__(self, params: EndpointParams) -> None:
        port = params.write_port
        super().__init__(
            params,
            writes=In(stream.Signature(params.write)),
            stop=In(1),
            bursts=Out(stream.Signature(port.burst)),
            beats=Out(
                stream.Signature(
                    data.StructLayout({"data": BEAT_BITS, "strobes": BEAT_BYTES, "last": 1})
                )
            ),
            answered=In(1),
            answered_slot=In(SLOT_BITS),
            written=Out(SLOTS),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.cut = cut = StreamRegister.sized(shape=params.write)
        write = cut.o.payload
        begun = Signal()  # the port has taken the beat's burst
        connect(m, flipped(self.writes), cut.i)
        m.d.comb += [
            self.bursts.payload.address.eq(write.beat << exact_log2(BEAT_BYTES)),
            self.bursts.payload.tag.eq(write.slot),
            self.bursts.valid.eq(cut.o.valid & ~begun & ~self.stop),
            self.beats.payload.data.eq(write.data),
            self.beats.payload.strobes.eq(write.strobes),
            self.beats.payload.last.eq(1),
            self.beats.valid.eq(
                cut.o.valid & (begun | (self.bursts.valid & self.bursts.ready)),
            ),
            cut.o.ready.eq(self.beats.valid & self.beats.ready),
        ]
        with m.If(self.beats.valid):
            m.d.sync += begun.eq(~self.beats.ready)
        taken = self.writes.valid & self.writes.ready
        for k in range(SLOTS):
            count = Signal(COUNT_BITS, name=f"under_way_{k}")
            more = taken & (self.writes.payload.slot == k)
            fewer = self.answered & (self.answered_slot == k)
            m.d.sync += count.eq((count + more - fewer)[:COUNT_BITS])
            m.d.comb += self.written[k].eq(~count.any())
