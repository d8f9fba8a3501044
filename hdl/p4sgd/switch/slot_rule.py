"""Implements Algorithm 2: what a packet does to its slot, and how it is answered."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Member, Out

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.p4sgd.switch.params import SwitchParams
from hdl.switch.slots import USES


def rule_ports(params: SwitchParams) -> dict[str, Member]:
    """Return the ports that every rule has."""
    return {
        "clear": In(1),
        "request": In(params.request),
        "neighbour": In(8),
        "before": In(params.state),
        "after": Out(params.state),
        "verdict": Out(params.verdict),
        "complete": Out(1),
        "repeat": Out(1),
        "pending": Out(1),
    }


class SlotRule(Component):
    """Decides by the switch's rule (P4SGD, section 3.3, algorithm 2, corrected), without registers.

    ``before`` is the slot's state, and ``after`` its state after ``request``; ``verdict``, from
    ``ADDED`` to ``STALE``, is that of the packet. ``complete`` answers go to all of the job's
    ports, ``repeat`` answers to the sender, with the sum after the request; ``pending`` says that
    the packets of other workers are missing; ``begins`` says that a use begins, and ``adds`` that
    the request is added to one. A request that is ``draining`` begins no use. In a tree a parent's
    packet changes nothing here, and :class:`TreeRule` adds the sums up.
    ``clear`` sets the slot's state for a job's start: use -1, finished, both bitmaps full, sum 0.

    ``before.summed`` and ``before.finished`` must agree with the bitmaps; ``after`` then agrees,
    too, if ``everyone`` is stable until the slot is cleared. ``neighbour``, computed in advance, is
    the use before the request's or, for an acknowledgement, the use after it.

    Latency: none. Adder and comparisons work in parallel; the decision comes after both.
    """

    latency = 0

    def __init__(self, params: SwitchParams) -> None:
        super().__init__(params, rule_ports(params) | {"begins": Out(1), "adds": Out(1)})

    def build(self, m: Module) -> None:
        request, before, after = self.request, self.before, self.after
        use, is_agg = request.header.use, request.header.is_agg
        same = Signal()  # the packet's use is the slot's
        near = Signal()  # the neighbour of the packet's use is the slot's
        added = Signal()  # an earlier packet of this sender was added
        acknowledged = Signal()  # an earlier packet of this sender has acknowledged the sum
        m.d.comb += [
            same.eq(use == before.use),
            near.eq(self.neighbour == before.use),
            added.eq((before.agg_bm & request.sender).any()),
            acknowledged.eq((before.ack_bm & request.sender).any()),
        ]
        # What the request does to the slot.
        add = Signal()
        take = Signal()
        acknowledge = Signal()
        free = before.finished & ~request.draining if self.params.tenants else before.finished
        own = ~request.from_parent if self.params.parents else 1
        m.d.comb += [
            add.eq(own & is_agg & same & ~added),
            take.eq(own & is_agg & near & free),
            acknowledge.eq(own & ~is_agg & same & before.summed & ~acknowledged),
        ]
        agg_bm = before.agg_bm | request.sender
        ack_bm = before.ack_bm | request.sender
        alone, all_in, all_out = Signal(), Signal(), Signal()
        m.d.comb += [
            alone.eq(request.sender == request.everyone),
            all_in.eq(agg_bm == request.everyone),
            all_out.eq(ack_bm == request.everyone),
            self.begins.eq(take),
            self.adds.eq(add),
            self.complete.eq((take & alone) | (add & all_in) | (acknowledge & all_out)),
        ]
        m.d.comb += after.eq(before)
        with m.If(self.clear):
            m.d.comb += [
                after.use.eq(USES - 1),
                after.agg_bm.eq(request.everyone),
                after.ack_bm.eq(request.everyone),
                after.summed.eq(1),
                after.finished.eq(1),
            ]
        with m.Elif(take):
            m.d.comb += [
                after.use.eq(use),
                after.agg_bm.eq(request.sender),
                after.ack_bm.eq(0),
                after.summed.eq(alone),
                after.finished.eq(0),
            ]
        with m.Elif(add):
            m.d.comb += [after.agg_bm.eq(agg_bm), after.summed.eq(all_in)]
        with m.Elif(acknowledge):
            m.d.comb += [after.ack_bm.eq(ack_bm), after.finished.eq(all_out)]
        if not self.params.parents:
            add_sum(m, self, take, add)
        self.answer(m, same, near, added, acknowledged)

    def answer(self, m: Module, same, near, added, acknowledged) -> None:
        """Give the verdict, and how a repetition is answered."""
        before, Verdict = self.before, self.params.verdict
        m.d.comb += self.verdict.eq(Verdict.STALE)
        with m.If(self.request.header.is_agg):
            with m.If(same):
                m.d.comb += [
                    self.verdict.eq(Mux(added, Verdict.REPEATED_PARTIAL, Verdict.ADDED)),
                    self.repeat.eq(added),
                    self.pending.eq(added & ~before.summed),
                ]
            with m.Elif(near):
                m.d.comb += self.verdict.eq(Mux(before.finished, Verdict.ADDED, Verdict.EARLY))
                if self.params.tenants:
                    with m.If(before.finished & self.request.draining):
                        m.d.comb += self.verdict.eq(Verdict.DRAINING)
        with m.Elif(near):
            m.d.comb += [self.verdict.eq(Verdict.PREVIOUS_ACK), self.repeat.eq(1)]
        with m.Elif(same):
            with m.If(~before.summed):
                m.d.comb += self.verdict.eq(Verdict.PREMATURE_ACK)
            with m.Elif(acknowledged):
                m.d.comb += [
                    self.verdict.eq(Verdict.REPEATED_ACK),
                    self.repeat.eq(1),
                    self.pending.eq(~before.finished),
                ]
            with m.Else():
                m.d.comb += self.verdict.eq(Verdict.ACKNOWLEDGED)


def add_sum(m: Module, rule: Any, take: Value, add: Value) -> None:
    """Add up every lane of a slot, exactly; ``rule`` decides whether to take or to add it."""
    before, after = rule.before.agg, rule.after.agg
    for k in range(rule.params.lanes):
        value = rule.request.payload[k]
        total = Signal(before[k].shape(), name=f"total_{k}")
        m.d.comb += total.eq(low_bits(before[k] + value, len(total)))
        with m.If(rule.clear):
            m.d.comb += after[k].eq(0)
        with m.Elif(take):
            m.d.comb += after[k].eq(value)
        with m.Elif(add):
            m.d.comb += after[k].eq(total)
