"""Makes frames of a bank's answers."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.allreduce.frame import HEADER_WORDS, WideFrame, last_word, trailer_word
from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.switch.frame_format import copied
from hdl.switch.slots import PAYLOAD_BITS


class AnswerFramer(Component):
    """Sends an answer of ``answers`` as a frame after each cycle with ``take``.

    The next answer, for the ports in ``waiting``, may be taken when there is one and ``free`` is
    high, in the last cycle of the frame before at the latest; ``held`` has the ports of a frame
    that has further beats, and ``heading`` those of the beat that is sent in the next cycle. The
    frame's beats are in ``sending`` from the next cycle on, one a cycle; nothing can stall them, so
    each beat of ``numbers`` must be there then. A frame goes from ``source`` to ``destination``.
    ``number`` is the bank's.

    Throughput: a beat a cycle, from frame to frame, too. Latency: :attr:`latency` from ``take``.
    """

    latency = 1

    def __init__(self, params: AllReduceSwitchParams) -> None:
        super().__init__(
            params,
            answers=In(stream.Signature(params.bank.answer)),
            numbers=In(stream.Signature(params.bank.answer_beat)),
            number=In(params.bank_bits),
            source=In(48),
            destination=In(48),
            waiting=Out(params.ports),
            free=Out(1),
            held=Out(params.ports),
            take=In(1),
            heading=Out(params.ports),
            sending=Out(params.answered),
        )

    def build(self, m: Module) -> None:
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
        # What only a frame needs is also registered when none is taken: fewer loads of ``take``.
        with m.If(self.free):
            m.d.sync += [answer.eq(next_one), Cat(words, more).eq(last)]
            m.d.sync += [ends.eq(~beats.any()), busy.eq(self.take), begins.eq(1)]
            m.d.sync += self.held.eq(Mux(self.take & beats.any(), next_one.bm, 0))
        with m.Else():
            m.d.sync += [more.eq(more - 1), begins.eq(0), ends.eq(more == 1)]
            with m.If(more == 1):
                m.d.sync += self.held.eq(0)
        m.d.comb += [
            self.heading.eq(Mux(self.take, next_one.bm, self.held)),
            sending.last.eq(ends),
            sending.words.eq(words),
            self.numbers.ready.eq(busy),
            sending.data.eq(self.word(m, answer, begins, ends)),
        ]
        expect(m, self, numbers_are_there=lambda: ~busy | self.numbers.valid)

    def word(self, m: Module, answer: Any, begins: Signal, ends: Signal) -> Value:
        """Return the beat: numbers as they come, behind the header and before the trailer."""
        header, tag, beat = Signal(WideFrame), self.params.tag(answer.tag), self.numbers.payload
        at = trailer_word(answer.count[: len(Value.cast(self.sending.words))])
        m.d.comb += [
            *copied(header, answer),
            *self.params.frames.fill(header, self.destination, self.source),
            header.job.eq(tag.job),
            header.epoch.eq(tag.epoch),
            header.seq.eq(Cat(self.number, answer.slot)),
        ]
        words = []
        for k, number in enumerate(beat.numbers):
            word = number.as_unsigned()
            if k < HEADER_WORDS:
                word = Mux(begins, Value.cast(header).word_select(k, PAYLOAD_BITS), word)
            words.append(Mux(ends & (at == k), beat.saturated, word)[:PAYLOAD_BITS])
        return Cat(words)
