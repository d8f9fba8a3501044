"""Implements the rule whose acknowledgements ride in the slot's next activation."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.allreduce.wide_params import Operation, WideParams, WideVerdict
from hdl.common.component import Component
from hdl.switch.frame_format import copied
from hdl.switch.slots import USES


class WideRule(Component):
    """Decides by :func:`sim.golden.reduction.wide_rule.wide_rule`, without registers.

    ``before`` is the slot's state, and ``after`` its state after packet ``head`` of a worker of
    ``everyone``; ``decision`` says what becomes of the packet's numbers, and how it is answered.
    ``previous`` and ``following`` are the uses before and after the packet's. A head with ``clear``
    sets the slot's state for a job's start: use -1, complete, acknowledged by all, without numbers.

    Latency: none. All comparisons work in parallel; the decision comes after them.
    """

    latency = 0

    def __init__(self, params: WideParams) -> None:
        super().__init__(
            params,
            head=In(params.head),
            everyone=In(params.ports),
            **dict.fromkeys(("previous", "following"), In(8)),
            before=In(params.state),
            after=Out(params.state),
            verdict=Out(WideVerdict),
            decision=Out(params.decision),
        )

    def build(self, m: Module) -> None:
        head, before, after, V = self.head, self.before, self.after, WideVerdict
        same, older, newer = Signal(), Signal(), Signal()
        added, has, fits = Signal(), Signal(), Signal()
        stored = before.shapes[head.use[0]]
        m.d.comb += [
            same.eq(head.use == before.use),
            older.eq(self.following == before.use),
            newer.eq(self.previous == before.use),
            added.eq((before.agg_bm & head.sender).any()),
            has.eq((before.ack_bm & head.sender).any()),
            fits.eq((stored.operation == head.operation) & (stored.count == head.count)),
            self.verdict.eq(V.STALE),
        ]
        last = Mux(before.summed, same, older)  # it is of the last complete use
        take, add, acknowledge = Signal(), Signal(), Signal()
        m.d.comb += [
            take.eq(~head.clear & head.is_agg & newer & before.summed),
            add.eq(~head.clear & head.is_agg & same & ~added & fits),
            acknowledge.eq(~head.clear & ~head.is_agg & last & ~has),
            after.eq(before),
        ]
        with m.If(head.clear):
            m.d.comb += self.verdict.eq(V.NONE)
        with m.Elif(take | add):
            m.d.comb += self.verdict.eq(V.ADDED)
        with m.Elif(head.is_agg & (same | older)):
            m.d.comb += self.verdict.eq(Mux(fits, V.REPEATED_PARTIAL, V.DIFFERENT))
        with m.Elif(head.is_agg & newer):
            m.d.comb += self.verdict.eq(V.EARLY)
        with m.Elif(~head.is_agg & last):
            m.d.comb += self.verdict.eq(Mux(has, V.REPEATED_ACK, V.ACKNOWLEDGED))
        with m.Elif(~head.is_agg & same):
            m.d.comb += self.verdict.eq(V.PREMATURE_ACK)
        complete = self.change(m, take, add, acknowledge)
        self.answer(m, take, add, complete, same & ~before.summed)

    def change(self, m: Module, take: Signal, add: Signal, acknowledge: Signal) -> Signal:
        """Set the state after the packet; return whether a sum or its acknowledgement is complete.

        An activation acknowledges the last complete use, until its own is complete.
        """
        head, before, after = self.head, self.before, self.after
        agg_bm = Mux(take, 0, before.agg_bm) | head.sender
        ack_bm = before.ack_bm | head.sender
        all_in, all_have, complete = Signal(), Signal(), Signal()
        m.d.comb += [
            all_in.eq(agg_bm == self.everyone),
            all_have.eq(ack_bm == self.everyone),
            complete.eq(Mux(acknowledge, all_have, (take | add) & all_in)),
        ]
        with m.If(take | add):
            m.d.comb += [
                after.use.eq(head.use),
                after.agg_bm.eq(agg_bm),
                after.summed.eq(all_in),
                after.ack_bm.eq(Mux(all_in, 0, ack_bm)),
                after.acked.eq(all_have),
            ]
        with m.Elif(acknowledge):
            m.d.comb += [after.ack_bm.eq(ack_bm), after.acked.eq(all_have)]
        with m.If(take):
            stored = after.shapes[head.use[0]]
            m.d.comb += [stored.operation.eq(head.operation), stored.count.eq(head.count)]
        with m.If(head.clear):
            m.d.comb += [
                after.use.eq(USES - 1),
                after.ack_bm.eq(self.everyone),
                after.summed.eq(1),
                after.acked.eq(1),
                *(shape.count.eq(0) for shape in after.shapes),
            ]
        return complete

    def answer(self, m: Module, take, add, complete, lacks) -> None:
        """Decide what becomes of the numbers, and how the packet is answered."""
        head, decision, answer = self.head, self.decision, self.decision.answer
        repeated = self.verdict == WideVerdict.REPEATED_PARTIAL
        again = self.verdict == WideVerdict.REPEATED_ACK
        pending = lacks | (again & ~self.before.acked)
        full = (repeated & ~lacks) | ((take | add) & complete)
        m.d.comb += [
            decision.take.eq(take),
            decision.add.eq(add),
            decision.full.eq(full),
            decision.short.eq(~full & (repeated | again | complete)),
            *copied(answer, head),
            answer.bm.eq(Mux(complete, self.everyone, head.sender)),
            answer.is_agg.eq(full | pending),
            answer.acked.eq(~full),
            answer.operation.eq(Mux(full, head.operation, Operation.SUM)),
            answer.count.eq(Mux(full, head.count, 0)),
        ]
