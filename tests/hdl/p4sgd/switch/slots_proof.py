"""States what is proven of two copies of slots: other slots' requests change nothing of a job's."""

from typing import Any

from amaranth.asserts import AnyConst
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.p4sgd.switch.aggregator import Aggregator
from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from tests.formal.claims import assume, check, claim, reach

STORED = Aggregator.latency + 1  #: cycles from a request to its entry in the memory
COPIES = ("first", "second")


class SlotsProof(Component):
    """Has two copies of an :class:`Aggregator`; one slot, any, is asked alike in both.

    Requests for it, and clearings, come to both copies in the same cycle; requests for the other
    slots are free in each. Once it has been cleared, its entry is the same in both copies, and so
    are the verdicts and answers of its requests and what they tell of progress.
    """

    def __init__(self, params: TenantSwitchParams) -> None:
        each = {
            "slot": In(params.slot_bits),
            "valid": In(1),
            "clear": In(1),
            "ahead": In(params.header),
            "request": In(params.request),
            "entries": In(data.ArrayLayout(params.state, params.slots)),
        }
        #: Inputs that are wired to what is inside of a copy instead.
        self.peeks = {f"{copy}_entries": f"{copy}.slots.entries.memory[*]" for copy in COPIES}
        super().__init__(params, {f"{c}_{name}": v for c in COPIES for name, v in each.items()})

    def build(self, m: Module) -> None:
        watched = Signal(self.params.slot_bits)
        m.d.comb += watched.eq(AnyConst(self.params.slot_bits))
        sides = []
        for name in COPIES:
            m.submodules[name] = slots = Aggregator(self.params)
            inputs = ("slot", "valid", "clear", "ahead", "request")
            m.d.comb += [getattr(slots, k).eq(getattr(self, f"{name}_{k}")) for k in inputs]
            sides.append(Slots(m, self, name, slots, watched))
        first, second = sides
        assume(m, (first.valid == second.valid) & (first.clear == second.clear))
        with m.If(first.valid | first.clear):
            assume(m, first.dut.request == second.dut.request)
        cleared = Signal()
        with m.If(first.clear):
            m.d.sync += cleared.eq(1)
        assume(m, cleared | ~first.valid)
        stored = delay(m, cleared, STORED, "cleared", reset_less=False)
        with m.If(cleared & stored):
            claim(m, "slot_the_same", first.entry == second.entry)
        requested = delay(m, first.valid, Aggregator.latency, "requested", reset_less=False)
        with m.If(requested):
            claim(m, "verdict_the_same", first.dut.verdict == second.dut.verdict)
            claim(m, "answered_alike", first.dut.answered == second.dut.answered)
            claim(m, "progress_the_same", first.dut.progress == second.dut.progress)
        with m.If(requested & first.dut.answered):
            claim(m, "answer_the_same", first.dut.answer == second.dut.answer)
        check(m, "cleared_before", cleared | ~requested)
        apart = first.others & ~second.others
        met = Signal()
        with m.If(cleared & apart):
            m.d.sync += met.eq(1)
        reach(
            m, "a_sum_beside_others", requested & met & first.dut.answered & ~first.dut.answer.acked
        )


class Slots:
    """Shows a copy's ``watched`` slot from outside."""

    def __init__(
        self, m: Module, proof: SlotsProof, name: str, dut: Aggregator, watched: Value
    ) -> None:
        self.dut = dut
        slot: Any = delay(m, dut.slot, dut.lead, f"{name}_slot")
        entries: Any = getattr(proof, f"{name}_entries")
        self.entry = Signal(proof.params.state.size, name=f"{name}_entry")
        m.d.comb += self.entry.eq(entries.as_value().word_select(watched, len(self.entry)))
        self.valid = dut.valid & (slot == watched)
        self.clear = dut.clear & (slot == watched)
        self.others = dut.valid & (slot != watched)
        # The header is announced, and there is no request with a clearing.
        ahead = delay(m, dut.ahead, 1, f"{name}_ahead")
        assume(m, ~(dut.valid & dut.clear))
        assume(m, ~dut.valid | (dut.request.header == ahead))
