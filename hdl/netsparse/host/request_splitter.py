"""Splits a property into the requests that read or write it."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.common.streams import StreamRegister, forward
from hdl.netsparse.host.params import (
    LANE_BITS,
    LINE_OFFSET_BITS,
    LINE_WORDS,
    PLACE_BITS,
    WORD_BYTES,
    WORD_OFFSET_BITS,
    HostParams,
)


class RequestSplitter(Component):
    """Cuts ``properties`` into ``requests`` that stay inside a line, in the order of the addresses.

    With ``aligned`` a property is cut only at the ends of lines: one request for each line that it
    touches (GPU-oriented data communication, section 3.2.1). Without it, a property is also cut
    every 128 bytes from its own beginning: every line but the first then has two requests, of which
    the first ends at the place where the property began in its line. ``aligned`` applies to the
    properties that begin while it is set.

    Addresses and sizes must be multiples of 4, sizes from 4 to ``max_bytes``; this is not checked.

    Throughput: one request a cycle, so one property a cycle if each is one request. Latency:
    ``latency`` cycles from a property to its first request. Stalls: holds; ``properties.ready``
    is a register.
    """

    latency = StreamRegister.latency + 2

    def __init__(self, params: HostParams) -> None:
        super().__init__(
            params,
            properties=In(stream.Signature(params.whole)),
            requests=Out(stream.Signature(params.line_request)),
            aligned=In(1),
        )

    @property
    def extent_bits(self) -> int:
        """Return the width of the number of a property's words less one."""
        return bits_for(self.params.max_bytes // WORD_BYTES - 1)

    @property
    def left_bits(self) -> int:
        """Return the width of the number of a property's lines less one."""
        return bits_for((LINE_WORDS + self.params.max_bytes // WORD_BYTES - 2) // LINE_WORDS)

    def build(self, m: Module) -> None:
        layout = data.StructLayout(
            {
                "first": PLACE_BITS,
                "line": self.params.line_bits,
                "extent": self.extent_bits,
                "unit": self.params.unit_bits,
            }
        )
        m.submodules.register = register = StreamRegister.sized(shape=layout)
        provided = self.properties.payload
        prepared = register.i.payload
        m.d.comb += [
            prepared.line.eq(provided.address[LINE_OFFSET_BITS:]),
            prepared.first.eq(provided.address[WORD_OFFSET_BITS:LINE_OFFSET_BITS]),
            prepared.extent.eq((provided.bytes[WORD_OFFSET_BITS:] - 1)[: self.extent_bits]),
            prepared.unit.eq(provided.unit),
            *forward(self.properties, register.i),
        ]
        self.walk(m, register.o.payload, register.o)

    def walk(self, m: Module, waiting, source) -> None:
        """Emit a request a cycle for the current property, then take the next one."""
        line = Signal(self.params.line_bits, reset_less=True)
        at = Signal(PLACE_BITS, reset_less=True)
        left = Signal(self.left_bits, reset_less=True)
        tail = Signal(PLACE_BITS, reset_less=True)  # last word of the property in its last line
        cut = Signal(PLACE_BITS, reset_less=True)  # place of its beginning in its first line
        naive = Signal(reset_less=True)
        below = Signal(reset_less=True)  # not aligned, and this request ends at the cut
        unit = Signal(self.params.unit_bits, reset_less=True)
        busy = Signal()
        step = Signal()
        closing = Signal()
        request = Signal(self.params.line_request, reset_less=True)
        m.d.comb += [
            step.eq(~self.requests.valid | self.requests.ready),
            closing.eq((left == 0) & (~below | (tail < cut))),
            source.ready.eq(~busy | (step & closing)),
            self.requests.payload.eq(request),
        ]
        with m.If(step):
            m.d.sync += [
                self.requests.valid.eq(busy),
                request.line.eq(line),
                request.span.first.eq(at),
                request.span.last.eq(Mux(left == 0, tail, LINE_WORDS - 1)),
                request.span.rotation.eq(cut[:LANE_BITS]),
                request.span.final.eq(closing),
                request.span.unit.eq(unit),
                line.eq(line + 1),
                left.eq(left - 1),
                at.eq(0),
                below.eq(naive),
            ]
            with m.If(below & ~closing):
                m.d.sync += [
                    request.span.last.eq(cut - 1),
                    line.eq(line),
                    left.eq(left),
                    at.eq(cut),
                    below.eq(0),
                ]
        with m.If(source.ready):
            m.d.sync += [
                busy.eq(source.valid),
                line.eq(waiting.line),
                at.eq(waiting.first),
                cut.eq(waiting.first),
                Cat(tail, left).eq(waiting.first + waiting.extent),
                naive.eq(~self.aligned & waiting.first.any()),
                below.eq(0),
                unit.eq(waiting.unit),
            ]
