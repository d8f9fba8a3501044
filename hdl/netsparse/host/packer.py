"""Packs beats with the layout of memory into beats of a property."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.host.params import BEAT_WORDS, LANE_BITS, WORD_BYTES, HostParams
from hdl.netsparse.host.rotator import Rotator, words_below


class Packer(Component):
    """Packs the words of ``i`` that its lanes select into ``beats``, without gaps.

    ``i`` are all beats of all requests of a property, then those of the next. Every beat of a
    property but its last has 64 bytes; bytes after the end in the last beat are undefined.
    ``failed``, valid with the last beat, is high if any ``i`` of the property failed.

    A rotated beat of the bus holds the end of one beat of the property and the beginning of the
    next, so it completes one beat or none; the property's last one may complete two. The second of
    these waits for a cycle, and so do the beats after it, but never more than one beat waits: such
    a property began with a beat that completed none.

    Throughput: one beat a cycle. Latency: ``latency``, or one more. No stalls.
    """

    latency = 2

    def __init__(self, params: HostParams) -> None:
        self.input_layout = data.StructLayout(
            {"valid": 1, "failed": 1, "lanes": params.lanes, "data": 8 * BEAT_BYTES}
        )
        super().__init__(params, i=In(self.input_layout), beats=Out(params.read_beat))

    def build(self, m: Module) -> None:
        lanes = self.i.lanes
        m.submodules.rotator = rotator = Rotator(self.params)
        m.d.comb += [rotator.i.eq(self.i.data), rotator.up.eq((-lanes.rotation)[:LANE_BITS])]

        valid = Signal()
        turned = Signal(8 * BEAT_BYTES, reset_less=True)
        low = Signal(reset_less=True)
        high = Signal(reset_less=True)
        flush = Signal(reset_less=True)  # the beginning of a beat is its only part
        closing = Signal(reset_less=True)
        failed = Signal(reset_less=True)
        unit = Signal(self.params.unit_bits, reset_less=True)
        stored = Signal(BEAT_WORDS, reset_less=True)  # words that came before
        doubtful = Signal()  # an earlier ``i`` of the property failed
        m.d.sync += [
            valid.eq(self.i.valid),
            turned.eq(rotator.o),
            low.eq(lanes.low),
            high.eq(lanes.high),
            flush.eq(lanes.high & (lanes.final | (lanes.rotation == 0))),
            closing.eq(lanes.final),
            failed.eq(self.i.failed | doubtful),
            unit.eq(lanes.unit),
            stored.eq(Mux(lanes.low, ~words_below(lanes.rotation)[::-1], 0)),
        ]
        with m.If(self.i.valid):
            m.d.sync += doubtful.eq((self.i.failed | doubtful) & ~lanes.final)

        begun = Signal(8 * BEAT_BYTES, reset_less=True)
        with m.If(valid & high):
            m.d.sync += begun.eq(turned)
        whole = Signal(self.params.read_beat)  # the first beat that is complete
        rest = Signal(self.params.read_beat)  # the second
        for beat, is_there, words in (
            (whole, low | flush, self.merge(stored, begun, turned)),
            (rest, low & flush, turned),
        ):
            m.d.comb += [
                beat.valid.eq(valid & is_there),
                beat.unit.eq(unit),
                beat.failed.eq(failed & closing),
                beat.last.eq(closing),
                beat.data.eq(words),
            ]
        with m.If(rest.valid):
            m.d.comb += [whole.last.eq(0), whole.failed.eq(0)]
        self.deliver(m, whole, rest)

    def merge(self, stored: Signal, begun: Signal, turned: Signal):
        """Merge words that came before with all others from this beat."""
        word = 8 * WORD_BYTES
        return Cat(
            Mux(stored[k], begun.word_select(k, word), turned.word_select(k, word))
            for k in range(BEAT_WORDS)
        )

    def deliver(self, m: Module, whole: Signal, rest: Signal) -> None:
        """Emit one beat a cycle, in order; another one may wait."""
        late = Signal(self.params.read_beat, reset_less=True)
        late_valid = Signal()
        beat = Signal(self.params.read_beat, reset_less=True)
        beat_valid = Signal()
        m.d.comb += [self.beats.eq(beat), self.beats.valid.eq(beat_valid)]
        m.d.sync += [
            beat.eq(Mux(late_valid, late, whole)),
            beat_valid.eq(late_valid | whole.valid),
            late.eq(Mux(late_valid, whole, rest)),
            late_valid.eq(Mux(late_valid, whole.valid, rest.valid)),
        ]
