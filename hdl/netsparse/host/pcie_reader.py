"""Reads properties from host memory over PCI Express, for all units."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.common.stream_arbiter import StreamArbiter
from hdl.common.streams import forward
from hdl.netsparse.host.params import EVENTS, HostParams
from hdl.netsparse.protocol import MAX_PROPERTY_BYTES
from hdl.pcie.beat_packer import BeatPacker, BeatPackerParams
from hdl.pcie.descriptors import Cause
from hdl.pcie.read_requester import EVENTS as READS

MAX_BEATS = MAX_PROPERTY_BYTES // BEAT_BYTES  #: most beats of a property


class PcieReader(Component):
    """Reads the properties that units request (``requests``), and returns ``beats`` in order.

    For units it has the interface of a :class:`hdl.netsparse.host.host_reader.HostReader`.
    ``demands``, ``parts``, ``reads`` and ``owes`` belong to a
    :class:`hdl.pcie.requester.Requester`, which cuts a property only where the host's largest read
    ends. A property of which a read fails has ``failed``; other properties are not affected. After
    a read that timed out ``bus`` is ``silent`` until it is revived. After a ``reset`` it is
    ``broken`` until it is revived: new requests then fail at once, after all earlier ones have
    ended.

    Throughput: a property and a beat a cycle, or two cycles for a property whose end fills two
    beats. Latency: :attr:`request_latency` from a property to ``demands`` (one more if another unit
    was last), :attr:`beat_latency` from ``parts`` to ``beats``.
    """

    request_latency = StreamArbiter.latency
    beat_latency = BeatPacker.latency + 1

    def __init__(self, params: HostParams) -> None:
        reads = params.requester.reads
        super().__init__(
            params,
            requests=In(stream.Signature(params.read_request)).array(params.units),
            beats=Out(params.read_beat),
            demands=Out(stream.Signature(reads.cutter.request)),
            parts=In(stream.Signature(reads.beat)),
            reads=In(READS),
            owes=In(1),
            reset=In(1),
            watch=In(WATCH),
            bus=Out(BUS),
            events=Out(EVENTS),
        )

    def build(self, m: Module) -> None:
        layout = self.params.read_request
        m.submodules.arbiter = arbiter = StreamArbiter.sized(shape=layout, count=self.params.units)
        for requested, turn in zip(self.requests, arbiter.i, strict=True):
            connect(m, flipped(requested), turn)
        chosen, provided = arbiter.o.payload, arbiter.o.payload.payload
        m.d.comb += [
            self.demands.payload.address.eq(provided.address),
            self.demands.payload.bytes.eq(provided.bytes),
            self.demands.payload.user.eq(chosen.index),
            self.demands.valid.eq(arbiter.o.valid & ~self.bus.broken),
        ]
        m.d.sync += [
            self.events.property.eq(self.demands.valid & self.demands.ready),
            self.events.request.eq(self.reads.sent),
            self.bus.dropped.eq(self.reads.stranger),
        ]
        with m.If(self.reads.abandoned & ~self.bus.broken):
            m.d.sync += self.bus.silent.eq(1)
        with m.Elif(self.watch.revive):
            m.d.sync += self.bus.silent.eq(0)
        m.d.comb += self.bus.owes.eq(self.owes)
        self.receive(m)
        self.refuse(m, arbiter, provided.bytes)

    def refuse(self, m: Module, arbiter: StreamArbiter, size: Value) -> None:
        """Emit failed beats for a property that is requested from a broken bus, in order."""
        # Properties requested and not ended. Both events come a cycle late, because the sum would
        # else follow the cutter's in one path.
        under_way = Signal(range(2 * self.params.requester.reads.tags))
        requested, ended = self.events.property, Signal()
        beat = Signal(range(MAX_BEATS))  # beat of the refused property
        refuses, final = Signal(), Signal()
        packed, lowest = m.submodules.packer.beats, exact_log2(BEAT_BYTES)
        m.d.comb += [
            refuses.eq(self.bus.broken & arbiter.o.valid & ~requested & ~under_way.any()),
            final.eq(beat == (size - 1)[lowest : lowest + len(beat)]),
            arbiter.o.ready.eq(Mux(self.bus.broken, refuses & final, self.demands.ready)),
        ]
        m.d.sync += [
            ended.eq(packed.valid & packed.payload.last),
            under_way.eq(under_way + requested - ended),
        ]
        with m.If(refuses):
            m.d.sync += [
                beat.eq(Mux(final, 0, beat + 1)),
                self.beats.valid.eq(1),
                self.beats.unit.eq(arbiter.o.payload.index),
                self.beats.last.eq(final),
                self.beats.failed.eq(1),
            ]
        with m.If(self.reset):
            m.d.sync += self.bus.broken.eq(1)
        with m.Elif(self.watch.revive & ~refuses):
            m.d.sync += self.bus.broken.eq(0)

    def receive(self, m: Module) -> None:
        """Route parts to the unit that requested them."""
        reads = self.params.requester.reads
        sizes = BeatPackerParams(data_bits=reads.data_bits, user_bits=reads.user_bits)
        m.submodules.packer = packer = BeatPacker(sizes)
        provided, part, beat = self.parts.payload, packer.parts.payload, packer.beats.payload
        m.d.comb += [
            *forward(self.parts, packer.parts),
            part.data.eq(provided.data),
            part.count.eq(provided.bytes[2:]),
            part.ends.eq(provided.last),
            part.user.eq(provided.user),
            part.cause.eq(provided.cause),
            packer.beats.ready.eq(1),
        ]
        m.d.sync += [
            self.beats.valid.eq(packer.beats.valid),
            self.beats.unit.eq(beat.user),
            self.beats.last.eq(beat.last),
            self.beats.failed.eq(beat.cause != Cause.NONE),
            self.beats.data.eq(beat.data),
        ]
