"""Implements SwitchML's rule: a packet's use has one of two copies of its slot's sum."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In

from hdl.common.component import Component
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.slot_rule import add_sum, rule_ports
from hdl.switch.slots import USES


class ShadowRule(Component):
    """Decides by :func:`sim.golden.reduction.shadow.shadow_rule`, without registers.

    The ports are those of :class:`hdl.p4sgd.switch.slot_rule.SlotRule`, without ``begins``, but
    ``before`` and ``after`` are the state of one copy, that of even or of ``odd`` uses, and
    ``neighbour`` is the use two before the request's: a use begins in the copy that had this one,
    if its sum is complete. An acknowledgement is PREMATURE_ACK. ``clear`` sets the copy to use -2
    or -1, complete.

    Source: SwitchML (NSDI 2021), algorithm 3, with numbered uses. Latency: none.
    """

    latency = 0

    def __init__(self, params: SwitchParams) -> None:
        super().__init__(params, rule_ports(params) | {"odd": In(1)})

    def build(self, m: Module) -> None:
        request, before, after = self.request, self.before, self.after
        is_agg, Verdict = request.header.is_agg, self.params.verdict
        same, near, added = Signal(), Signal(), Signal()
        add, take, alone, all_in = Signal(), Signal(), Signal(), Signal()
        agg_bm = before.agg_bm | request.sender
        m.d.comb += [
            same.eq(request.header.use == before.use),
            near.eq(self.neighbour == before.use),
            added.eq((before.agg_bm & request.sender).any()),
            add.eq(is_agg & same & ~added),
            take.eq(is_agg & near & before.summed),
            alone.eq(request.sender == request.everyone),
            all_in.eq(agg_bm == request.everyone),
            self.complete.eq((take & alone) | (add & all_in)),
            self.repeat.eq(is_agg & same & added),
            self.pending.eq(self.repeat & ~before.summed),
            after.eq(before),
            self.verdict.eq(Mux(is_agg, Verdict.STALE, Verdict.PREMATURE_ACK)),
        ]
        with m.If(self.clear):
            m.d.comb += [
                after.use.eq(Mux(self.odd, USES - 1, USES - 2)),
                after.agg_bm.eq(request.everyone),
                after.summed.eq(1),
            ]
        with m.Elif(take):
            m.d.comb += [
                after.use.eq(request.header.use),
                after.agg_bm.eq(request.sender),
                after.summed.eq(alone),
            ]
        with m.Elif(add):
            m.d.comb += [after.agg_bm.eq(agg_bm), after.summed.eq(all_in)]
        with m.If(add | take):
            m.d.comb += self.verdict.eq(Verdict.ADDED)
        with m.Elif(self.repeat):
            m.d.comb += self.verdict.eq(Verdict.REPEATED_PARTIAL)
        with m.Elif(is_agg & near):
            m.d.comb += self.verdict.eq(Verdict.EARLY)
        add_sum(m, self, take, add)
