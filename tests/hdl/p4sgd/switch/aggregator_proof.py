"""States what is proven of the aggregator: it is the rule, and AllReduce needs that rule."""

from functools import reduce
from operator import and_

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In

from hdl.common.arithmetic import delay, saturate
from hdl.common.component import Component
from hdl.p4sgd.switch.aggregator import Aggregator
from hdl.p4sgd.switch.params import SwitchParams, Verdict
from hdl.switch.slots import USES
from tests.formal.claims import assume, check, claim, reach
from tests.formal.promises import RequestPromises
from tests.hdl.p4sgd.switch.slot_reference import SlotReference, slot_layout
from tests.hdl.p4sgd.switch.worker_record import WorkerRecord


class AggregatorProof(Component):
    """Has an :class:`Aggregator` with free inputs by :class:`RequestPromises`, and two models.

    The first is the specification, a packet a step (:meth:`follow_rule`): verdict, sender and
    answer are its, and the memory holds its slots, in every cycle; so a packet changes no slot
    but its own. The second (:meth:`follow_workers`) knows nothing of bitmaps: of one slot,
    whichever, it keeps what each worker had accepted last. Everything is compared in the cycle
    of a request's outputs. Resets may come at any time; they make all slots uncleared.
    """

    #: Inputs that are wired to what is inside instead: the entries of the slots' memory.
    peeks = {"entries": "dut.slots.entries.memory[*]"}

    def __init__(self, params: SwitchParams) -> None:
        super().__init__(
            params,
            slot=In(params.slot_bits),
            valid=In(1),
            clear=In(1),
            ahead=In(params.header),
            request=In(params.request),
            entries=In(data.ArrayLayout(params.state, params.slots)),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.dut = dut = Aggregator(params)
        m.submodules.requested = requested = RequestPromises(params)  # the request of the outputs
        m.d.comb += [
            dut.slot.eq(self.slot),
            dut.valid.eq(self.valid),
            dut.clear.eq(self.clear),
            dut.ahead.eq(self.ahead),
            dut.request.eq(self.request),
            requested.slot.eq(delay(m, self.slot, dut.lead + dut.latency, "slot")),
            requested.valid.eq(delay(m, self.valid, dut.latency, "valid", reset_less=False)),
            requested.clear.eq(delay(m, self.clear, dut.latency, "clear", reset_less=False)),
            requested.request.eq(delay(m, self.request, dut.latency, "request")),
            requested.announced.eq(delay(m, self.ahead, 1 + dut.latency, "ahead")),
        ]
        assume(m, requested.stored)
        slots = self.follow_rule(m, dut, requested)
        watched = Signal(params.slot_bits)
        m.d.comb += watched.eq(AnyConst(params.slot_bits))
        slot = Signal(slot_layout(params))
        m.d.comb += slot.eq(Array(slot.as_value() for slot in slots)[watched])
        self.follow_workers(m, dut, requested, watched, slot)

    def follow_rule(self, m: Module, dut: Aggregator, requested: RequestPromises) -> list:
        """Model the specification's slots before ``requested``; check outputs and memory by
        them.
        """
        params = self.params
        m.submodules.reference = reference = SlotReference(params)
        slots = [Signal(slot_layout(params), name=f"slot_{k}") for k in range(params.slots)]
        m.d.comb += [
            reference.clear.eq(requested.clear),
            reference.request.eq(requested.request),
            reference.before.eq(Array(slot.as_value() for slot in slots)[requested.slot]),
        ]
        for k, slot in enumerate(slots):
            with m.If((requested.valid | requested.clear) & (requested.slot == k)):
                m.d.sync += slot.eq(reference.after)
            entry, everyone = self.entries[k], requested.everyone[k]
            with m.If(requested.cleared[k]):
                for name in ("use", "agg", "agg_bm", "ack_bm"):
                    check(m, f"memory_holds_{name}", entry[name] == slot[name])
                check(m, "memory_holds_summed", entry.summed == (slot.agg_bm == everyone))
                check(m, "memory_holds_finished", entry.finished == (slot.ack_bm == everyone))
        header, answer = requested.request.header, dut.answer
        verdict = Mux(requested.valid, reference.verdict, Verdict.NONE)
        claim(m, "verdict_of_rule", dut.verdict.as_value() == verdict)
        claim(m, "answered_by_rule", dut.answered == (requested.valid & reference.answered))
        with m.If(requested.valid):
            claim(m, "sender_of_packet", dut.sender == requested.request.sender)
        with m.If(dut.answered):
            claim(m, "answer_to_ports_of_rule", answer.bm == reference.bm)
            pending = reference.pending
            claim(m, "answer_is_acked_or_pending", answer.acked == (~header.is_agg | pending))
            claim(m, "answer_is_sum_or_pending", answer.header.is_agg == (header.is_agg | pending))
            same = [answer.header[name] == header[name] for name in ("job", "epoch", "seq", "use")]
            claim(m, "answer_repeats_the_header", Cat(same).all())
            for k in range(params.lanes):
                value, _ = saturate(reference.after.agg[k], params.value_bits)
                is_sum = header.is_agg & ~pending
                right = answer.payload[k] == Mux(is_sum, value, 0)
                claim(m, "answer_has_sum_of_rule", right)
                clamped = is_sum & (reference.after.agg[k] != value)
                claim(m, "answer_reports_what_was_clamped", answer.saturated[k] == clamped)
        reach(m, "clamped", dut.answered & answer.saturated.any())
        self.follow_each_other(m, requested)
        return slots

    def follow_each_other(self, m: Module, requested: RequestPromises) -> None:
        """A slot is changed again before, while and after its change comes to the memory."""
        slots, changes = [requested.slot], [requested.valid]
        for _ in range(4):
            slots.append(delay(m, slots[-1], 1, f"slot_{len(slots)}_ago"))
            changes.append(delay(m, changes[-1], 1, f"change_{len(changes)}_ago", reset_less=False))
        for cycles in range(1, 5):
            between = Cat(changes[1:cycles]).any()
            again = changes[0] & changes[cycles] & (slots[0] == slots[cycles]) & ~between
            reach(m, f"same_slot_after_{cycles}", again)

    def follow_workers(self, m: Module, dut, requested: RequestPromises, watched, slot) -> None:
        """Keep sums and acknowledgements of the ``watched`` slot as its workers see them."""
        params = self.params
        own = requested.valid & (requested.slot == watched)
        start = requested.clear & (requested.slot == watched)
        use, is_agg = requested.request.header.use, requested.request.header.is_agg
        added = own & (dut.verdict == Verdict.ADDED)
        acknowledged = own & (dut.verdict == Verdict.ACKNOWLEDGED)
        latest = Signal(8)  # use of the last partial activation that was accepted
        with m.If(start):
            m.d.sync += latest.eq(USES - 1)
        with m.Elif(added):
            m.d.sync += latest.eq(use)
        everyone = Array(requested.everyone[k] for k in range(params.slots))[watched]
        members = []
        for k in range(params.ports):
            m.submodules[f"worker_{k}"] = record = WorkerRecord(params)
            members.append((everyone[k], record))
            m.d.comb += [
                record.start.eq(start),
                record.added.eq(added & dut.sender[k]),
                record.acknowledged.eq(acknowledged & dut.sender[k]),
                record.use.eq(use),
                record.payload.eq(requested.request.payload),
            ]
            with m.If(record.added):
                claim(m, "gives_once_to_every_use", record.before.provided == (use - 1)[:8])
            with m.If(record.acknowledged):
                claim(m, "acknowledges_every_use_once", record.before.acked == (use - 1)[:8])
        with m.If(requested.cleared.bit_select(watched, 1)):
            self.tie(m, members, everyone, latest, slot)
        provided = every(members, lambda record: record.after.provided == use)
        acked = every(members, lambda record: record.after.acked == use)
        # Perhaps they have acknowledged the next use, too.
        acked_then = every(members, lambda record: (record.after.acked - use)[:8] <= 1)
        previous = use == (latest - 1)[:8]
        pending = dut.answered & dut.answer.header.is_agg & dut.answer.acked
        news = dut.answered & ~pending
        senders = [(requested.request.sender[k], record) for k, (_, record) in enumerate(members)]
        repeats = (use == latest) & every(
            senders, lambda record: Mux(is_agg, record.before.provided, record.before.acked) == use
        )
        with m.If(own & is_agg):
            claim(m, "sum_if_and_only_if_everyone_gave", news == provided)
            claim(m, "pending_while_someone_has_not_provided", pending == (repeats & ~provided))
        with m.If(own & ~is_agg):
            claim(m, "finished_uses_are_acknowledged", news == (acked | previous))
            claim(m, "pending_while_someone_has_not_acknowledged", pending == (repeats & ~acked))
        with m.If(own & news):
            claim(m, "acknowledged_after_everyone_did", is_agg | acked_then)
            to = Mux(added | acknowledged, everyone, requested.request.sender)
            claim(m, "news_to_everyone_repetition_to_sender", dut.answer.bm == to)
            for lane in range(params.lanes):
                total = total_of(members, lambda record, k=lane: record.after.values[k])
                value, _ = saturate(total, params.value_bits)
                right = ~is_agg | (dut.answer.payload[lane] == value)
                claim(m, "sum_of_what_everyone_gave", right)
        with m.If(own & everyone.all() & (use == 1)):
            reach(m, "partial_pending", pending & is_agg)
            reach(m, "acknowledgement_pending", pending & ~is_agg)
        with m.If(own & news & everyone.all() & (use == 1)):
            reach(m, "second_sum", added)
            reach(m, "second_sum_acknowledged", acknowledged)
            reach(m, "second_sum_repeated", is_agg & ~added)
            reach(m, "acknowledgement_repeated", ~is_agg & ~acknowledged)

    def tie(self, m: Module, members: list, everyone, latest, slot) -> None:
        """Relate the workers' view to the specification's slot, for induction."""
        check(m, "slot_has_latest_use", latest == slot.use)
        check(m, "someone_gave", slot.agg_bm != 0)
        check(m, "only_members_gave", (slot.agg_bm & ~everyone) == 0)
        check(m, "only_members_acknowledged", (slot.ack_bm & ~everyone) == 0)
        check(m, "sum_before_acks", (slot.ack_bm == 0) | (slot.agg_bm == everyone))
        for k, (member, record) in enumerate(members):
            use = slot.use
            with m.If(member):
                provided, acked = record.before.provided, record.before.acked
                check(m, "bit_if_provided", provided == (use - ~slot.agg_bm[k])[:8])
                check(m, "bit_if_acknowledged", acked == (use - ~slot.ack_bm[k])[:8])
        added = [(slot.agg_bm[k], record) for k, (_, record) in enumerate(members)]
        for lane in range(self.params.lanes):
            total = total_of(added, lambda record, k=lane: record.before.values[k])
            check(m, "slot_has_sum_of_provided", slot.agg[lane] == total)


def every(members: list, holds):
    """Whether something holds of all who take part."""
    return reduce(and_, (~member | holds(record) for member, record in members))


def total_of(members: list, value):
    """Return the exact sum over those who take part."""
    return sum((Mux(member, value(record), 0) for member, record in members), start=Const(0))
