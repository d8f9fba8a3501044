"""Counts the errors in a job's tables by cause, and stores the first of them."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.arithmetic import count_ones, delay
from hdl.common.component import Component
from hdl.common.round_robin import lowest
from hdl.switchgnn.switch.banks.aggregator_params import TableError
from hdl.switchgnn.switch.banks.bank import Bank
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.tasks.task_sequencer import PAYLOAD_LAG

CAUSES = [cause for cause in TableError if cause is not TableError.NONE]
ERROR_COUNT_BITS = 32
#: Number of cycles from the commands of a row to the errors of the banks.
ERROR_LAG = PAYLOAD_LAG - Bank.lead + Bank.latency


class TableErrors(Component):
    """Counts the errors in the lists of each job, and stores the first one.

    ``issued`` has the job of a row of commands; ``missing`` says that the row does not exist, and
    ``outside`` that a number is beyond the banks; ``errors`` of the banks come :data:`ERROR_LAG`
    cycles later. If a row has several errors, the one of the lowest bank counts as first.
    ``counts`` and ``first`` are those of ``job``, a cycle later; ``begin`` clears those of a job.
    Counters saturate.
    """

    def __init__(self, params: GnnSwitchParams) -> None:
        self.result = data.StructLayout(
            {"cause": TableError, "turn": 32, "row": 32, "aggregator": 32}
        )
        self.tally = data.StructLayout({cause.name.lower(): ERROR_COUNT_BITS for cause in CAUSES})
        super().__init__(
            params,
            issued=In(params.issued),
            missing=In(1),
            outside=In(1),
            errors=In(data.ArrayLayout(TableError, params.banks)),
            begin=In(params.jobs),
            job=In(params.job_bits),
            counts=Out(self.tally),
            first=Out(self.result),
        )

    def build(self, m: Module) -> None:
        params = self.params
        bank_bits = exact_log2(params.banks)
        issued = delay(m, self.issued, ERROR_LAG, "issued")
        missing = delay(m, self.missing, ERROR_LAG, "missing", reset_less=False)
        outside = delay(m, self.outside, ERROR_LAG, "outside", reset_less=False)
        wrong = Cat(error != TableError.NONE for error in self.errors)
        bank = lowest(wrong)
        result = Signal(self.result, reset_less=True)
        several = range(params.banks + 2)
        events = Signal(data.StructLayout(dict.fromkeys(self.tally.members, several)))
        happened = Signal()
        job = Signal(params.job_bits, reset_less=True)
        cause = Signal(TableError)
        number = Signal(32)
        for k in range(params.banks):
            with m.If(bank[k]):
                m.d.comb += [
                    cause.eq(self.errors[k]),
                    number.eq(Cat(Const(k, bank_bits), issued.indices[k])),
                ]
        with m.If(missing):
            m.d.comb += [cause.eq(TableError.NO_SUCH_ROW), number.eq(0)]
        with m.Elif(outside):
            m.d.comb += [cause.eq(TableError.OUTSIDE), number.eq(issued.number)]
        m.d.sync += [
            happened.eq(wrong.any() | missing | outside),
            job.eq(issued.job),
            result.cause.eq(cause),
            result.turn.eq(issued.turn),
            result.row.eq(issued.row),
            result.aggregator.eq(number),
        ]
        for item in CAUSES:
            banks = count_ones([error == item for error in self.errors])
            more = {TableError.NO_SUCH_ROW: missing, TableError.OUTSIDE: outside}.get(item, 0)
            m.d.sync += events[item.name.lower()].eq(banks + more)
        tallies, firsts = [], []
        for k in range(params.jobs):
            tally = Signal(self.tally, name=f"tally_{k}")
            first = Signal(self.result, name=f"first_{k}")
            totals = {}
            for name in self.tally.members:
                total = tally[name] + events[name]
                totals[name] = Signal(len(total), name=f"total_{name}_{k}")
                m.d.comb += totals[name].eq(total)
            with m.If(self.begin[k]):
                m.d.sync += [tally.eq(0), first.eq(0)]
            with m.Elif(happened & (job == k)):
                for name, total in totals.items():
                    end = total[ERROR_COUNT_BITS:].any()
                    m.d.sync += tally[name].eq(Mux(end, tally[name], total[:ERROR_COUNT_BITS]))
                with m.If(first.cause == TableError.NONE):
                    m.d.sync += first.eq(result)
            tallies.append(tally.as_value())
            firsts.append(first.as_value())
        m.d.sync += [
            self.counts.eq(self.tally(Array(tallies)[self.job])),
            self.first.eq(self.result(Array(firsts)[self.job])),
        ]
