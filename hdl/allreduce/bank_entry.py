"""Checks packets of a bank against the jobs, and clears the slots of a job that starts."""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.allreduce.wide_params import WideVerdict
from hdl.common.arithmetic import delay, low_bits
from hdl.common.component import Component
from hdl.switch.frame_filter import Quality
from hdl.switch.frame_format import copied
from hdl.switch.job_table import judge


class BankEntry(Component):
    """Passes the packets of ``i`` to a bank, and says later whose they are and what is wrong.

    ``everyone`` and ``refused`` are there :attr:`lead` cycles after a packet's first beat has
    entered ``o``, as :class:`hdl.allreduce.wide_bank.WideBank` needs them; ``jobs`` has the jobs.
    While ``clearing`` is valid, heads that clear those of the job's slots that are in bank
    ``number`` go between the packets, one in two cycles; ``cleared`` says that all are in the bank.
    ``clearing.base`` and ``clearing.end`` must be stable from three cycles before.

    Throughput: a beat a cycle. Latency: none.
    """

    latency, lead = 0, 2

    def __init__(self, params: AllReduceSwitchParams) -> None:
        super().__init__(
            params,
            i=In(stream.Signature(params.numbers)),
            o=Out(stream.Signature(params.bank.beat)),
            number=In(params.bank_bits),
            jobs=In(data.ArrayLayout(params.job, params.jobs)),
            clearing=In(params.clearing),
            cleared=Out(1),
            everyone=Out(params.ports),
            refused=Out(WideVerdict),
        )

    def build(self, m: Module) -> None:
        i, o, params = self.i, self.o, self.params
        clear, slot = self.clear_slots(m)
        header, beat = i.payload.header, o.payload
        sender = (1 << i.payload.sender)[: params.ports]
        m.d.comb += [
            o.valid.eq(i.valid | clear),
            i.ready.eq(o.ready & ~clear),
            *copied(beat, i.payload),
            *copied(beat.head, header),
            beat.head.tag.eq(Cat(header.job[: params.job_bits], header.epoch)),
            beat.head.sender.eq(sender),
            beat.head.slot.eq(header.seq[params.bank_bits :][: len(slot)]),
        ]
        with m.If(clear):
            m.d.comb += [beat.head.clear.eq(1), beat.head.slot.eq(slot)]
            m.d.comb += [beat.number.eq(0), beat.last.eq(1)]
        self.check(m, header, sender, clear)

    def clear_slots(self, m: Module) -> tuple[Signal, Value]:
        """Return whether a slot is cleared in this cycle, and which."""
        i, o, params, bits = self.i, self.o, self.params, self.params.bank_bits
        above = (params.banks - 1) - self.number  # so that the bank's first slot is not before base
        first, behind, at = (Signal(17 - bits, name=name) for name in ("first", "behind", "at"))
        inside, waits, clear, goes = Signal(), Signal(), Signal(), Signal()
        m.d.sync += [
            first.eq(low_bits((self.clearing.base + above)[bits:], len(first))),
            behind.eq(low_bits((self.clearing.end + above)[bits:], len(behind))),
            waits.eq(i.valid & ~clear & ~o.ready),  # what is offered stays
            goes.eq(self.clearing.valid & (at != behind) & ~(clear & o.ready)),
        ]
        m.d.comb += [
            clear.eq(goes & ~inside & ~waits),
            self.cleared.eq(self.clearing.valid & (at == behind)),
        ]
        with m.If(i.valid & i.ready):
            m.d.sync += inside.eq(~i.payload.last)
        with m.If(~self.clearing.valid):
            m.d.sync += at.eq(first)
        with m.Elif(clear & o.ready):
            m.d.sync += at.eq(at + 1)
        return clear, at[: len(self.o.payload.head.slot)]

    def check(self, m: Module, header: Any, sender: Value, clear: Signal) -> None:
        """Judge the packet that enters, or let a slot be cleared for the ports of its job."""
        params = self.params
        packet, job = Signal(params.packet, reset_less=True), Signal(params.job, reset_less=True)
        everyone = Signal(params.ports, reset_less=True)
        refused = Signal(WideVerdict, reset_less=True)
        table = Array(entry.as_value() for entry in self.jobs)
        of = header.job[: params.job_bits]
        m.d.sync += [
            job.eq(table[of]),
            packet.quality.eq(Quality.GOOD),
            packet.own.eq(header.bm == sender),
            packet.known.eq(header.job < params.jobs),
            *copied(packet.header, header),
        ]
        verdict = judge(m, params, packet, delay(m, sender, 1, "by"), job)
        clearing = delay(m, clear, 1, "clearing")
        m.d.sync += [
            everyone.eq(Mux(clearing, self.clearing.ports, job.ports)),
            refused.eq(Mux(clearing, WideVerdict.NONE, verdict)),
        ]
        m.d.comb += [self.everyone.eq(everyone), self.refused.eq(refused)]
