"""Connects a bank of slots with what leads to it and away from it."""

from amaranth.hdl import Module
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.allreduce.answer_framer import AnswerFramer
from hdl.allreduce.bank_entry import BankEntry
from hdl.allreduce.frame_reader import FrameReader
from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.allreduce.wide_bank import WideBank
from hdl.allreduce.wide_params import WideVerdict
from hdl.common.component import Component


class BankPath(Component):
    """Applies frames of ``i`` to slots of bank ``number``, and makes frames of its answers.

    ``jobs`` has the jobs; ``clearing`` and ``cleared`` are those of the :class:`BankEntry`. The
    answers' ports are those of the :class:`AnswerFramer`, and what is counted those of the
    :class:`WideBank`.

    Throughput: a beat a cycle. Latency: :attr:`latency` from a packet's first beat to the next
    answer in ``waiting``. A packet's beats must come one a cycle.
    """

    def __init__(self, params: AllReduceSwitchParams) -> None:
        bank = WideBank(params.bank)
        assert BankEntry.lead == bank.lead
        self.latency = FrameReader.latency + BankEntry.latency + bank.latency
        super().__init__(
            params,
            i=In(stream.Signature(params.beat)),
            number=In(params.bank_bits),
            jobs=In(data.ArrayLayout(params.job, params.jobs)),
            clearing=In(params.clearing),
            cleared=Out(1),
            source=In(48),
            destination=In(48),
            waiting=Out(params.ports),
            free=Out(1),
            held=Out(params.ports),
            take=In(1),
            heading=Out(params.ports),
            sending=Out(params.answered),
            clamped=Out(bank.clamped.shape()),
            verdict=Out(WideVerdict),
            sender=Out(params.ports),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.reader = reader = FrameReader(params)
        m.submodules.entry = entry = BankEntry(params)
        m.submodules.bank = bank = WideBank(params.bank)
        m.submodules.framer = framer = AnswerFramer(params)
        connect(m, flipped(self.i), reader.i)
        connect(m, reader.o, entry.i)
        connect(m, entry.o, bank.i)
        connect(m, bank.answers, framer.answers)
        connect(m, bank.numbers, framer.numbers)
        m.d.comb += [
            bank.everyone.eq(entry.everyone),
            bank.refused.eq(entry.refused),
            entry.number.eq(self.number),
            framer.number.eq(self.number),
            entry.jobs.eq(self.jobs),
            entry.clearing.eq(self.clearing),
            self.cleared.eq(entry.cleared),
            framer.source.eq(self.source),
            framer.destination.eq(self.destination),
            framer.take.eq(self.take),
        ]
        for part, names in ((framer, FRAMED), (bank, COUNTED)):
            m.d.comb += [getattr(self, name).eq(getattr(part, name)) for name in names]


FRAMED = ("waiting", "free", "held", "heading", "sending")
COUNTED = ("clamped", "verdict", "sender")
