"""Carries out received frames: sums and copies, ACKs and ADVANCEs, requests of other workers."""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.switchgnn.endpoint.arrivals import head_of
from hdl.switchgnn.endpoint.bundles import ACKNOWLEDGEMENT, BEAT_BITS, LOOKUP, SLOT_BITS, Verdict
from hdl.switchgnn.endpoint.memory_layouts import WORD_BITS
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.endpoint.record_reader import BASE_BEATS
from hdl.switchgnn.protocol import FEATURE_BITS, SUM_BITS, Kind

#: Describes the state of turns; of two bits, bit 0 is about lo and bit 1 about the next turn.
TURNS = data.StructLayout(
    {
        "lo": SLOT_BITS,  # lowest bits of the turns' numbers
        "sending": SLOT_BITS,
        "is_open": 2,
        "is_loaded": 2,
        "has_begun": 2,
        "may_advance": 1,  # the worker has sent DONE of lo
    }
)


class Taker(Component):
    """Carries out the worker's rule for each frame of ``beats``, and reports its ``verdict``.

    RESULT and RAW: a missing sum or copy is written (``writes``) beat by beat as it comes. It is
    marked as received (``clear``, with the other bits of its word) when its last beat was right.
    Until then it stays missing, so data of a malformed frame is overwritten by the sum that is
    fetched. A sum shorter than a beat is written to its part of the beat. An item that is not
    missing is not written. ``look`` reads a word of the table, which comes a cycle later.

    ACK: ``ack`` reports it in the cycle of the frame, if its turn is the one that is being sent.
    ADVANCE: ``advance`` reports it if it ends turn lo and the worker has sent DONE of that turn;
    any other is ignored. So a wrong ADVANCE cannot make the worker skip a sum, and no right one is
    missed, because the switch waits for that DONE. RAWFETCH: it goes to ``lookups``, if the turn
    has begun; if there is no room, it is dropped, and the other worker sends it again.

    Throughput: a beat a cycle. Latency: :attr:`latency` from a beat to its effects, and one more to
    ``verdict``, which comes with the frame's last beat. Stalls: ``writes`` holds.
    """

    latency = 1

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            beats=In(stream.Signature(params.arrival)),
            turns=In(TURNS),
            look=Out(1),
            place=Out(params.table_bits),
            word=In(WORD_BITS),
            clear=Out(1),
            cleared_place=Out(params.table_bits),
            cleared=Out(WORD_BITS),
            slot=Out(SLOT_BITS),
            context=In(params.context),
            writes=Out(stream.Signature(params.write)),
            ack=Out(ACKNOWLEDGEMENT),
            advance=Out(1),
            lookups=Out(stream.Signature(LOOKUP)),
            congested=Out(1),
            verdict=Out(Verdict),
            marked=Out(1),
        )

    def build(self, m: Module) -> None:
        params, coming = self.params, self.beats.payload
        beat = Signal(params.arrival, reset_less=True)
        valid = Signal()
        writing = Signal()  # a beat of a payload is to be written
        go = Signal()
        head = head_of(beat.data)
        begins = Signal()
        ends = Signal()
        m.d.comb += [
            go.eq(~writing | self.writes.ready),
            self.beats.ready.eq(go),
            begins.eq(valid & beat.first),
            ends.eq(valid & beat.last & go),
            self.look.eq(self.beats.valid & go & coming.first),
            self.place.eq(self.place_of(head_of(coming.data))),
            self.slot.eq(head.turn[:SLOT_BITS]),
        ]
        with m.If(go):
            m.d.sync += [valid.eq(self.beats.valid), beat.eq(coming)]
        result = self.judge(m, beat, head, begins & beat.last & ~beat.malformed)
        taking = Signal(reset_less=True)
        held = Signal(Verdict, reset_less=True)
        mark = Signal(reset_less=True)
        news = (result == Verdict.SUM) | (result == Verdict.FEATURE)
        strange = beat.stranger != Verdict.NONE
        with m.If(begins):
            m.d.sync += [taking.eq(news), held.eq(result), mark.eq(head.ecn & ~strange)]
        m.d.sync += self.verdict.eq(Verdict.NONE)
        with m.If(ends):
            m.d.sync += self.verdict.eq(
                Mux(beat.malformed, Verdict.MALFORMED, Mux(beat.first, result, held))
            )
        m.d.sync += self.marked.eq(
            ends & ~beat.malformed & Mux(beat.first, head.ecn & ~strange, mark)
        )
        m.d.comb += [
            writing.eq(valid & ~beat.first & taking),
            self.clear.eq(ends & ~beat.first & taking & ~beat.malformed),
        ]
        self.write(m, beat, head, begins, writing)

    def place_of(self, head) -> Value:
        """Return the place of a frame's word in the table of all slots."""
        params, target = self.params, head.about.target
        low, bits = exact_log2(WORD_BITS), params.word_bits
        word = Mux(
            head.kind == Kind.RESULT,
            target.list[low:][:bits],
            (target.source[low:] + params.sum_words)[:bits],
        )
        return Cat(word, head.turn[:SLOT_BITS])

    def judge(self, m: Module, beat, head, acts: Value) -> Any:
        """Return the verdict on the frame; carry it out if ``acts``, for frames of one beat."""
        turns, target, result = self.turns, head.about.target, Signal(Verdict)
        ahead = (head.turn[:SLOT_BITS] - turns.lo)[:SLOT_BITS]
        is_open = (beat.is_lo & ~ahead.any()) | (beat.is_next & (ahead == 1))
        of_turn = {
            name: Mux(ahead[0], turns[name][1], turns[name][0])
            for name in ("is_open", "is_loaded", "has_begun")
        }
        item = Mux(head.kind == Kind.RESULT, target.list, target.source)
        known = Mux(head.kind == Kind.RESULT, beat.in_sums, beat.in_copies)
        missing = Array(self.word)[item[: exact_log2(WORD_BITS)]]
        own = beat.stranger == Verdict.NONE
        lookup = self.lookups.payload
        m.d.comb += [
            self.ack.base.eq(head.seq),
            self.ack.bitmap.eq(head.about.bitmap),
            self.congested.eq(acts & own & (head.kind == Kind.ACK) & head.ecn),
            lookup.answer.eq(1),
            lookup.turn.eq(head.turn),
            lookup.source.eq(target.source),
            lookup.raw.eq(target.raw),
        ]
        with m.If(~own):
            m.d.comb += result.eq(beat.stranger)
        with m.Elif(head.kind == Kind.ADVANCE):
            m.d.comb += result.eq(Verdict.CLOSED)
            with m.If(beat.is_next & (ahead == 1) & turns.may_advance):
                m.d.comb += [result.eq(Verdict.ADVANCED), self.advance.eq(acts)]
        with m.Elif(~is_open | ~of_turn["is_open"]):
            m.d.comb += result.eq(Verdict.CLOSED)
        with m.Elif(head.kind == Kind.ACK):
            sending = beat.is_sending & (turns.sending == head.turn[:SLOT_BITS])
            m.d.comb += [result.eq(Verdict.ACKNOWLEDGED), self.ack.valid.eq(acts & sending)]
        with m.Elif((head.kind == Kind.RESULT) | (head.kind == Kind.RAW)):
            with m.If(~known):
                m.d.comb += result.eq(Verdict.UNWANTED)
            with m.Elif(~of_turn["is_loaded"]):
                m.d.comb += result.eq(Verdict.UNLOADED)
            with m.Elif(~missing):
                m.d.comb += result.eq(Verdict.REPEATED)
            with m.Else():
                is_sum = head.kind == Kind.RESULT
                m.d.comb += result.eq(Mux(is_sum, Verdict.SUM, Verdict.FEATURE))
        with m.Elif(head.kind == Kind.RAWFETCH):
            with m.If(~of_turn["has_begun"]):
                m.d.comb += result.eq(Verdict.UNSENT)
            with m.Elif(~beat.in_copies):
                m.d.comb += result.eq(Verdict.UNWANTED)
            with m.Else():
                m.d.comb += [
                    self.lookups.valid.eq(acts),
                    result.eq(Mux(self.lookups.ready, Verdict.ASKED, Verdict.UNSENT)),
                ]
        with m.Else():
            m.d.comb += result.eq(Verdict.UNWANTED)
        return result

    def write(self, m: Module, beat, head, begins: Signal, writing: Signal) -> None:
        """Keep the fields of the head that the payload's beats need; write the beats."""
        params, write, target = self.params, self.writes.payload, head.about.target
        address = Signal(params.beat_address_bits, reset_less=True)
        strobes = Signal(BEAT_BYTES, reset_less=True)
        wide = Signal(reset_less=True)
        sums, copies = (
            Cat(Const(0, BASE_BEATS), self.context[name]) for name in ("sums", "copies")
        )
        sum_part, sum_beat = self.part_of(target.list, SUM_BITS)
        copy_part, copy_beat = self.part_of(target.source, FEATURE_BITS)
        is_sum = head.kind == Kind.RESULT
        with m.If(begins):
            item = Mux(is_sum, target.list, target.source)[: exact_log2(WORD_BITS)]
            m.d.sync += [
                address.eq(
                    Mux(is_sum, sums + sum_beat, copies + copy_beat)[: len(address)],
                ),
                strobes.eq(Mux(is_sum, sum_part, copy_part)),
                wide.eq(is_sum),
                self.cleared.eq(self.word & ~(Const(1) << item)),
                self.cleared_place.eq(self.place_of(head)),
            ]
        with m.If(writing & self.writes.ready):
            m.d.sync += address.eq(address + 1)
        m.d.comb += [
            self.writes.valid.eq(writing),
            write.beat.eq(address),
            write.strobes.eq(strobes),
            write.slot.eq(self.cleared_place[-SLOT_BITS:]),
            write.data.eq(
                Mux(
                    wide,
                    self.everywhere(beat.data, SUM_BITS),
                    self.everywhere(beat.data, FEATURE_BITS),
                )
            ),
        ]

    def part_of(self, item: Value, bits: int) -> tuple[Value, Value]:
        """Return the strobes of an item's bytes in a beat, and the number of its first beat."""
        size = self.params.lanes * bits // 8
        if size >= BEAT_BYTES:
            return Const(-1, BEAT_BYTES), item << exact_log2(size // BEAT_BYTES)
        parts = exact_log2(BEAT_BYTES // size)
        entry = Const((1 << size) - 1, BEAT_BYTES)
        return (entry << (item[:parts] << exact_log2(size)))[:BEAT_BYTES], item[parts:]

    def everywhere(self, beat: Value, bits: int) -> Value:
        """Return a payload's first part, repeated at every place that it could have in a beat."""
        size = min(BEAT_BITS, self.params.lanes * bits)
        return beat[:size].replicate(BEAT_BITS // size)
