"""Makes frames of a bank's answers."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.allreduce.frame import HEADER_BYTES, WideFrame, last_word
from hdl.allreduce.switch_params import IN_FIRST, AllReduceSwitchParams
from hdl.common.component import Component
from hdl.switch.frame_format import copied
from hdl.switch.slots import PAYLOAD_BITS


class AnswerFramer(Component):
    """Sends an answer of ``answers`` as a frame after each cycle with ``take``.

    The next answer, for the ports in ``waiting``, may be taken when there is one and ``free`` is
    high, in the last cycle of the frame before at the latest; ``held`` has the ports of a frame
    that has further beats, and ``heading`` those of the beat that is sent in the next cycle. The
    frame's beats are in ``sending`` from the next cycle on, one a cycle; nothing can stall them, so
    all of the answer's ``numbers`` must be there by then. A frame goes from ``source`` to
    ``destination``. ``number`` is the bank's.

    Throughput: a beat a cycle, from frame to frame, too. Latency: :attr:`latency` from ``take``.
    """

    latency = 1

    def __init__(self, params: AllReduceSwitchParams) -> None:
        super().__init__(
            params,
            {
                "answers": In(stream.Signature(params.bank.answer)),
                "numbers": In(stream.Signature(params.bank.answer_beat)),
                "number": In(params.bank_bits),
                "source": In(48),
                "destination": In(48),
                "waiting": Out(params.ports),
                "free": Out(1),
                "held": Out(params.ports),
                "take": In(1),
                "heading": Out(params.ports),
                "sending": Out(params.answered),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params, sending, next_one = self.params, self.sending, self.answers.payload
        answer = Signal(params.bank.answer, reset_less=True)
        last = last_word(next_one.count)
        words = Signal(4, reset_less=True)  # the frame's last word in its last beat
        more = Signal(len(last) - len(words), reset_less=True)  # beats behind this one
        busy, begins, ends = (Signal(name=name) for name in ("busy", "begins", "ends"))
        beats = last[len(words) :]
        m.d.comb += [
            self.waiting.eq(Mux(self.answers.valid, next_one.bm, 0)),
            self.free.eq(~busy | ends),
            self.answers.ready.eq(self.take),
        ]
        with m.If(self.take):
            m.d.sync += [answer.eq(next_one), Cat(words, more).eq(last), busy.eq(1), begins.eq(1)]
            m.d.sync += [ends.eq(~beats.any()), self.held.eq(Mux(beats.any(), next_one.bm, 0))]
        with m.Elif(busy):
            m.d.sync += [more.eq(more - 1), busy.eq(~ends), begins.eq(0), ends.eq(more == 1)]
            with m.If(more == 1):
                m.d.sync += self.held.eq(0)
        m.d.comb += [
            self.heading.eq(Mux(self.take, next_one.bm, self.held)),
            sending.last.eq(ends),
            sending.words.eq(words),
            sending.data.eq(self.word(m, answer, busy, begins, ends)),
        ]
        return m

    def word(self, m: Module, answer: Any, busy: Signal, begins: Signal, ends: Signal) -> Value:
        """Return the beat: the header or numbers that are held, and numbers that come."""
        numbers, half = self.numbers, IN_FIRST * PAYLOAD_BITS
        held = Signal(half, reset_less=True)
        tail = Signal()  # the last numbers are held
        header = Signal(WideFrame)
        assert len(Value.cast(header)) == 8 * HEADER_BYTES == half
        tag = self.params.tag(answer.tag)
        m.d.comb += [
            *copied(header, answer),
            *self.params.frames.fill(header, self.destination, self.source),
            header.job.eq(tag.job),
            header.epoch.eq(tag.epoch),
            header.seq.eq(Cat(self.number, answer.slot)),
            numbers.ready.eq(busy & ~tail),
        ]
        bits = Value.cast(numbers.payload.numbers)
        with m.If(busy):
            m.d.sync += [held.eq(bits[half:]), tail.eq(numbers.payload.last & ~ends & ~tail)]
        return Cat(Mux(begins, header, held), bits[:half])
