"""Checks the form and the header of received frames; what the worker misses is not needed here."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hdl.common.component import Component
from hdl.common.streams import StreamRegister
from hdl.switch.frame_filter import word_layout
from hdl.switchgnn.endpoint.bundles import BEAT_BITS, Verdict
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.protocol import (
    CONTROL_BYTES,
    FEATURE_BITS,
    FIELD_BYTES,
    SUM_BITS,
    Head,
    Kind,
)

#: Describes the settings with which a frame is compared.
OWN = data.StructLayout({"worker": 32, "job": 16, "epoch": 16, "lo": 32, "next": 32, "sending": 32})

#: Describes a beat whose form was checked.
MEASURED = data.StructLayout(
    {
        "data": BEAT_BITS,
        "last": 1,
        "clean": 1,  # the bits after a head's fields are zero
        "bare": 1,  # the bits after ``rows`` are zero
        "control": 1,  # the beat has as many bytes as a control frame
        "whole": 1,  # the beat has all bytes
        "narrow": 1,  # the bits after a feature are zero
        "wide": 1,  # the bits after a sum are zero
    }
)

NARROW = (Kind.FEATURE, Kind.RAW)
WIDE = (Kind.PARTIAL, Kind.RESULT)
CONTROL = (Kind.ACK, Kind.ADVANCE, Kind.FETCH, Kind.DONE, Kind.RAWFETCH)


def head_of(beat: Value) -> Any:
    """Return the fields of a frame's first beat."""
    return data.View(Head, beat[: 8 * FIELD_BYTES])


def one_of(kind: Any, kinds: tuple[Kind, ...]) -> Value:
    """Return whether ``kind`` is one of ``kinds``."""
    result = kind == kinds[0]
    for other in kinds[1:]:
        result = result | (kind == other)
    return result


class Arrivals(Component):
    """Passes every beat of ``packets`` on as ``beats``, with the result of all checks of its frame.

    A frame is malformed if its length is not that of its kind, if its kind does not exist, or if
    bits are set that are zero in every frame; all other results come with its first beat. Turns are
    compared at the time when the frame passes here, so the :class:`Taker` compares their last bits
    again.

    Throughput: a beat a cycle. Latency: :attr:`latency`. Stalls: holds; ``packets.ready`` does not
    depend on ``beats.ready`` in the same cycle.
    """

    latency = 1 + StreamRegister.latency

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            packets=In(stream.Signature(word_layout(params.frames))),
            own=In(OWN),
            beats=Out(stream.Signature(params.arrival)),
        )

    def build(self, m: Module) -> None:
        measured = Signal(MEASURED, reset_less=True)
        valid = Signal()
        m.submodules.judged = judged = StreamRegister.sized(shape=self.params.arrival)
        connect(m, judged.o, flipped(self.beats))
        m.d.comb += [
            self.packets.ready.eq(~valid | judged.i.ready),
            judged.i.valid.eq(valid),
        ]
        with m.If(self.packets.ready):
            m.d.sync += [
                valid.eq(self.packets.valid),
                measured.eq(self.measure(m, self.packets.payload)),
            ]
        self.judge(m, measured, judged.i)

    def measure(self, m: Module, word) -> Any:
        """Return a beat with the checks of its form that do not depend on its frame."""
        lanes, form = self.params.lanes, Signal(MEASURED)
        head, behind = head_of(word.data), word.data[8 * FIELD_BYTES :]
        m.d.comb += [
            *(form[name].eq(word[name]) for name in ("data", "last")),
            # The bytes after a control frame in its beat are undefined.
            form.clean.eq(
                ~Mux(word.keep[-1], behind, behind[: 8 * (CONTROL_BYTES - FIELD_BYTES)]).any()
            ),
            form.bare.eq(~head.about.target.nothing.any()),
            form.control.eq(word.keep == (1 << CONTROL_BYTES) - 1),
            form.whole.eq(word.keep.all()),
            form.narrow.eq(~word.data[lanes * FEATURE_BITS :].any()),
            form.wide.eq(~word.data[lanes * SUM_BITS :].any()),
        ]
        return form

    def judge(self, m: Module, word, judged) -> None:
        """Check a beat whose form was checked, together with the beats before it."""
        params, own, beat = self.params, self.own, judged.payload
        head = head_of(word.data)
        first = Signal(init=1)
        wrong_before = Signal(reset_less=True)
        is_wide = Signal(reset_less=True)  # the payload's frame has lanes of a sum's width
        left = Signal(range(params.sum_beats + 1), reset_less=True)  # beats of its payload left
        wide, narrow = one_of(head.kind, WIDE), one_of(head.kind, NARROW)
        control = one_of(head.kind, CONTROL)
        wrong_head = (
            ~word.clean
            | (~word.bare & (head.kind != Kind.ACK))
            | ~Mux(word.last, control & word.control, (wide | narrow) & word.whole)
        )
        wrong_payload = (
            wrong_before
            | ~word.whole
            | ~Mux(is_wide, word.wide, word.narrow)
            | (word.last != (left == 1))
        )
        wrong = Signal()
        m.d.comb += wrong.eq(Mux(first, wrong_head, wrong_payload))
        target = head.about.target
        m.d.comb += [
            beat.first.eq(first),
            beat.last.eq(word.last),
            beat.malformed.eq(wrong),
            beat.is_lo.eq(head.turn == own.lo),
            beat.is_next.eq(head.turn == own.next),
            beat.is_sending.eq(head.turn == own.sending),
            beat.in_sums.eq(~target.list[exact_log2(params.aggregators) :].any()),
            beat.in_copies.eq(~target.source[exact_log2(params.copies) :].any()),
            beat.data.eq(word.data),
            beat.stranger.eq(self.stranger(m, head)),
        ]
        with m.If(judged.valid & judged.ready):
            m.d.sync += [first.eq(word.last), wrong_before.eq(wrong), left.eq(left - 1)]
            with m.If(first):
                m.d.sync += [
                    is_wide.eq(wide),
                    left.eq(Mux(wide, params.sum_beats, params.feature_beats)),
                ]

    def stranger(self, m: Module, head) -> Any:
        """Return why a frame is not for this worker in this run, or NONE."""
        own, stranger = self.own, Signal(Verdict)
        with m.If(head.job != own.job):
            m.d.comb += stranger.eq(Verdict.WRONG_JOB)
        with m.Elif(head.bm != own.worker):
            m.d.comb += stranger.eq(Verdict.WRONG_WORKER)
        with m.Elif(head.epoch != own.epoch):
            m.d.comb += stranger.eq(Verdict.WRONG_RUN)
        return stranger
