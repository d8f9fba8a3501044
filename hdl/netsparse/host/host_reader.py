"""Reads properties from host memory, for all units."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi_read_port import AxiReadPort
from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.packets import BEAT_BYTES
from hdl.common.stream_arbiter import StreamArbiter
from hdl.common.streams import forward
from hdl.netsparse.host.packer import Packer
from hdl.netsparse.host.params import BEAT_WORDS, EVENTS, LINE_OFFSET_BITS, HostParams
from hdl.netsparse.host.request_beats import RequestBeats
from hdl.netsparse.host.request_splitter import RequestSplitter


class HostReader(Component):
    """Reads the properties that units request (``requests``), and returns ``beats`` in order.

    A request on the bus is a burst of one or two beats inside an aligned line of 128 bytes;
    ``aligned`` selects how a property is cut into such requests (see :class:`RequestSplitter`). A
    property of n bytes comes as ceil(n / 64) beats, with its first byte in lane 0; bytes after its
    end in the last beat are undefined. ``failed``, valid with the last beat, says that not all
    responses were OKAY, or that the bus is broken (``bus``, see :class:`AxiReadPort`). ``beats``
    has no back-pressure: a unit requests what it has room for. Units are granted in round-robin
    order.

    Addresses and sizes must be multiples of 4, sizes from 4 to ``max_bytes``; this is not checked.
    ``aligned`` may change while nothing is under way.

    Throughput: one property a cycle if each is one request of one beat, one request a cycle, one
    beat of the bus a cycle, while ``outstanding`` requests cover the memory's latency. Latency:
    ``request_latency`` cycles from a property to ``arvalid`` (one more if another unit was last),
    ``beat_latency`` from R to ``beats``, one more for a beat after one that was late. Stalls: AR
    may wait; R never does. Full: AR waits at ``outstanding`` requests, or at one fewer while the
    oldest request has two beats.
    """

    request_latency = StreamArbiter.latency + RequestSplitter.latency + AxiReadPort.latency
    beat_latency = 1 + Packer.latency

    def __init__(self, params: HostParams) -> None:
        super().__init__(
            params,
            requests=In(stream.Signature(params.read_request)).array(params.units),
            beats=Out(params.read_beat),
            axi=Out(params.read_port.read_bus),
            watch=In(WATCH),
            bus=Out(BUS),
            aligned=In(1),
            events=Out(EVENTS),
        )

    def build(self, m: Module) -> None:
        layout = self.params.read_request
        m.submodules.arbiter = arbiter = StreamArbiter.sized(shape=layout, count=self.params.units)
        m.submodules.splitter = splitter = RequestSplitter(self.params)
        for requested, turn in zip(self.requests, arbiter.i, strict=True):
            connect(m, flipped(requested), turn)
        unit, provided = arbiter.o.payload.index, arbiter.o.payload.payload
        m.d.comb += [
            *forward(
                arbiter.o,
                splitter.properties,
                address=provided.address,
                bytes=provided.bytes,
                unit=unit,
            ),
            splitter.aligned.eq(self.aligned),
        ]
        m.d.sync += [
            self.events.property.eq(arbiter.o.valid & arbiter.o.ready),
            self.events.request.eq(self.axi.arvalid & self.axi.arready),
        ]
        lanes = self.issue(m, splitter)
        self.receive(m, lanes)

    def issue(self, m: Module, splitter: RequestSplitter) -> RequestBeats:
        """Send requests to AR, and queue their lanes for R."""
        request = splitter.requests.payload
        m.submodules.lanes = lanes = RequestBeats(self.params)
        m.submodules.port = port = AxiReadPort(self.params.read_port)
        connect(m, port.axi, flipped(self.axi))
        # A request has left the queue already when its last beat is next.
        m.submodules.spans = spans = Fifo.sized(
            shape=self.params.span, depth=self.params.outstanding - 1, style="distributed"
        )
        half = request.span.first >= BEAT_WORDS
        connect(m, spans.o, lanes.requests)
        m.d.comb += [
            port.watch.eq(self.watch),
            self.bus.eq(port.bus),
            port.bursts.valid.eq(splitter.requests.valid & spans.i.ready),
            splitter.requests.ready.eq(spans.i.ready & port.bursts.ready),
            spans.i.payload.eq(request.span),
            spans.i.valid.eq(splitter.requests.valid & splitter.requests.ready),
            port.bursts.payload.address.eq(Cat(Const(0, LINE_OFFSET_BITS - 1), half, request.line)),
            port.bursts.payload.length.eq(~half & (request.span.last >= BEAT_WORDS)),
        ]
        return lanes

    def receive(self, m: Module, lanes: RequestBeats) -> None:
        """Join beats with their lanes, which are there after two cycles; R takes three."""
        port = m.submodules.port
        m.submodules.packer = packer = Packer(self.params)
        valid = Signal()
        failed = Signal(reset_less=True)
        data = Signal(8 * BEAT_BYTES, reset_less=True)
        m.d.sync += [
            valid.eq(port.beats.valid),
            failed.eq(port.beats.failed),
            data.eq(port.beats.data),
        ]
        m.d.comb += [
            packer.i.valid.eq(valid),
            packer.i.failed.eq(failed),
            packer.i.data.eq(data),
            packer.i.lanes.eq(lanes.beats.payload),
            lanes.beats.ready.eq(valid),
            self.beats.eq(packer.beats),
        ]
