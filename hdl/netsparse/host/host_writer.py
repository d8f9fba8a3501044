"""Writes properties to host memory, for all units."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi_write_port import AxiWritePort
from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import BEAT_BYTES
from hdl.common.stream_arbiter import StreamArbiter
from hdl.common.streams import cut_ready
from hdl.netsparse.host.params import (
    BEAT_WORDS,
    EVENTS,
    LANE_BITS,
    LINE_OFFSET_BITS,
    WORD_OFFSET_BITS,
    HostParams,
)
from hdl.netsparse.host.request_beats import RequestBeats
from hdl.netsparse.host.request_splitter import RequestSplitter
from hdl.netsparse.host.rotator import Rotator
from hdl.netsparse.host.spreader import Spreader

AHEAD = 16  #: most requests that AW may be ahead of W, and most beats of properties that wait for W


class HostWriter(Component):
    """Writes the ``properties`` of all units; ``done`` reports each, in the order taken.

    A property comes in ceil(bytes / 64) beats, with its first byte in lane 0, and with the same
    address and size in all beats. Units are granted in round-robin order for a whole property each:
    a unit that pauses in the middle blocks all others. A request on the bus is a burst of one or
    two beats inside an aligned line of 128 bytes, cut as ``aligned`` says (see
    :class:`RequestSplitter`); without it most beats of the bus are written in two parts. ``done``
    comes when the property's last request has its B; ``failed``: not all responses were OKAY, or
    the bus is broken (``bus``, see :class:`AxiWritePort`).

    Addresses and sizes must be multiples of 4, sizes from 4 to ``max_bytes``, and ``last`` must
    come with the last beat by the size; this is not checked. ``aligned`` may change while nothing
    is under way.

    Throughput: one beat of the bus a cycle, so one property a cycle if each is inside a beat of the
    bus, while ``outstanding`` requests cover the memory's latency. Latency: ``request_latency``
    cycles from a property's first beat to ``awvalid``, ``beat_latency`` to ``wvalid`` (one more if
    another unit was last), ``done_latency`` from B to ``done``. Stalls: AW and W stall
    independently: AW runs up to 16 requests, or 16 beats of properties, ahead of W, and the W of a
    request comes even if its AW is not taken. B never waits. Full: at ``outstanding`` requests
    without B, AW waits.
    """

    request_latency = StreamArbiter.latency + RequestSplitter.latency + AxiWritePort.latency
    beat_latency = request_latency + RequestBeats.latency + Spreader.latency + AxiWritePort.latency
    done_latency = 2

    def __init__(self, params: HostParams) -> None:
        super().__init__(
            params,
            properties=In(stream.Signature(params.property_beat)).array(params.units),
            done=Out(params.done),
            axi=Out(params.write_port.write_bus),
            watch=In(WATCH),
            bus=Out(BUS),
            aligned=In(1),
            events=Out(EVENTS),
        )

    def build(self, m: Module) -> None:
        body = self.params.property_beat
        m.submodules.arbiter = arbiter = StreamArbiter.sized(
            shape=body, count=self.params.units, last_bit=body["last"].offset
        )
        for provided, turn in zip(self.properties, arbiter.i, strict=True):
            connect(m, flipped(provided), turn)
        m.submodules.splitter = splitter = RequestSplitter(self.params)
        m.submodules.rotator = rotator = Rotator(self.params)
        m.submodules.waiting = waiting = Fifo.sized(
            shape=8 * BEAT_BYTES, depth=AHEAD, style="distributed"
        )
        chosen = arbiter.o.payload
        beat = chosen.payload
        first = Signal(init=1)
        m.d.comb += [
            splitter.properties.payload.address.eq(beat.address),
            splitter.properties.payload.bytes.eq(beat.bytes),
            splitter.properties.payload.unit.eq(chosen.index),
            splitter.properties.valid.eq(arbiter.o.valid & first & waiting.i.ready),
            splitter.aligned.eq(self.aligned),
            rotator.i.eq(beat.data),
            rotator.up.eq(beat.address[WORD_OFFSET_BITS : WORD_OFFSET_BITS + LANE_BITS]),
            waiting.i.payload.eq(rotator.o),
            arbiter.o.ready.eq(waiting.i.ready & (splitter.properties.ready | ~first)),
            waiting.i.valid.eq(arbiter.o.valid & arbiter.o.ready),
        ]
        with m.If(arbiter.o.valid & arbiter.o.ready):
            m.d.sync += first.eq(beat.last)
        m.d.sync += [
            self.events.property.eq(arbiter.o.valid & arbiter.o.ready & beat.last),
            self.events.request.eq(self.axi.awvalid & self.axi.awready),
        ]
        self.issue(m, splitter)
        self.write(m, waiting)
        self.answer(m)

    def issue(self, m: Module, splitter: RequestSplitter) -> None:
        """Send requests to AW, and to the part that builds their W."""
        request = splitter.requests.payload
        m.submodules.port = port = AxiWritePort(self.params.write_port)
        connect(m, port.axi, flipped(self.axi))
        m.submodules.spans = spans = Fifo.sized(
            shape=self.params.span, depth=AHEAD, style="distributed"
        )
        half = request.span.first >= BEAT_WORDS
        m.d.comb += [
            port.watch.eq(self.watch),
            self.bus.eq(port.bus),
            port.bursts.valid.eq(splitter.requests.valid & spans.i.ready),
            splitter.requests.ready.eq(spans.i.ready & port.bursts.ready),
            spans.i.payload.eq(request.span),
            spans.i.valid.eq(splitter.requests.valid & splitter.requests.ready),
            port.bursts.payload.tag.eq(Cat(request.span.final, request.span.unit)),
            port.bursts.payload.address.eq(Cat(Const(0, LINE_OFFSET_BITS - 1), half, request.line)),
            port.bursts.payload.length.eq(~half & (request.span.last >= BEAT_WORDS)),
        ]

    def write(self, m: Module, waiting: Fifo) -> None:
        """Send beats of the properties to W."""
        port, spans = m.submodules.port, m.submodules.spans
        m.submodules.lanes = lanes = RequestBeats(self.params)
        m.submodules.spreader = spreader = Spreader(self.params)
        # This cuts a path of ready from the host's W to the requests that wait.
        cut_ready(m, "lanes_skid", lanes.beats, spreader.lanes)
        connect(m, spans.o, lanes.requests)
        connect(m, waiting.o, spreader.properties)
        connect(m, spreader.beats, port.beats)

    def answer(self, m: Module) -> None:
        """Report the end of a property: the answer to its last request."""
        port = m.submodules.port
        answered = Signal()
        final = Signal(reset_less=True)  # the property's last request
        unit = Signal(self.params.unit_bits, reset_less=True)
        bad = Signal(reset_less=True)  # this request failed
        doubtful = Signal()  # an earlier request of the property failed
        m.d.sync += [
            answered.eq(port.answers.valid),
            bad.eq(port.answers.failed),
            Cat(final, unit).eq(port.answers.tag),
            self.done.valid.eq(answered & final),
            self.done.unit.eq(unit),
            self.done.failed.eq(bad | doubtful),
        ]
        with m.If(answered):
            m.d.sync += doubtful.eq((bad | doubtful) & ~final)
