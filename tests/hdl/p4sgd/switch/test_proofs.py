"""Proves the switch's rule from its RTL at two slots and two ports; broken RTL is found."""

import pytest

from hdl.p4sgd.switch.params import SwitchParams
from tests.formal.sby import hold
from tests.hdl.p4sgd.switch.aggregator_proof import AggregatorProof
from tests.hdl.p4sgd.switch.deep_slots import DeepSwitchParams
from tests.hdl.p4sgd.switch.job_table_proof import JobTableProof
from tests.mutants import mutants_are_detected, mutants_of

MUTANTS = mutants_of(
    [AggregatorProof, JobTableProof],
    """
    @hdl.p4sgd.switch.slot_rule; AggregatorProof; hdl.p4sgd.switch.aggregator.SlotRule
    takes the next use unfinished; & near & free) => & near); sum_of_what_everyone_gave
    adds twice; same & ~added) => same); sum_of_what_everyone_gave
    keeps the old sum; after[k].eq(value) => after[k].eq(total); sum_of_what_everyone_gave
    keeps old acknowledgements; after.ack_bm.eq(0) => after.ack_bm.eq(before.ack_bm);
        verdict_of_rule
    counts a premature ack; same & before.summed & ~ack => same & ~ack; acknowledges_every_use_once
    acknowledges twice; m.Elif(acknowledged) => m.Elif(0); acknowledges_every_use_once
    counts a repetition; Mux(added, Verdict.REPEATED_PARTIAL, Verdict.ADDED) => Verdict.ADDED;
        gives_once_to_every_use
    finished one early; all_out.eq(ack_bm == => all_out.eq(before.agg_bm ==;
        acknowledged_after_everyone_did
    summed with one; alone.eq(request.sender == request.everyone) => alone.eq(1);
        sum_if_and_only_if_everyone_gave
    drops the previous ack; PREVIOUS_ACK), self.repeat.eq(1) => PREVIOUS_ACK);
        finished_uses_are_acknowledged
    early looks stale; Mux(before.finished, Verdict.ADDED, Verdict.EARLY) =>
        Mux(before.finished, Verdict.ADDED, Verdict.STALE); verdict_of_rule
    answers a repetition early; eq(added & ~before.summed) => eq(0);
        pending_while_someone_has_not_provided
    answers another's ack; self.pending.eq(~before.finished) => self.pending.eq(0);
        pending_while_someone_has_not_acknowledged
    drops a repetition; self.repeat.eq(added) => self.repeat.eq(added & before.summed);
        answered_by_rule
    @hdl.switch.update_memory; AggregatorProof; hdl.p4sgd.switch.aggregator.UpdateMemory
    forgets the newest change; Mux(hits[0], 1, => Mux(0, 1,; verdict_of_rule
    forgets the change between; Mux(hits[1], 2, => Mux(0, 2,; verdict_of_rule
    forgets the oldest change; Mux(Cat(hits[2:]).any(), 3, 0) => 0; verdict_of_rule
    an older change first; Mux(hits[0], 1, Mux(hits[1], 2, => Mux(hits[1], 2, Mux(hits[0], 1,;
        verdict_of_rule
    another's slot; (read == address) & valid => valid; verdict_of_rule
    @hdl.p4sgd.switch.aggregator; AggregatorProof; Aggregator
    the wrong neighbour; before, 1) => 1, before); verdict_of_rule
    idle cycles write; slots.write.eq(valid | clear) => slots.write.eq(1); verdict_of_rule
    everyone sends; sender.eq(request.sender) => sender.eq(request.everyone); sender_of_packet
    news to the sender; Mux(complete, everyone => Mux(0, 0; news_to_everyone_repetition_to_sender
    repetition to everyone; Mux(complete, everyone => Mux(1, everyone;
        answer_to_ports_of_rule
    wraps; answer.payload[k].eq(Mux(is_sum, value =>
        answer.payload[k].eq(Mux(is_sum, state.agg[k][: params.value_bits]; answer_has_sum_of_rule
    pending with a sum; is_sum = header.is_agg & ~acked => is_sum = header.is_agg;
        answer_has_sum_of_rule
    pending looks acked; header.is_agg.eq(request.header.is_agg | rule.pending), => ;
        answer_is_sum_or_pending
    pending looks like a sum; acked.eq(~request.header.is_agg | rule.pending) =>
        acked.eq(~request.header.is_agg); answer_is_acked_or_pending
    of the use before; header.eq(request.header), =>
        header.eq(request.header), header.use.eq(neighbour),; answer_repeats_the_header
    hides what was clamped; is_sum & overflow => 0; answer_reports_what_was_clamped
    clamps acknowledgements; is_sum & overflow => overflow; answer_reports_what_was_clamped
    answers stale packets; complete | repeat) => 1); answered_by_rule
    @hdl.switch.job_control; JobTableProof; hdl.switch.job_table.JobControl
    does not compare; counts = other.active & (scan != index) => counts = 0; slots_apart
    takes the ports of another; with m.Elif(ports_taken): => with m.Elif(0):; ports_apart
    takes the slots of another; with m.Elif(slots_taken): => with m.Elif(0):; slots_apart
    takes slots that are none; (end > params.slots) => (end > params.slots + 1); slots_exist
    takes no slots; (command.count == 0) | => 0 |; cleared_in_time; 18
    takes no ports; m.Elif(command.ports == 0) => m.Elif(0); job_has_ports_and_slots
    active while it is cleared; active.eq(0), => active.eq(1),; requests_as_promised
    @hdl.switch.slot_clearing; JobTableProof; hdl.switch.job_control.clear_slots
    active before it is cleared; control.hold & (behind == end) => control.hold;
        requests_as_promised
    leaves the last slot; (behind == end) => (behind + 1 >= end); requests_as_promised
    waits for a gap; (turn == TURNS - 1) => 0; cleared_in_time; 18
    @hdl.switch.job_table; JobTableProof; JobTable
    clears for no one; job.ports.eq(control.ports) => job.ports.eq(0); requests_as_promised
    clears too early; self.clear.eq(clearing) => self.clear.eq(control.clear); requests_as_promised
    any port; ~known | ~(ports & sender).any() => ~known; requests_as_promised
    one slot too many; slot >= job.end => slot > job.end; slot_of_the_job
    slots below; (slot < job.base) | => 0 |; slot_of_the_job
    stopped jobs go on; ~packet.known | ~known | => ~packet.known |; requests_as_promised
    announces the one behind; self.ahead.eq(judged_packet.header) =>
        self.ahead.eq(self.packet.header); requests_as_promised
    passes the refused; judging & good => judging; nothing_twice
    says nothing; Mux(judging, verdict, nothing) => nothing; valid_or_refused
    """,
)
SAMPLES = ["forgets the oldest change", "leaves the last slot"]

