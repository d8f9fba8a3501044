"""Puts faults into completions, and reports unanswered reads as AMD's block does."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.pcie.descriptors import COMPLETION_DWORDS, ErrorCode, Status
from sim.surroundings.pcie.params import TIME_BITS, Fault, PcieHostParams

TAGS = 256  #: tags that the block has
#: faults after which no more completions of the read come
LAST = (
    Fault.UNSUPPORTED,
    Fault.ABORTED,
    Fault.EMPTY,
    Fault.EARLY_END,
    Fault.NO_END,
    Fault.LOST,
    Fault.RESET,
)
#: codes by which the block reports faults, and statuses; with those in LAST no data comes
CODES = {
    Fault.POISONED_CODE: ErrorCode.POISONED,
    Fault.UNSUPPORTED: ErrorCode.BAD_STATUS,
    Fault.ABORTED: ErrorCode.BAD_STATUS,
    Fault.EMPTY: ErrorCode.LENGTH,
    Fault.ADDRESS: ErrorCode.ADDRESS,
    Fault.MISMATCH: ErrorCode.MISMATCH,
    Fault.RESET: ErrorCode.FLR,
}
STATUSES = {Fault.UNSUPPORTED: Status.UNSUPPORTED, Fault.ABORTED: Status.ABORTED}


def ends_read(fault: ValueLike) -> Value:
    """Return whether a completion with ``fault`` is the last one of its read."""
    return Value.cast(fault).matches(*(item.value for item in LAST))


def spoiled(m: Module, good: Any, fault: Any) -> Any:
    """Return the completion ``good``, changed as ``fault`` says."""
    bad = Signal.like(good, name="spoiled")
    said = bad.descriptor
    m.d.comb += bad.eq(good)
    with m.Switch(fault):
        for kind in Fault:
            with m.Case(kind):
                if kind in CODES:
                    m.d.comb += said.code.eq(CODES[kind])
                if kind in STATUSES:
                    m.d.comb += said.status.eq(STATUSES[kind])
                if kind in CODES and kind in LAST:
                    m.d.comb += [said.dwords.eq(0), bad.dwords.eq(COMPLETION_DWORDS)]
                if kind in LAST:
                    m.d.comb += said.completed.eq(kind != Fault.NO_END)
                m.d.comb += more_of(kind, good, bad)
    return bad


def more_of(kind: Fault, good: Any, bad: Any) -> list[Any]:
    """Return the changes that only this ``kind`` of fault makes to a completion."""
    said, right = bad.descriptor, good.descriptor
    match kind:
        case Fault.POISONED | Fault.POISONED_CODE:
            return [said.poisoned.eq(1)]
        case Fault.REMAINING:
            return [said.remaining.eq(right.remaining ^ 64)]
        case Fault.LONGER:
            return [said.dwords.eq((right.dwords + 1)[:11]), bad.dwords.eq((good.dwords + 1)[:11])]
        case Fault.ELSEWHERE:
            return [said.address.eq(right.address ^ 4)]
        case Fault.DISCONTINUED:
            return [bad.discontinued.eq(1)]
        case Fault.NO_END:
            return [bad.starves.eq(1)]
        case Fault.TWICE:
            return [bad.twice.eq(1)]
        case Fault.LOST:
            return [bad.starves.eq(1), bad.hidden.eq(1)]
        case _:
            return []


class CompletionFaults(Component):
    """Hands ``completions`` on, and adds those that the block makes up for reads without an end.

    A ``hidden`` completion is not ``handed`` on. If a completion ``starves`` its read, the block
    ends the read by a completion with the code of a time-out ``settings.timeout`` cycles later, or
    with the code of a reset of the function if ``resets`` is high before. A completion that comes
    ``twice`` is followed by a copy with the code of an unknown tag.

    Throughput: a completion a cycle. Latency: :attr:`latency`. Stalls: completions wait.
    """

    latency = 1

    def __init__(self, params: PcieHostParams) -> None:
        super().__init__(
            params,
            completions=In(stream.Signature(params.completion)),
            settings=In(params.settings),
            now=In(TIME_BITS),
            resets=In(1),
            handed=Out(stream.Signature(params.completion)),
        )

    def build(self, m: Module) -> None:
        new, out = self.completions, self.handed
        entry = data.StructLayout({"tag": 8, "due": TIME_BITS})
        m.submodules.starved = starved = Fifo.sized(
            shape=entry, depth=TAGS, style="distributed", refuses=False
        )
        late, oldest = Signal(entry), entry(starved.o.payload)
        again, ends, free, goes = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            free.eq(~out.valid | out.ready),
            ends.eq(starved.o.valid & (self.resets | ~(self.now - oldest.due)[TIME_BITS - 1])),
            new.ready.eq(free & ~again & ~ends),
            goes.eq(new.valid & new.ready),
            late.tag.eq(new.payload.descriptor.tag),
            late.due.eq(low_bits(self.now + self.settings.timeout, TIME_BITS)),
            starved.i.payload.eq(late),
            starved.i.valid.eq(goes & new.payload.starves),
            starved.o.ready.eq(free & ~again & ends),
        ]
        with m.If(free):
            m.d.sync += [
                again.eq(goes & new.payload.twice),
                out.valid.eq(again | ends | (goes & ~new.payload.hidden)),
            ]
            with m.If(again):
                m.d.sync += out.payload.descriptor.code.eq(ErrorCode.INVALID_TAG)
            with m.Elif(ends):
                said = out.payload.descriptor
                m.d.sync += [
                    out.payload.eq(0),
                    out.payload.dwords.eq(COMPLETION_DWORDS),
                    said.tag.eq(oldest.tag),
                    said.completed.eq(1),
                    said.code.eq(Mux(self.resets, ErrorCode.FLR, ErrorCode.TIMEOUT)),
                ]
            with m.Else():
                m.d.sync += out.payload.eq(new.payload)
