"""Serializes sums and features into frames: a head, and then the beats of the payload."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.switchgnn.protocol import FEATURE_BITS, Head, Kind
from hdl.switchgnn.switch.params import GnnSwitchParams


class FrameSerializer(Component):
    """Builds a RESULT, a RAW or a PARTIAL from each ``delivery`` that comes with ``deliver``.

    Frames go from ``source`` to ``destination``, have the bit ``bm`` of their port and are marked
    if ``congested`` is high when they come; fields that their kind does not use are zero.

    Throughput: a beat a cycle, so ``deliver`` may come every ``params.result_beats`` cycles, or
    ``params.raw_beats`` after a RAW. There is no back-pressure, neither to deliveries nor from
    beats. Latency: :attr:`latency` to the head. ``busy`` says that beats of a frame are still to
    come.
    """

    latency = 0

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            destination=In(48),
            source=In(48),
            bm=In(32),
            congested=In(1),
            deliver=In(1),
            delivery=In(params.delivery),
            valid=Out(1),
            beat=Out(params.egress_beat),
            busy=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        bits, count = params.frames.data_bits, params.payload_beats
        # The payload does not shift, but is read part by part: shifting would cost a LUT a bit.
        payload = Signal(count * bits, reset_less=True)
        parts = Array(payload[k * bits : (k + 1) * bits] for k in range(count))
        index_bits = max(1, ceil_log2(count))
        index = Signal(index_bits, reset_less=True)  # number of the next part
        last = Signal(index_bits, reset_less=True)  # number of the frame's last part
        ends = index == last
        with m.If(self.deliver):
            m.d.sync += [
                payload.eq(self.payload()),
                index.eq(0),
                last.eq(Mux(self.delivery.raw, params.raw_beats - 2, count - 1)),
            ]
        with m.Else():
            m.d.sync += index.eq((index + 1)[: len(index)])
        m.d.comb += [
            self.valid.eq(self.deliver | self.busy),
            self.beat.data.eq(Mux(self.deliver, self.head(m), parts[index])),
            self.beat.last.eq(~self.deliver & ends),
        ]
        m.d.sync += self.busy.eq(self.deliver | (self.busy & ~ends))
        expect(m, self, frames_are_apart=lambda: ~(self.deliver & self.busy))

    def head(self, m: Module) -> Value:
        """Return the first beat of the frame."""
        head, delivery = Signal(Head), self.delivery
        m.d.comb += [
            head.as_value().eq(0),
            *self.params.frames.fill(head, self.destination, self.source),
            head.job.eq(delivery.job),
            head.epoch.eq(delivery.epoch),
            head.turn.eq(delivery.turn),
            head.kind.eq(Mux(delivery.raw, Kind.RAW, Kind.RESULT)),
            head.bm.eq(self.bm),
            head.ecn.eq(self.congested),
            *self.as_partial(head),
            head.about.target.list.eq(Mux(delivery.raw, 0, delivery.list)),
            head.about.target.source.eq(Mux(delivery.raw, delivery.source, 0)),
        ]
        return head.as_value()

    def as_partial(self, head: Any) -> list[Any]:
        """Return statements that change the head for a PARTIAL, which is not marked."""
        if not self.params.links:
            return []
        delivery = self.delivery
        other = Mux(delivery.partial, Kind.PARTIAL, Kind.RESULT)
        return [
            head.kind.eq(Mux(delivery.raw, Kind.RAW, other)),
            head.seq.eq(Mux(delivery.partial, delivery.seq, 0)),
            head.ecn.eq(self.congested & ~delivery.partial),
        ]

    def payload(self) -> Value:
        """Return the payload of the frame."""
        sums, feature_bits = self.delivery.sums.as_value(), self.params.lanes * FEATURE_BITS
        if feature_bits % self.params.frames.data_bits == 0:
            return sums  # a RAW ends before the lanes that it does not have
        return Cat(sums[:feature_bits], Mux(self.delivery.raw, 0, sums[feature_bits:]))
