"""Loads a turn's tables from memory: its record, and the bitmap of the items that it wants."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.arithmetic import count_ones
from hdl.common.component import Component
from hdl.common.packets import BEAT_BYTES
from hdl.common.reserved_fifo import ReservedFifo
from hdl.switchgnn.endpoint.bundles import BEAT_BITS, SLOT_BITS, TABLE_BEAT
from hdl.switchgnn.endpoint.memory_layouts import ALIGNMENT, WORD_BITS, TurnRecord
from hdl.switchgnn.endpoint.params import EndpointParams

AHEAD = 4  #: beats of a bitmap that are requested in advance
BEAT_WORDS = BEAT_BITS // WORD_BITS
STORED = ("list", "features", "sums", "copies", "sources")  #: addresses of a turn that are stored


class TurnLoader(Component):
    """Loads ``turn`` when ``load`` is high, into the slot of its number, until ``loaded``.

    ``program`` is the number of the beat with which the turn program begins. The turn's record is
    written as ``context`` with ``write``; its bitmap goes to ``words``, each with its place in the
    table of all slots; ``missing``, valid with ``loaded``, is the number of bits that are one. A
    record with an address that is not a multiple of :data:`ALIGNMENT`, or beyond memory, is
    ``illegal``, and so is a record whose read failed; then nothing is loaded any more. A load that
    has begun goes on to its end, and ``turn`` must be stable meanwhile.

    Latency: two consecutive reads, and a cycle for each word of the bitmap, without stalls and with
    a memory that answers in at most 60 cycles. Stalls: ``words`` holds.
    """

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            load=In(1),
            turn=In(32),
            program=In(params.beat_address_bits),
            request=Out(stream.Signature(params.beat_address_bits)),
            beat=In(TABLE_BEAT),
            write=Out(1),
            slot=Out(SLOT_BITS),
            context=Out(params.context),
            words=Out(
                stream.Signature(data.StructLayout({"place": params.table_bits, "word": WORD_BITS}))
            ),
            loaded=Out(1),
            missing=Out(params.missing_bits),
            illegal=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        address = Signal(params.beat_address_bits, reset_less=True)
        record: Any = Signal(TurnRecord, reset_less=True)
        wrong = Signal(reset_less=True)
        count = -(-params.words // BEAT_WORDS)
        left = Signal(range(count + 1), reset_less=True)  # beats of the bitmap that are left
        m.submodules.bitmap = bitmap = ReservedFifo.sized(shape=BEAT_BITS, depth=AHEAD)
        low = exact_log2(ALIGNMENT)
        m.d.sync += wrong.eq(self.wrong(record))
        m.d.comb += [
            self.slot.eq(self.turn[:SLOT_BITS]),
            self.request.payload.eq(address),
            bitmap.payload.eq(self.beat.data),
            self.context.sends.eq(record.sends),
            *(self.context[name].eq(record[name][low : params.address_bits]) for name in STORED),
        ]
        with m.FSM():
            with m.State("REST"):
                m.d.sync += address.eq((self.program + self.turn)[: len(address)])
                with m.If(self.load):
                    m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += self.request.valid.eq(1)
                with m.If(self.request.ready):
                    m.next = "RECORD"
            with m.State("RECORD"):
                m.d.sync += record.eq(self.beat.data)
                with m.If(self.beat.valid):
                    m.next = "LOOK"
                    with m.If(self.beat.failed):
                        m.next = "STUCK"
            with m.State("LOOK"):  # until the check of the record is known
                m.next = "JUDGE"
            with m.State("JUDGE"):
                m.d.comb += self.write.eq(~wrong)
                m.d.sync += [
                    address.eq(record.required[exact_log2(BEAT_BYTES) : params.address_bits]),
                    left.eq(count),
                ]
                with m.If(wrong):
                    m.next = "STUCK"
                with m.Else():
                    m.next = "BITMAP"
            with m.State("BITMAP"):
                m.d.comb += [
                    self.request.valid.eq(left.any() & bitmap.room),
                    bitmap.reserve.eq(self.request.valid & self.request.ready),
                    bitmap.push.eq(self.beat.valid),
                ]
                with m.If(bitmap.reserve):
                    m.d.sync += [address.eq(address + 1), left.eq(left - 1)]
                with m.If(self.loaded):
                    m.next = "SETTLE"
            with m.State("SETTLE"):  # ``turn`` changes in the cycle after ``loaded``
                m.next = "REST"
            with m.State("STUCK"):
                m.d.comb += self.illegal.eq(1)
        self.unpack(m, bitmap)

    def wrong(self, record) -> Value:
        """Return whether an address of the record is not aligned, or beyond memory."""
        low, high = exact_log2(ALIGNMENT), self.params.address_bits
        wrong = [Cat(record[name][:low], record[name][high:]) for name in (*STORED, "required")]
        return Cat(wrong).any()

    def unpack(self, m: Module, bitmap: ReservedFifo) -> None:
        """Emit the words of the beats one after the other, and count their ones."""
        params, words = self.params, self.words
        beat = Signal(BEAT_BITS, reset_less=True)
        held = Signal(BEAT_WORDS)  # a one for each word of the beat that is left
        number = Signal(params.word_bits)
        ones = Signal(range(WORD_BITS + 1))
        missing = Signal(params.missing_bits)
        ended = Signal(3)  # all words have left; their ones are counted; and added
        last = Signal()  # ``number`` is that of the last word
        moves = Signal()
        m.d.comb += [
            words.valid.eq(held[0]),
            words.payload.word.eq(beat[:WORD_BITS]),
            words.payload.place.eq(Cat(number, self.slot)),
            moves.eq(words.valid & words.ready),
            bitmap.o.ready.eq(~held[0] | (words.ready & ~held[1])),
            self.missing.eq(missing),
            self.loaded.eq(ended[-1]),
        ]
        with m.If(moves):
            m.d.sync += [
                beat.eq(beat >> WORD_BITS),
                held.eq(held >> 1),
                number.eq(number + 1),
                last.eq(number == params.words - 2),
                ones.eq(count_ones(list(beat[:WORD_BITS]))),
            ]
        with m.Else():
            m.d.sync += ones.eq(0)
        with m.If(bitmap.o.valid & bitmap.o.ready):
            m.d.sync += [beat.eq(bitmap.o.payload), held.eq(-1)]
        m.d.sync += [
            missing.eq(missing + ones),
            ended.eq(Cat(moves & last, ended[:-1])),
        ]
        with m.If(moves & last):
            m.d.sync += [held.eq(0), number.eq(0)]
        with m.If(self.loaded):
            m.d.sync += missing.eq(0)
