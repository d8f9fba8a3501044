"""Assembles a frame's beats into the fields to be judged, and the payload."""

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.packets import BEAT_BYTES
from hdl.switch.frame_filter import Quality, word_layout
from hdl.switch.frame_format import copied
from hdl.switchgnn.protocol import (
    CONTROL_BYTES,
    FEATURE_BITS,
    FIELD_BYTES,
    LANE_BITS,
    SUM_BITS,
    Head,
    Kind,
)
from hdl.switchgnn.switch.params import GnnSwitchParams


class FrameAssembler(Component):
    """Turns every frame of ``beats`` into one of ``frames``: a ``packet``, and its payload.

    ``payload`` has the beats after the head, the last of them in the last place (see
    :attr:`GnnSwitchParams.payload_words`); places that a shorter payload does not use are
    undefined. A frame is malformed if its kind does not exist, if it has another length than its
    kind, or if bits are set that must be zero in frames of its kind.

    ``undone`` drops all beats since the end of the last frame, one of this cycle included.

    The last beat is not stored, but read while it waits. All other beats are still stable in the
    cycle after their frame is taken, so that the select of a wide multiplexer can be registered.
    Throughput: a beat a cycle, so at most a frame every :attr:`GnnSwitchParams.result_beats`
    cycles. Latency: none from the last beat. Stalls: holds.
    """

    latency = 0

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            beats=In(stream.Signature(word_layout(params.frames))),
            port_bit=In(32),
            undone=In(1),
            frames=Out(stream.Signature(params.arrival)),
        )

    def build(self, m: Module) -> None:
        params, beat = self.params, self.beats.payload
        stored = Signal(params.stored_head, reset_less=True)
        before = Signal(range(params.frames.beats + 1))  # beats of the frame that are stored
        broken_before = Signal(reset_less=True)
        words = [
            Signal(params.frames.axis.data_bits, name=f"word_{k}", reset_less=True)
            for k in range(params.payload_beats - 1)
        ]
        head = Signal(params.stored_head)  # head of this beat's frame
        inside = Signal()  # some are; a register, since it drives many loads
        fresh = self.head_of(m, beat)
        m.d.comb += head.eq(Mux(inside, stored, fresh))
        broken = broken_before | (beat.last & self.padding(beat.data, head))
        # ``ready`` is known late, so only ``before`` depends on it.
        with m.If(self.beats.valid & ~beat.last):
            with m.If(~inside):
                m.d.sync += stored.eq(fresh)
            m.d.sync += [
                inside.eq(1),
                before.eq(before + 1),
                broken_before.eq(Mux(inside, broken, fresh.broken)),
            ]
            for k, word in enumerate(words):
                with m.If(before == k + 1):
                    m.d.sync += word.eq(beat.data)
        with m.If((self.frames.valid & self.frames.ready) | self.undone):
            m.d.sync += [inside.eq(0), before.eq(0)]
        arrival = self.frames.payload
        wrong = Mux(inside, broken | ~beat.keep.all(), fresh.broken | beat.keep[CONTROL_BYTES])
        good = ~wrong & self.is_end(head, before)
        # PARTIAL, FEATURE and RAW have a payload to keep; a RESULT is not for a switch.
        brings = (head.features | head.sums) & (head.header.kind != Kind.RESULT)
        m.d.comb += [
            self.frames.valid.eq(self.beats.valid & beat.last),
            self.beats.ready.eq(self.frames.ready | ~beat.last),
            arrival.packet.quality.eq(Mux(good, Quality.GOOD, Quality.MALFORMED)),
            arrival.packet.own.eq(head.own),
            arrival.packet.known.eq(head.known),
            arrival.packet.header.eq(head.header),
            arrival.brings.eq(good & brings),
        ]
        m.d.comb += [arrival.payload[k].eq(word) for k, word in enumerate([*words, beat.data])]
        if words:
            expect(m, self, words_stay_for_a_cycle=lambda: self.words_stay(m, Cat(words)))

    def words_stay(self, m: Module, words: Value) -> Value:
        """State that the words of a frame that was taken are stable for one more cycle."""
        taken = delay(m, self.frames.valid & self.frames.ready, 1, "taken", reset_less=False)
        return ~taken | (words == delay(m, words, 1, "words"))

    def head_of(self, m: Module, beat) -> Any:
        """Return the stored fields of a head."""
        params, bits = self.params, beat.data
        frame: Any = data.View(Head, bits[: 8 * FIELD_BYTES])
        target = frame.about.target
        head: Any = Signal(params.stored_head, name="fresh")
        widths = {bits: is_one_of(frame.kind, LANE_BITS, bits) for bits in (FEATURE_BITS, SUM_BITS)}
        rest = bits[8 * FIELD_BYTES : 8 * CONTROL_BYTES].any()
        rest |= bits[8 * CONTROL_BYTES :].any() & ~beat.last
        is_ack = frame.kind == Kind.ACK
        m.d.comb += [
            *copied(head.header, frame),  # its source is replaced by the vertex
            *copied(head.header, target),
            head.own.eq(frame.bm == self.port_bit),
            head.known.eq(frame.job < params.jobs),
            head.features.eq(widths[FEATURE_BITS]),
            head.sums.eq(widths[SUM_BITS]),
            head.broken.eq(
                ~Cat(frame.kind == kind for kind in Kind).any()
                | rest
                | (target.nothing.any() & ~is_ack)
            ),
        ]
        return head

    def is_end(self, head, before: Value) -> Value:
        """Return whether the beat after ``before`` others is the last one for its kind."""
        params = self.params
        end = Mux(head.sums, beats_of(SUM_BITS, params), beats_of(FEATURE_BITS, params))
        return before == Mux(head.sums | head.features, end, 0)

    def padding(self, bits: Value, head) -> Value:
        """Return whether a last beat of payload has bits set after the last lane."""
        wrong: list[Value] = []
        for width, is_wide in ((FEATURE_BITS, head.features), (SUM_BITS, head.sums)):
            used = width * self.params.lanes % len(bits)
            if used:
                wrong.append(is_wide & bits[used:].any())
        return Cat(wrong).any()


def beats_of(lane_bits: int, params: GnnSwitchParams) -> int:
    """Return the number of beats of a payload of lanes of so many bits."""
    return -(-lane_bits * params.lanes // (8 * BEAT_BYTES))


def is_one_of(kind: Any, kinds: Mapping[Kind, int], bits: int) -> Value:
    """Return whether ``kind`` is one of those with lanes of so many bits."""
    return Cat(kind == item for item, width in kinds.items() if width == bits).any()