PROOFS = {
    # Induction over so many cycles, and so many for what is to be reached.
    AggregatorProof: (SwitchParams(ports=2, slots=2, jobs=1, lanes=1, value_bits=4), 4, 12),
    JobTableProof: (SwitchParams(ports=2, slots=2, jobs=2, lanes=1, value_bits=4), 12, 20),
}
DEEP = DeepSwitchParams(ports=2, slots=2, jobs=1, lanes=1, value_bits=4)
kinds = pytest.mark.parametrize("kind", PROOFS, ids=lambda kind: kind.__name__)


@kinds
def test_holds_for_all_time(kind):
    params, depth, _ = PROOFS[kind]
    hold(kind(params), mode="prove", depth=depth)


@kinds
def test_what_is_proven_can_happen(kind):
    params, _, depth = PROOFS[kind]
    hold(kind(params), mode="cover", depth=depth)


@pytest.mark.long
@pytest.mark.parametrize(("mode", "depth"), [("prove", 7), ("cover", 14)])
def test_a_deep_memory_holds_as_well(mode, depth):
    hold(AggregatorProof(DEEP), mode=mode, depth=depth)


test_every_claim_finds_broken_rtl, test_broken_rtl_is_detected = mutants_are_detected(
    MUTANTS, [kind(params) for kind, (params, *_) in PROOFS.items()], SAMPLES
)
