"""Reads work requests from a ring in host memory."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.ring_reader import RingReader
from hdl.common.rings import DESCRIPTOR_BYTES, INDEX_BITS, RING, Fault
from hdl.common.streams import forward
from hdl.netsparse.protocol import LENGTH_BITS
from hdl.netsparse.queue.params import DESCRIPTOR, Verdict, fetched_layout
from hdl.netsparse.rig.params import READ_BEAT, RigParams

AHEAD = 8  #: most descriptors that were requested and not yet taken


class DescriptorFetch(Component):
    """Reads descriptors of ``ring``, which leave ``o`` in order (NetSparse, section 5.4).

    ``ring``, ``consumer``, ``busy`` and ``fault`` are those of a :class:`RingReader`. Descriptors
    are read one host access each, at most :data:`AHEAD` ahead of ``o``, so that there is always
    room for ``beat``. Those that were requested when ``ring.enable`` falls still leave ``o``.

    Throughput: a descriptor every 4 cycles while 8 reads cover the latency of host memory.
    Latency: :attr:`latency` cycles from the doorbell to ``demands``, :attr:`beat_latency` from the
    beat to ``o``. Stalls: while ``o`` is not taken, 8 descriptors wait.
    """

    latency = RingReader.latency
    beat_latency = 2

    def __init__(self, params: RigParams) -> None:
        super().__init__(
            params,
            ring=In(RING),
            demands=Out(stream.Signature(params.host_read)),
            beat_valid=In(1),
            beat=In(READ_BEAT),
            o=Out(stream.Signature(fetched_layout(params))),
            consumer=Out(INDEX_BITS),
            busy=Out(1),
            fault=Out(Fault),
        )

    def build(self, m: Module) -> None:
        m.submodules.reader = reader = RingReader.sized(
            address_bits=self.params.address_bits, ahead=AHEAD
        )
        m.d.comb += [
            reader.ring.eq(self.ring),
            *forward(
                reader.demands, self.demands, address=reader.demands.payload, bytes=DESCRIPTOR_BYTES
            ),
            reader.arrived.eq(self.beat_valid),
            reader.left.eq(self.o.valid & self.o.ready),
            *(
                getattr(self, name).eq(getattr(reader, name))
                for name in ("consumer", "busy", "fault")
            ),
        ]
        self.receive(m)

    def receive(self, m: Module) -> None:
        """Check descriptors as they come, and queue them."""
        layout = fetched_layout(self.params)
        m.submodules.waiting = waiting = Fifo.sized(shape=layout, depth=AHEAD)
        descriptor = DESCRIPTOR(self.beat.data)
        fetched = Signal(layout, reset_less=True)
        arrived = Signal()
        too_large = [
            descriptor.wide[1:].any(),
            descriptor.reserved.any(),
            descriptor.property_bytes[LENGTH_BITS:].any(),
        ]
        m.d.sync += [
            arrived.eq(self.beat_valid),
            fetched.verdict.eq(Mux(Cat(too_large).any(), Verdict.ILLEGAL, Verdict.LEGAL)),
            fetched.unit.eq(descriptor.unit),
            *(
                fetched.request[name].eq(descriptor[name][: field.width])
                for name, field in self.params.request
            ),
        ]
        with m.If(self.beat.failed):
            m.d.sync += [
                fetched.verdict.eq(Verdict.UNREAD),
                fetched.request.tag.eq(self.consumer),
            ]
        connect(m, waiting.o, flipped(self.o))
        m.d.comb += [
            waiting.i.valid.eq(arrived),
            waiting.i.payload.eq(fetched),
        ]
