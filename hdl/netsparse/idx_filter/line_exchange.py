"""Handles a miss in a bank of the Idx Filter's cache: writes a line back, fills another."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.netsparse.idx_filter.params import (
    LINE_BYTES,
    LINE_IDXS,
    LINE_WORDS,
    WORD_BITS,
    FilterCacheParams,
)

DRAIN = 2  #: cycles after a miss until the words of requests ahead of it are written


class LineExchange(Component):
    """Reads ``line`` from the memory in place of ``victim_line``, which it writes back if dirty.

    It begins with ``start``, which is allowed unless ``busy``; ``line`` and its victim are taken in
    that cycle. With ``blank`` the line is all zeros, and is not read. Otherwise ``fills`` requests
    it; it comes with ``filled``, or ``error`` comes with ``filled``. Dirty words are read at
    ``word`` with ``reading``, come :attr:`read_latency` cycles later as ``read_data``, and leave as
    one beat of ``write_backs``; ``written`` says that they are in the memory. New words are
    ``write_data`` with ``write``, at the same ``word``. ``install`` comes with the last but one of
    them, early enough for a request that follows, or ``drop`` if there was an error.

    It handles one line at a time: ``busy`` is high until the line is complete and its victim is in
    the memory, because nothing else keeps a fill from overtaking the write-back of the same line.
    ``waiting`` falls earlier, when the last word is written. Cycles from ``start`` to ``install``:
    :attr:`latency` more than from ``fills`` taken to ``filled``, if that takes at least as long as
    reading a dirty victim; :attr:`blank_latency` for a ``blank`` line.
    """

    read_latency = DualPortMemory.latency
    latency = LINE_WORDS
    blank_latency = DRAIN + LINE_WORDS - 1

    def __init__(self, params: FilterCacheParams) -> None:
        super().__init__(
            params,
            base=In(params.address_bits),
            start=In(1),
            blank=In(1),
            line=In(params.line_bits),
            victim_line=In(params.line_bits),
            victim_dirty=In(1),
            busy=Out(1),
            waiting=Out(1),
            fills=Out(stream.Signature(params.address_bits)),
            filled=In(1),
            error=In(1),
            data=In(LINE_IDXS),
            write_backs=Out(stream.Signature(params.eviction)),
            written=In(1),
            word=Out(3),
            reading=Out(1),
            read_data=In(WORD_BITS),
            write=Out(1),
            write_data=Out(WORD_BITS),
            install=Out(1),
            drop=Out(1),
        )

    def build(self, m: Module) -> None:
        writing = Signal()  # from the start until the victim is in the memory
        m.d.comb += self.busy.eq(self.waiting | writing)
        with m.If(self.start):
            m.d.sync += [self.waiting.eq(1), writing.eq(self.victim_dirty)]
        with m.If(writing & self.written):
            m.d.sync += writing.eq(0)
        word = Signal(range(LINE_WORDS))
        m.d.comb += self.word.eq(word)
        leaving = self.add_victim(m, word)
        self.add_fill(m, word, leaving)

    def address(self, line: Signal):
        """Return the address of ``line`` in the memory."""
        return (self.base + (line << ceil_log2(LINE_BYTES)))[: self.params.address_bits]

    def add_victim(self, m: Module, word: Signal) -> Signal:
        """Read, collect and send the victim's words; return whether some are still to be read."""
        leaving = Signal()
        wait = Signal(range(DRAIN + 1))
        leaving_line = Signal(self.params.line_bits, reset_less=True)
        lines = self.write_backs.payload
        m.d.comb += self.reading.eq(leaving & (wait == 0))
        with m.If(self.start):
            m.d.sync += [
                leaving.eq(self.victim_dirty),
                wait.eq(DRAIN),
                leaving_line.eq(self.victim_line),
            ]
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(self.reading):
            m.d.sync += [word.eq(word + 1), leaving.eq(word != LINE_WORDS - 1)]
        come = Signal(self.read_latency)  # words that are being read
        last = Signal(self.read_latency)
        write_address = Signal(self.params.address_bits, reset_less=True)
        evicted = Signal(LINE_IDXS, reset_less=True)
        sending = Signal()
        m.d.sync += [
            come.eq(Cat(self.reading, come[:-1])),
            last.eq(Cat(self.reading & (word == LINE_WORDS - 1), last[:-1])),
            write_address.eq(self.address(leaving_line)),
        ]
        with m.If(come[-1]):
            m.d.sync += evicted.eq(Cat(evicted[WORD_BITS:], self.read_data))
        with m.If(last[-1]):
            m.d.sync += sending.eq(1)
        with m.Elif(self.write_backs.ready):
            m.d.sync += sending.eq(0)
        m.d.comb += [
            self.write_backs.valid.eq(sending),
            lines.address.eq(write_address),
            lines.data.eq(evicted),
        ]
        return leaving

    def add_fill(self, m: Module, word: Signal, leaving: Signal) -> None:
        """Request the line at once; write it word by word when the victim has been read."""
        fill_address = Signal(self.params.address_bits, reset_less=True)
        requesting = Signal()
        arrived = Signal()
        failed = Signal(reset_less=True)
        filled_line = Signal(LINE_IDXS, reset_less=True)
        # All requests ahead must have written their words before, since the write port is shared.
        zeros = delay(m, self.start & self.blank, DRAIN, "zeros", reset_less=False)
        m.d.comb += [
            self.fills.valid.eq(requesting),
            self.fills.payload.eq(fill_address),
            self.write.eq(arrived & ~failed & ~leaving),
            self.write_data.eq(
                Array(filled_line[k * WORD_BITS :][:WORD_BITS] for k in range(LINE_WORDS))[word]
            ),
            self.install.eq(self.write & (word == LINE_WORDS - 2)),
            self.drop.eq(arrived & failed & ~leaving),
        ]
        with m.If(~self.waiting):
            m.d.sync += fill_address.eq(self.address(self.line))
        m.d.sync += requesting.eq(Mux(requesting, ~self.fills.ready, self.start & ~self.blank))
        with m.If(self.filled):
            m.d.sync += [filled_line.eq(self.data), failed.eq(self.error), arrived.eq(1)]
        with m.If(zeros):
            m.d.sync += [filled_line.eq(0), failed.eq(0), arrived.eq(1)]
        with m.If(self.write):
            m.d.sync += word.eq(word + 1)
        with m.If(self.drop | self.write & (word == LINE_WORDS - 1)):
            m.d.sync += [arrived.eq(0), self.waiting.eq(0)]
