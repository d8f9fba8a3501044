"""Requests the missing items of the oldest open turn when nothing has come for a while."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.switchgnn.endpoint.bundles import LOOKUP, SLOT_BITS
from hdl.switchgnn.endpoint.memory_layouts import WORD_BITS
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.protocol import Kind


class Fetcher(Component):
    """Sends FETCH (``jobs``) and RAWFETCH (``lookups``, of sources) for missing items of ``turn``.

    ``misses`` is high while the turn's tables are loaded and some item is missing. When neither
    ``news`` of the turn nor another turn has come for ``timeout`` cycles, all words of the slot are
    scanned once, and for each bit that is one a request is sent, at least ``gap`` cycles after the
    one before. Then the timer starts again. A round ends early when nothing is missing any more, or
    with the turn (``over``). If a bit is cleared after its word was read, its request is
    superfluous.

    Only items of the oldest open turn are requested: no other turn can end before it, and late
    items of the next turn are probably still on their way.

    Throughput: an empty word in 3 cycles. Stalls: holds.
    """

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            turn=In(32),
            misses=In(1),
            news=In(1),
            over=In(1),
            timeout=In(32),
            gap=In(16),
            scan=Out(stream.Signature(params.table_bits)),
            word=In(WORD_BITS),
            jobs=Out(stream.Signature(params.job)),
            lookups=Out(stream.Signature(LOOKUP)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        timer = Signal(32, reset_less=True)
        number = Signal(params.word_bits, reset_less=True)
        word = Signal(WORD_BITS, reset_less=True)
        item = Signal(params.word_bits + exact_log2(WORD_BITS), reset_less=True)
        waited = Signal(16, reset_less=True)
        rested = Signal()  # the gap is over
        ends = Signal()
        ended = Signal()  # the turn with which the round began
        taken = Signal()
        last = number == params.words - 1
        lowest = Signal(WORD_BITS)  # lowest bit set of the word, one-hot
        m.d.comb += [
            lowest.eq(word & ~(word - 1)[:WORD_BITS]),
            self.scan.payload.eq(Cat(number, self.turn[:SLOT_BITS])),
            ends.eq(self.over | ended | ~self.misses),
        ]
        of_sum = Signal(reset_less=True)  # the item is a sum, else a feature
        self.issue(m, item)
        m.d.comb += rested.eq(waited >= self.gap)
        with m.If(~rested):
            m.d.sync += waited.eq(waited + 1)
        m.d.sync += ended.eq(ended | self.over)
        with m.FSM():
            with m.State("REST"):
                m.d.sync += [timer.eq(timer + 1), number.eq(0), ended.eq(0)]
                with m.If(self.news | self.over | ~self.misses):
                    m.d.sync += timer.eq(0)
                with m.Elif(timer >= self.timeout):
                    m.next = "READ"
            with m.State("READ"):
                m.d.comb += self.scan.valid.eq(1)
                with m.If(self.scan.ready):
                    m.next = "KEEP"
            with m.State("KEEP"):
                m.d.sync += word.eq(self.word)
                m.next = "FIND"
            with m.State("FIND"):
                m.d.sync += [
                    item.eq(Cat(index_of(lowest), number)),
                    of_sum.eq(number < params.sum_words),
                    timer.eq(0),
                ]
                with m.If(ends):
                    m.next = "REST"
                with m.Elif(word.any()), m.If(rested):
                    m.d.sync += word.eq(word & ~lowest)
                    m.next = "ASK"
                with m.Elif(last):
                    m.next = "REST"
                with m.Else():
                    m.d.sync += number.eq(number + 1)
                    m.next = "READ"
            with m.State("ASK"):
                m.d.comb += [
                    self.jobs.valid.eq(of_sum),
                    self.lookups.valid.eq(~of_sum),
                    taken.eq(Mux(of_sum, self.jobs.ready, self.lookups.ready)),
                ]
                with m.If(taken):
                    m.d.sync += waited.eq(0)
                    m.next = "FIND"

    def issue(self, m: Module, item: Signal) -> None:
        """Fill in the request, for a sum or for a feature."""
        requested = Signal(32, reset_less=True)  # the turn at the time when its word was read
        job, lookup = self.jobs.payload, self.lookups.payload
        behind = WORD_BITS * self.params.sum_words
        with m.If(~self.jobs.valid & ~self.lookups.valid):
            m.d.sync += requested.eq(self.turn)
        m.d.comb += [
            job.as_value().eq(0),
            lookup.as_value().eq(0),
            job.kind.eq(Kind.FETCH),
            job.turn.eq(requested),
            job.list.eq(item),
            lookup.turn.eq(requested),
            lookup.source.eq(item - Const(behind)),
        ]
