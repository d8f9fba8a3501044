"""Spreads beats of a property into beats with the layout of memory."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.host.params import BEAT_WORDS, WORD_BYTES, HostParams
from hdl.netsparse.host.rotator import words_below


class Spreader(Component):
    """Builds beats of W: puts the words of ``properties`` into ``lanes``, with byte enables.

    ``properties`` are the beats of a property, each rotated up by the lane of the property's first
    word; ``lanes`` are all beats of all its requests. A beat of the bus takes the words below that
    lane from the property's previous beat, and the others from the current one. Requests end at
    that lane, at the end of a beat, or with the property, so no later beat needs the current one's
    other words.

    Throughput: one beat a cycle. Latency: ``latency``. Stalls: holds, and waits for a beat of the
    property only if it needs it; both ``ready`` follow ``beats.ready`` combinationally.
    """

    latency = 0

    def __init__(self, params: HostParams) -> None:
        self.beat_layout = data.StructLayout(
            {"data": 8 * BEAT_BYTES, "strobes": BEAT_BYTES, "last": 1}
        )
        super().__init__(
            params,
            properties=In(stream.Signature(8 * BEAT_BYTES)),
            lanes=In(stream.Signature(params.lanes)),
            beats=Out(stream.Signature(self.beat_layout)),
        )

    def build(self, m: Module) -> None:
        lanes, word = self.lanes.payload, 8 * WORD_BYTES
        former = Signal(8 * BEAT_BYTES, reset_less=True)
        beat = self.beats.payload
        step = Signal()
        written = Signal(BEAT_WORDS)
        # Words of the property's previous beat; all words, if a beat needs only that one.
        earlier = Signal(BEAT_WORDS)
        m.d.comb += [
            written.eq(Cat(1, words_below(lanes.last)) & ~words_below(lanes.first)),
            earlier.eq(words_below(lanes.rotation) | (~lanes.high).replicate(BEAT_WORDS)),
            self.beats.valid.eq(self.lanes.valid & (self.properties.valid | ~lanes.high)),
            step.eq(self.beats.valid & self.beats.ready),
            self.lanes.ready.eq(step),
            self.properties.ready.eq(self.lanes.valid & self.beats.ready & lanes.high),
            beat.last.eq(lanes.end),
            beat.data.eq(
                Cat(
                    Mux(
                        earlier[k],
                        former.word_select(k, word),
                        self.properties.payload.word_select(k, word),
                    )
                    for k in range(BEAT_WORDS)
                )
            ),
            beat.strobes.eq(Cat(written[k].replicate(WORD_BYTES) for k in range(BEAT_WORDS))),
        ]
        # The enable of so many registers is not what the queue in front waits for.
        with m.If(self.properties.valid & self.properties.ready):
            m.d.sync += former.eq(self.properties.payload)
