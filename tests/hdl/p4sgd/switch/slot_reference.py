"""Has Algorithm 2 once more, as logic that follows the specification line by line."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.p4sgd.switch.params import SwitchParams, Verdict
from hdl.switch.slots import USES


def slot_layout(params: SwitchParams) -> data.StructLayout:
    """Return what the specification keeps of a slot: no flags."""
    return data.StructLayout(
        {"use": 8, "agg_bm": params.ports, "ack_bm": params.ports, "agg": params.agg}
    )


class SlotReference(Component):
    """Computes ``sim.golden.reduction.allreduce.switch_rule`` in one step, with nothing prepared.

    ``before`` is the slot, ``after`` what ``request`` makes of it, or what a start does with
    ``clear``. ``verdict`` is the packet's; if it is ``answered``, the answer goes to ``bm``, a sum
    being that of ``after``, or ``pending``.

    Latency: none.
    """

    latency = 0

    def __init__(self, params: SwitchParams) -> None:
        super().__init__(
            params,
            clear=In(1),
            request=In(params.request),
            before=In(slot_layout(params)),
            after=Out(slot_layout(params)),
            verdict=Out(Verdict),
            answered=Out(1),
            pending=Out(1),
            bm=Out(params.ports),
        )

    def build(self, m: Module) -> None:
        request, before, after = self.request, self.before, self.after
        worker, everyone = request.sender, request.everyone
        behind = Signal(8)
        m.d.comb += [
            behind.eq(before.use - request.header.use),
            after.eq(before),
            self.bm.eq(worker),
            self.verdict.eq(Verdict.STALE),
        ]
        with m.If(self.clear):
            m.d.comb += [
                after.use.eq(USES - 1),
                after.agg_bm.eq(everyone),
                after.ack_bm.eq(everyone),
                *(after.agg[k].eq(0) for k in range(self.params.lanes)),
            ]
        with m.Elif(request.header.is_agg):
            self.partial(m, behind)
        with m.Elif(behind == 1):
            m.d.comb += [self.verdict.eq(Verdict.PREVIOUS_ACK), self.answered.eq(1)]
        with m.Elif(behind == 0):
            with m.If(before.agg_bm != everyone):
                m.d.comb += self.verdict.eq(Verdict.PREMATURE_ACK)
            with m.Elif((before.ack_bm & worker) != 0):
                m.d.comb += [
                    self.verdict.eq(Verdict.REPEATED_ACK),
                    self.answered.eq(1),
                    self.pending.eq(before.ack_bm != everyone),
                ]
            with m.Else():
                m.d.comb += [
                    self.verdict.eq(Verdict.ACKNOWLEDGED),
                    after.ack_bm.eq(before.ack_bm | worker),
                    self.answered.eq(after.ack_bm == everyone),
                    self.bm.eq(everyone),
                ]

    def partial(self, m: Module, behind: Signal) -> None:
        """Add the part for partial activations."""
        request, before, after = self.request, self.before, self.after
        worker, everyone = request.sender, request.everyone
        added = Signal()
        with m.If((behind == 0) & ((before.agg_bm & worker) != 0)):
            m.d.comb += [
                self.verdict.eq(Verdict.REPEATED_PARTIAL),
                self.answered.eq(1),
                self.pending.eq(before.agg_bm != everyone),
            ]
        with m.Elif(behind == 0):
            m.d.comb += [added.eq(1), after.agg_bm.eq(before.agg_bm | worker)]
        with m.Elif(behind == USES - 1):
            with m.If(before.ack_bm != everyone):
                m.d.comb += self.verdict.eq(Verdict.EARLY)
            with m.Else():
                m.d.comb += [
                    added.eq(1),
                    after.use.eq(request.header.use),
                    after.agg_bm.eq(worker),
                    after.ack_bm.eq(0),
                ]
        with m.If(added):
            m.d.comb += [
                self.verdict.eq(Verdict.ADDED),
                self.answered.eq(after.agg_bm == everyone),
                self.bm.eq(everyone),
            ]
            for k in range(self.params.lanes):
                stored = Mux(behind == 0, before.agg[k], 0)
                m.d.comb += after.agg[k].eq(
                    low_bits(stored + request.payload[k], len(after.agg[k]))
                )
