"""Writes properties to host memory, for all units."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.axi import Burst, Response
from hdl.common.component import Component
from hdl.common.fifo import Fifo, FifoParams
from hdl.common.stream_arbiter import StreamArbiter, StreamArbiterParams
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
from hdl.netsparse.protocol import BEAT_BYTES

AHEAD = 16  #: requests that AW may be ahead of W, and beats of properties that wait for W


class HostWriter(Component):
    """Writes the ``properties`` of all units; ``done`` tells of each, in the order taken.

    A property comes in ceil(bytes / 64) beats from its first byte on, in lane 0, with the same
    address and size in all. A unit's property is taken whole, then it is another's turn: a unit
    that pauses in the middle holds up all others. A request on the bus is a burst of one or two
    beats inside an aligned line of 128 bytes, cut as ``aligned`` says (see
    :class:`RequestSplitter`); without it most beats of the bus are written in two parts. ``done``
    comes when the property's last request has its B; ``failed``: not all of them were OKAY.

    Addresses and sizes are multiples of 4, sizes from 4 to ``most_bytes``, and ``last`` comes
    with the beat that the size says; nothing checks it. ``aligned`` may change while nothing is
    under way.

    Throughput: one beat of the bus a cycle, so one property a cycle if each is inside a beat of
    the bus, while ``outstanding`` requests cover the memory's latency. Latency:
    ``request_latency`` cycles from a property's first beat to ``awvalid``, ``beat_latency`` to
    ``wvalid`` (one more if another unit was last), ``done_latency`` from B to ``done``. Stalls:
    AW and W wait each on its own: AW runs up to 16 requests, or 16 beats of properties, ahead of
    W, and the W of a request comes even if its AW is not taken. B never waits. Full: at
    ``outstanding`` requests without B, AW ceases.
    """

    request_latency = StreamArbiter.latency + RequestSplitter.latency + 1
    beat_latency = request_latency + RequestBeats.latency + Spreader.latency
    done_latency = 2

    def __init__(self, params: HostParams) -> None:
        super().__init__(
            params,
            {
                "properties": In(stream.Signature(params.property_beat)).array(params.units),
                "done": Out(params.done),
                "axi": Out(params.write_axi),
                "aligned": In(1),
                "events": Out(EVENTS),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        body = self.params.property_beat
        m.submodules.arbiter = arbiter = StreamArbiter(
            StreamArbiterParams(
                width=body.size, count=self.params.units, last_bit=body["last"].offset
            )
        )
        for given, turn in zip(self.properties, arbiter.i, strict=True):
            m.d.comb += [
                turn.payload.eq(given.payload),
                turn.valid.eq(given.valid),
                given.ready.eq(turn.ready),
            ]
        m.submodules.splitter = splitter = RequestSplitter(self.params)
        m.submodules.rotator = rotator = Rotator(self.params)
        m.submodules.waiting = waiting = Fifo(
            FifoParams(width=8 * BEAT_BYTES, depth=AHEAD, style="distributed")
        )
        chosen = arbiter.o.payload
        beat = Signal(body)
        first = Signal(init=1)
        m.d.comb += [
            beat.eq(chosen.payload),
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
        spans, owed = self.issue(m, splitter)
        self.write(m, spans, waiting)
        self.answer(m, owed)
        return m

    def issue(self, m: Module, splitter: RequestSplitter) -> tuple[Fifo, Fifo]:
        """Requests to AW, to where their W is made, and to where B will arrive."""
        axi, request = self.axi, splitter.requests.payload
        m.submodules.spans = spans = Fifo(
            FifoParams(width=self.params.span.size, depth=AHEAD, style="distributed")
        )
        m.submodules.owed = owed = Fifo(
            FifoParams(
                width=self.params.unit_bits + 1,
                depth=self.params.outstanding,
                style="distributed",
            )
        )
        line = Signal(self.params.line_bits, reset_less=True)
        half = Signal(reset_less=True)
        two = Signal(reset_less=True)
        go = Signal()
        m.d.comb += [
            go.eq(splitter.requests.valid & splitter.requests.ready),
            splitter.requests.ready.eq(spans.i.ready & owed.i.ready & (~axi.awvalid | axi.awready)),
            spans.i.payload.eq(request.span),
            spans.i.valid.eq(go),
            owed.i.payload.eq(Cat(request.span.final, request.span.unit)),
            owed.i.valid.eq(go),
            axi.awaddr.eq(Cat(Const(0, LINE_OFFSET_BITS - 1), half, line)),
            axi.awlen.eq(two),
            axi.awsize.eq(BEAT_BYTES.bit_length() - 1),
            axi.awburst.eq(Burst.INCR),
        ]
        with m.If(axi.awready):
            m.d.sync += axi.awvalid.eq(0)
        with m.If(go):
            m.d.sync += [
                axi.awvalid.eq(1),
                line.eq(request.line),
                half.eq(request.span.first >= BEAT_WORDS),
                two.eq((request.span.first < BEAT_WORDS) & (request.span.last >= BEAT_WORDS)),
            ]
        return spans, owed

    def write(self, m: Module, spans: Fifo, waiting: Fifo) -> None:
        """Beats of the properties to W."""
        axi = self.axi
        m.submodules.lanes = lanes = RequestBeats(self.params)
        m.submodules.spreader = spreader = Spreader(self.params)
        m.d.comb += [
            lanes.requests.payload.eq(spans.o.payload),
            lanes.requests.valid.eq(spans.o.valid),
            spans.o.ready.eq(lanes.requests.ready),
            spreader.lanes.payload.eq(lanes.beats.payload),
            spreader.lanes.valid.eq(lanes.beats.valid),
            lanes.beats.ready.eq(spreader.lanes.ready),
            spreader.properties.payload.eq(waiting.o.payload),
            spreader.properties.valid.eq(waiting.o.valid),
            waiting.o.ready.eq(spreader.properties.ready),
            axi.wdata.eq(spreader.beats.payload.data),
            axi.wstrb.eq(spreader.beats.payload.strobes),
            axi.wlast.eq(spreader.beats.payload.last),
            axi.wvalid.eq(spreader.beats.valid),
            spreader.beats.ready.eq(axi.wready),
        ]

    def answer(self, m: Module, owed: Fifo) -> None:
        """B of the last request of a property is its end."""
        answered = Signal()
        bad = Signal(reset_less=True)  # this request
        doubtful = Signal()  # the property's requests before
        final = owed.o.payload[0]
        m.d.comb += [self.axi.bready.eq(1), owed.o.ready.eq(answered)]
        m.d.sync += [
            answered.eq(self.axi.bvalid),
            bad.eq(self.axi.bresp != Response.OKAY),
            self.done.valid.eq(answered & final),
            self.done.unit.eq(owed.o.payload[1:]),
            self.done.failed.eq(bad | doubtful),
        ]
        with m.If(answered):
            m.d.sync += doubtful.eq((bad | doubtful) & ~final)
