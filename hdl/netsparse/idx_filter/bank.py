"""Implements a bank of the Idx Filter's cache: a lookup or set a cycle, one miss at a time."""

from itertools import pairwise

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.memory import DualPortMemory
from hdl.netsparse.idx_filter.line_exchange import LineExchange
from hdl.netsparse.idx_filter.params import (
    BLOCK_IDX_BITS,
    BLOCK_IDXS,
    LINE_IDX_BITS,
    LINE_IDXS,
    WORD_BITS,
    WORD_INDEX_BITS,
    FilterCacheParams,
)
from hdl.netsparse.idx_filter.tags import FilterTags

ANSWERS = 16  #: most answers that may wait for their unit


class FilterBank(Component):
    """Holds the lines whose number ends in the bank's: NetSparse, section 5.2.

    Requests are looked up in order, so all later requests see a set that was answered. A request
    whose line is missing waits in front until :class:`LineExchange` has fetched the line, and all
    requests behind it wait, too; if the memory answers with an error, the request is answered as
    failed, and the line is still missing. Throughput: one request a cycle while lines are present,
    for any mix of lookups and sets. Latency: :attr:`latency` from a request that is let go to its
    answer, which has the block of 16 idxs around its own, in the state after the request. While
    answers are stalled, requests wait.

    ``filled`` comes with ``fill_data`` and ``fill_error`` of the line that ``fills`` requested, and
    ``written`` when a line sent with ``write_backs`` is in the memory. ``clear``, allowed only
    while ``idle``, empties all ways of set ``clear_at`` without writing them back; afterwards the
    memory is all zeros. A line that is missing in a set from which no line has been evicted since
    is therefore all zeros, and is not read. ``hit``, ``miss``, ``write_back`` and ``failed`` pulse
    for a cycle; ``miss`` once for a request.
    """

    latency = 3 + DualPortMemory.latency

    def __init__(self, params: FilterCacheParams) -> None:
        self.step = data.StructLayout(
            {
                "hits": params.ways,
                "failed": 1,
                "request": params.bank_request,
            }
        )
        super().__init__(
            params,
            base=In(params.address_bits),
            requests=In(stream.Signature(params.bank_request)),
            answers=Out(stream.Signature(params.bank_answer)),
            fills=Out(stream.Signature(params.address_bits)),
            filled=In(1),
            fill_error=In(1),
            fill_data=In(LINE_IDXS),
            write_backs=Out(stream.Signature(params.eviction)),
            written=In(1),
            clear=In(1),
            clear_at=In(params.set_bits),
            idle=Out(1),
            hit=Out(1),
            miss=Out(1),
            write_back=Out(1),
            failed=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.tags = tags = FilterTags(params)
        m.submodules.exchange = exchange = LineExchange(params)
        m.submodules.answered = answered = Fifo.sized(shape=params.bank_answer, depth=ANSWERS)
        front = self.requests.payload.request
        line = front.idx[LINE_IDX_BITS:]
        bank, place, tag = self.split(line)
        go = Signal()
        missed = Signal()  # the miss of the request in front was counted
        line_failed = Signal()  # its line could not be read
        room = Signal()
        steps, in_flight = self.add_steps(m, go, line_failed, tags, exchange, answered)
        m.d.sync += room.eq(answered.level < ANSWERS - len(steps) - 2)
        m.d.comb += [
            tags.set.eq(place),
            tags.tag.eq(tag),
            go.eq(self.requests.valid & room & (tags.hits.any() | line_failed)),
            self.requests.ready.eq(go),
            tags.use.eq(go & ~line_failed),
            tags.change.eq(front.set),
            tags.install.eq(exchange.install),
            tags.drop.eq(exchange.drop),
            tags.clear.eq(self.clear),
            tags.clear_at.eq(self.clear_at),
            exchange.base.eq(self.base),
            exchange.start.eq(
                self.requests.valid & ~tags.hits.any() & ~line_failed & ~exchange.busy
            ),
            exchange.blank.eq(tags.intact),
            exchange.line.eq(line),
            exchange.victim_line.eq(Cat(bank, place, tags.victim_tag)),
            exchange.victim_dirty.eq(tags.victim_dirty),
            exchange.filled.eq(self.filled),
            exchange.error.eq(self.fill_error),
            exchange.data.eq(self.fill_data),
            exchange.written.eq(self.written),
            self.hit.eq(go & ~missed),
            self.miss.eq(exchange.start),
            self.write_back.eq(exchange.start & tags.victim_dirty),
            self.failed.eq(exchange.drop),
            self.idle.eq(~(self.requests.valid | in_flight | answered.o.valid | exchange.busy)),
        ]
        for own, reference in (
            (self.fills, exchange.fills),
            (self.write_backs, exchange.write_backs),
            (self.answers, answered.o),
        ):
            connect(m, reference, flipped(own))
        with m.If(exchange.start):
            m.d.sync += missed.eq(1)
        with m.If(exchange.drop):
            m.d.sync += line_failed.eq(1)
        with m.If(go):
            m.d.sync += [missed.eq(0), line_failed.eq(0)]

    def split(self, line):
        """Split the number of a line into bank, set and tag."""
        low = self.params.bank_bits
        high = low + self.params.set_bits
        return line[:low], line[low:high], line[high:]

    def row(self, request, ways, word):
        """Return the address in the bank's memory of a ``word`` of the line of ``request``."""
        _, place, _ = self.split(request.idx[LINE_IDX_BITS:])
        return Cat(word, place, index_of(ways, self.params.way_bits))

    def add_steps(self, m: Module, go, line_failed, tags, exchange, answered):
        """Add the pipeline of a request, through the memory of words to its answer.

        Step 0 reads, the last step has the word, and a set writes it. The new value is forwarded to
        later requests for the same word that have read it already, or read it in the same cycle.
        """
        params = self.params
        m.submodules.words = words = DualPortMemory.sized(shape=WORD_BITS, depth=params.words)
        steps = [Signal(self.step, name=f"step_{k}", reset_less=True) for k in range(3)]
        rows = [Signal(params.row.size, name=f"row_{k}", reset_less=True) for k in range(3)]
        stored = Signal()  # the last step's request has a word
        past = Signal(params.row.size, reset_less=True)
        past_kept = Signal()
        valids = Signal(len(steps) + 1)  # valid bits of the steps and the answer
        m.d.sync += [steps[0].request.eq(self.requests.payload), valids.eq(Cat(go, valids[:-1]))]
        m.d.sync += [steps[0].hits.eq(tags.hits), steps[0].failed.eq(line_failed)]
        for k, (step, later) in enumerate(pairwise(steps)):
            m.d.sync += [later.eq(step), rows[k + 1].eq(rows[k])]
        word_at = steps[0].request.request.idx[WORD_INDEX_BITS:LINE_IDX_BITS]
        m.d.comb += rows[0].eq(self.row(steps[0].request.request, steps[0].hits, word_at))
        m.d.comb += stored.eq(valids[2] & ~steps[2].failed)
        m.d.sync += [past.eq(rows[2]), past_kept.eq(stored)]
        # The word of the last step in the next cycle may be newer than the memory's.
        one_ahead = Signal()
        two_ahead = Signal()
        updated = Signal(WORD_BITS)
        newest = Signal(WORD_BITS, reset_less=True)
        newer = Signal(WORD_BITS, reset_less=True)
        word = Signal(WORD_BITS)
        last = steps[2].request.request
        m.d.sync += [
            one_ahead.eq(stored & (rows[1] == rows[2])),
            two_ahead.eq(past_kept & (rows[1] == past)),
            newest.eq(updated),
            newer.eq(newest),
        ]
        m.d.comb += word.eq(Mux(one_ahead, newest, Mux(two_ahead, newer, words.read_data)))
        mask = Signal(WORD_BITS, reset_less=True)
        m.d.sync += mask.eq(1 << steps[1].request.request.idx[:WORD_INDEX_BITS])
        m.d.comb += updated.eq(word | (last.set.replicate(WORD_BITS) & mask))
        blocks = [updated[first:][:BLOCK_IDXS] for first in range(0, WORD_BITS, BLOCK_IDXS)]
        answer = Signal(params.bank_answer, reset_less=True)
        m.d.sync += [
            answer.unit.eq(steps[2].request.unit),
            answer.answer.answer.slot.eq(last.slot),
            answer.answer.answer.failed.eq(steps[2].failed),
            answer.answer.answer.bit.eq((word & mask).any()),
            answer.answer.block.eq(Array(blocks)[last.idx[BLOCK_IDX_BITS:WORD_INDEX_BITS]]),
        ]
        victim = Signal(params.ways, reset_less=True)  # tags.victim changes at ``install``
        with m.If(exchange.start):
            m.d.sync += victim.eq(tags.victim)
        exchanged = Signal(params.row.size)
        m.d.comb += exchanged.eq(self.row(self.requests.payload.request, victim, exchange.word))
        m.d.comb += [
            words.read_address.eq(rows[0]),
            words.write.eq(stored & last.set),
            words.write_address.eq(rows[2]),
            words.write_data.eq(updated),
            exchange.read_data.eq(words.read_data),
            answered.i.valid.eq(valids[3]),
            answered.i.payload.eq(answer),
        ]
        with m.If(exchange.reading):
            m.d.comb += words.read_address.eq(exchanged)
        with m.If(exchange.write):
            m.d.comb += [
                words.write.eq(1),
                words.write_address.eq(exchanged),
                words.write_data.eq(exchange.write_data),
            ]
        return steps, valids.any()
