"""Implements the rule of a slot in a tree: a switch is like a worker to its parent."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import Out

from hdl.common.component import Component
from hdl.p4sgd.switch.slot_rule import SlotRule, add_sum, rule_ports
from hdl.p4sgd.switch.tree_params import TreeSwitchParams


class TreeRule(Component):
    """Decides by the rule of a tree (MINA, "RTL", Tree), without registers.

    Its ports are those of :class:`SlotRule`, and mean the same; ``complete`` answers go to all
    children. Only the root gives a complete answer to a packet that completes a sum or its
    acknowledgement. Any other switch sends the sum or the acknowledgement up instead (``up``), and
    with each repetition until the parent has answered (``up_again``); the sender of the repetition
    gets a ``pending`` answer. ``answered`` says that there is an answer, down or up. The parent's
    answer for which a slot waits is kept, and goes to all children.

    ``before`` must be an earlier ``after``, and the job's ports and parent must be stable until the
    slot is cleared.

    Latency: none.
    """

    latency = 0

    def __init__(self, params: TreeSwitchParams) -> None:
        super().__init__(
            params, rule_ports(params) | dict.fromkeys(("up", "up_again", "answered"), Out(1))
        )

    def build(self, m: Module) -> None:
        request, before, after = self.request, self.before, self.after
        m.submodules.slot = slot = SlotRule(self.params)
        m.d.comb += [
            slot.clear.eq(self.clear),
            slot.request.eq(request),
            slot.neighbour.eq(self.neighbour),
            slot.before.eq(before),
            after.eq(slot.after),
            self.pending.eq(slot.pending),
        ]
        child = ~request.from_parent
        stored, freed = Signal(), Signal()
        verdict = self.judge(m, stored, freed)
        sent = Mux(request.header.is_agg, before.gathered, before.thanked)
        m.d.comb += [
            self.verdict.eq(Mux(child, slot.verdict, verdict)),
            self.complete.eq((request.root & slot.complete) | stored | freed),
            self.repeat.eq(child & slot.repeat),
            self.answered.eq(slot.complete | self.repeat | stored | freed),
            self.up.eq(~request.root & slot.complete),
            self.up_again.eq(self.repeat & slot.pending & sent),  # never at the root
        ]
        with m.If(self.clear):
            m.d.comb += [after.gathered.eq(1), after.thanked.eq(1), after.saturated.eq(0)]
        with m.Elif(child):
            self.follow(m, slot)
        with m.Else():
            m.d.comb += [
                after.summed.eq(before.summed | stored),
                after.finished.eq(before.finished | freed),
            ]
            with m.If(stored):
                m.d.comb += after.saturated.eq(request.saturated)
        add_sum(m, self, slot.begins | stored, slot.adds)

    def follow(self, m: Module, slot: SlotRule) -> None:
        """Distinguish what the children have sent from what the parent has answered.

        In :class:`SlotRule`, ``summed`` and ``finished`` say that all children are in a sum, or in
        its acknowledgement. For a root this is all.
        """
        before, after, root = self.before, self.after, self.request.root
        begun = slot.begins
        m.d.comb += [
            after.gathered.eq((before.gathered & ~begun) | slot.after.summed),
            after.thanked.eq((before.thanked & ~begun) | slot.after.finished),
            after.summed.eq(Mux(root, slot.after.summed, before.summed & ~begun)),
            after.finished.eq(Mux(root, slot.after.finished, before.finished & ~begun)),
            after.saturated.eq(Mux(begun, 0, before.saturated)),
        ]

    def judge(self, m: Module, stored: Signal, freed: Signal) -> Value:
        """Return the verdict on a packet as the parent's.

        ``stored`` is high for a sum that the slot waits for, ``freed`` for the end of its use.
        """
        request, before, kinds = self.request, self.before, self.params.verdict
        is_agg, acked = request.header.is_agg, request.acked
        same = request.header.use == before.use
        for_sum = before.gathered & ~before.summed
        for_word = before.thanked & ~before.finished
        waits = Mux(acked, for_word | (is_agg & for_sum), for_sum)
        to_switch = request.from_parent & same & waits
        verdict = Signal(kinds)
        m.d.comb += [
            stored.eq(to_switch & is_agg & ~acked),
            freed.eq(to_switch & acked & ~is_agg),
        ]
        with m.If(~same):
            m.d.comb += verdict.eq(kinds.STALE)
        with m.Elif(waits):
            answered = Mux(is_agg, kinds.PENDING, kinds.FREED)
            m.d.comb += verdict.eq(Mux(acked, answered, kinds.FULL))
        with m.Elif(Mux(acked & ~is_agg, before.thanked, before.gathered)):
            m.d.comb += verdict.eq(kinds.REPEATED)
        with m.Else():
            m.d.comb += verdict.eq(kinds.UNASKED)
        return verdict
