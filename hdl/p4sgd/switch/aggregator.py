"""Keeps the slots of the switch, sums and bitmaps, and answers a request a cycle."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay, saturate
from hdl.common.component import Component
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.shadow_rule import ShadowRule
from hdl.p4sgd.switch.slot_rule import SlotRule
from hdl.p4sgd.switch.tree_params import TreeSwitchParams
from hdl.p4sgd.switch.tree_rule import TreeRule
from hdl.switch.slots import USES
from hdl.switch.update_memory import UpdateMemory


class Aggregator(Component):
    """Applies a request to its slot every cycle, by :class:`SlotRule` (P4SGD, section 3.3).

    With ``params.shadow``, :class:`ShadowRule` decides, and ``slot`` is the index of a copy.

    The ``slot`` of a request comes :attr:`lead` cycles ahead of ``valid`` and ``request``; every
    cycle has a slot, but cycles without ``valid`` change nothing. ``ahead`` is the header of the
    next cycle's request. ``clear`` in place of ``valid`` clears the slot. The request's ``verdict``
    (NONE without a request), ``sender`` and answer follow :attr:`latency` cycles later: one cycle,
    and as many more as the latency of the slots' memory exceeds the lead. ``answered`` says that
    there is an ``answer``; its ``bm`` has the ports that it goes to: all ports of the job if the
    request completes a sum or its acknowledgement, otherwise the sender, whose repeated packet is
    answered pending until then. The exact sum is saturated here, once, and ``saturated`` marks its
    clamped lanes; it is 0 in all other answers. If jobs are tenants, ``progress`` reports a cycle
    later that a use of a job's slot began or ended. If tenants may have a parent, :class:`TreeRule`
    decides, and an answer that is ``up`` goes to the port in ``parent`` as well, or only there:
    with the exact sum, which only the root saturates.

    Throughput: one request a cycle, even for the same slot in a row. Never stalls. Contents survive
    a reset: slots are valid after they were cleared.
    """

    lead = UpdateMemory.lead
    latency = 1  #: if the slots' memory takes no longer than the lead

    def __init__(self, params: SwitchParams) -> None:
        self.latency += params.more_cycles
        super().__init__(
            params,
            slot=In(params.entry_bits),
            valid=In(1),
            clear=In(1),
            ahead=In(params.header),
            request=In(params.request),
            verdict=Out(params.verdict),
            sender=Out(params.ports),
            answered=Out(1),
            answer=Out(params.answer),
            **({"progress": Out(params.progress)} if params.tenants else {}),
            **({"parent": Out(params.ports)} if params.parents else {}),
        )

    def build(self, m: Module) -> None:
        params = self.params
        in_tree = isinstance(params, TreeSwitchParams)
        plain = ShadowRule(params) if params.shadow else SlotRule(params)
        m.submodules.rule = rule = TreeRule(params) if in_tree else plain
        m.submodules.slots = slots = UpdateMemory(params.slots_memory)
        assert slots.lead == self.lead + params.more_cycles
        valid, clear, request = self.when_read(m)
        before = USES - params.copies  # the use before in the same entry
        neighbour = (self.ahead.use + Mux(self.ahead.is_agg, before, 1))[:8]
        neighbour = delay(m, neighbour, 1 + params.more_cycles, "neighbour")
        m.d.comb += [
            slots.address.eq(self.slot),
            rule.clear.eq(clear),
            rule.request.eq(request),
            rule.neighbour.eq(neighbour),
            rule.before.eq(slots.before),
            slots.after.eq(rule.after),
            slots.write.eq(valid | clear),
        ]
        if isinstance(rule, ShadowRule):
            m.d.comb += rule.odd.eq(delay(m, self.slot[0], slots.lead, "odd"))
        came = delay(m, valid, 1, "came", reset_less=False)
        if params.tenants:
            # The state after the request is one that is registered: the rule is long.
            before = delay(m, rule.before.finished, 1, "before")
            after = params.state(slots.written.contents).finished
            m.d.sync += self.progress.job.eq(request.header.job)
            m.d.comb += [
                self.progress.began.eq(came & before & ~after),
                self.progress.ended.eq(came & ~before & after),
            ]
        header = Signal(params.header, reset_less=True)
        # What these decide is behind them: the rule is long.
        complete, repeat = Signal(reset_less=True), Signal(reset_less=True)
        everyone = Signal(params.ports, reset_less=True)
        acked = Signal(reset_less=True)
        sender = Signal(params.ports, reset_less=True)
        m.d.sync += [
            self.verdict.eq(Mux(valid, rule.verdict, params.verdict.NONE)),
            complete.eq(rule.complete),
            repeat.eq(rule.repeat),
            everyone.eq(request.everyone),
            sender.eq(request.sender),
            header.eq(request.header),
            header.is_agg.eq(request.header.is_agg | rule.pending),
            acked.eq(~request.header.is_agg | rule.pending),
        ]
        is_sum = header.is_agg & ~acked
        m.d.comb += [
            self.sender.eq(sender),
            self.answered.eq(came & (complete | repeat)),
            self.answer.bm.eq(Mux(complete, everyone, Mux(repeat, sender, 0))),
            self.answer.acked.eq(acked),
            self.answer.header.eq(header),
        ]
        state = params.state(slots.written.contents)  # after the request
        for k in range(params.lanes):
            value, overflow = saturate(state.agg[k], params.value_bits)
            if params.parents:
                overflow |= state.saturated[k]  # lanes that the parent reported
            m.d.comb += [
                self.answer.payload[k].eq(Mux(is_sum, value, 0)),
                self.answer.saturated[k].eq(is_sum & overflow),
            ]
        if isinstance(rule, TreeRule):
            self.send_up(m, came, request, rule, state)

    def when_read(self, m: Module) -> tuple[Value, Value, Any]:
        """Return ``valid``, ``clear`` and ``request``, delayed until the slot has been read."""
        more = self.params.more_cycles
        return (
            delay(m, self.valid, more, "valid", reset_less=False),
            delay(m, self.clear, more, "clear", reset_less=False),
            delay(m, self.request, more, "request"),
        )

    def send_up(self, m: Module, came: Signal, request: Any, rule: TreeRule, state: Any) -> None:
        """Send answers up, with the exact sum or an acknowledgement, in place of an answer down."""
        answer = self.answer
        first, again = Signal(reset_less=True), Signal(reset_less=True)
        answered, partial = Signal(reset_less=True), Signal(reset_less=True)
        parent = Signal(self.params.ports, reset_less=True)
        up = first | again
        m.d.sync += [
            answered.eq(rule.answered),
            first.eq(rule.up),
            again.eq(rule.up_again),
            partial.eq(request.header.is_agg),
            parent.eq(request.parent),
        ]
        m.d.comb += [
            self.answered.eq(came & answered),
            answer.up.eq(up),
            answer.partial.eq(partial),
            self.parent.eq(parent),
        ]
        with m.If(up):
            m.d.comb += answer.saturated.eq(0)
            for k in range(self.params.lanes):
                m.d.comb += answer.payload[k].eq(Mux(partial, state.agg[k], 0))
