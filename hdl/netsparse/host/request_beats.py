"""Splits a request into its beats, one after the other."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.netsparse.host.params import BEAT_WORDS, LANE_BITS, HostParams


class RequestBeats(Component):
    """Emits one or two ``beats`` for each of ``requests``: the lanes of the bus that it uses.

    Throughput: one beat a cycle. Latency: ``latency``. Stalls: holds; ``requests.ready`` follows
    ``beats.ready`` combinationally.
    """

    latency = 1

    def __init__(self, params: HostParams) -> None:
        super().__init__(
            params,
            requests=In(stream.Signature(params.span)),
            beats=Out(stream.Signature(params.lanes)),
        )

    def build(self, m: Module) -> None:
        span = self.requests.payload
        second = Signal()  # the second half of the line is next
        step = Signal()
        closing = Signal()
        first = Signal(LANE_BITS)
        last = Signal(LANE_BITS)
        beat = Signal(self.params.lanes, reset_less=True)
        m.d.comb += [
            step.eq(~self.beats.valid | self.beats.ready),
            closing.eq(second | (span.first[LANE_BITS] == span.last[LANE_BITS])),
            first.eq(Mux(second, 0, span.first)[:LANE_BITS]),
            last.eq(Mux(closing, span.last, BEAT_WORDS - 1)[:LANE_BITS]),
            self.requests.ready.eq(step & closing),
            self.beats.payload.eq(beat),
        ]
        with m.If(step & self.requests.valid):
            m.d.sync += second.eq(~closing)
        with m.If(step):
            m.d.sync += [
                self.beats.valid.eq(self.requests.valid),
                beat.first.eq(first),
                beat.last.eq(last),
                beat.rotation.eq(span.rotation),
                beat.low.eq(first < span.rotation),
                beat.high.eq(last >= span.rotation),
                beat.end.eq(closing),
                beat.final.eq(closing & span.final),
                beat.unit.eq(span.unit),
            ]
