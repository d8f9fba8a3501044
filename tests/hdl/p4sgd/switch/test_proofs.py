"""Proves the switch's rule from its RTL at two slots and two ports; broken RTL is found."""

import pytest

from hdl.p4sgd.switch.params import SwitchParams
from tests.formal.sby import hold
from tests.hdl.p4sgd.switch.aggregator_proof import AggregatorProof
from tests.hdl.p4sgd.switch.deep_slots import DeepSwitchParams
from tests.hdl.p4sgd.switch.job_table_proof import JobTableProof
from tests.mutants import mutants_are_detected, mutants_of

FOLDER = "hdl.p4sgd.switch"
PARTS = "hdl.switch"

rule = mutants_of(f"{FOLDER}.slot_rule", AggregatorProof, f"{FOLDER}.aggregator.SlotRule")
memory = mutants_of(f"{PARTS}.update_memory", AggregatorProof, f"{FOLDER}.aggregator.UpdateMemory")
aggregator = mutants_of(
    f"{FOLDER}.aggregator", AggregatorProof, "tests.hdl.p4sgd.switch.aggregator_proof.Aggregator"
)
control = mutants_of(f"{PARTS}.job_control", JobTableProof, f"{PARTS}.job_table.JobControl")
clearing = mutants_of(f"{PARTS}.slot_clearing", JobTableProof, f"{PARTS}.job_control.clear_slots")
table = mutants_of(
    f"{PARTS}.job_table", JobTableProof, "tests.hdl.p4sgd.switch.job_table_proof.JobTable"
)


MUTANTS = {
    # the rule
    "takes the next use unfinished": rule(
        "is_agg & near & free", "is_agg & near", "sum_of_what_everyone_gave"
    ),
    "adds twice": rule("same & ~added)", "same)", "sum_of_what_everyone_gave"),
    "keeps the old sum": rule(
        "after[k].eq(value)", "after[k].eq(total)", "sum_of_what_everyone_gave"
    ),
    "keeps old acknowledgements": rule(
        "after.ack_bm.eq(0)", "after.ack_bm.eq(before.ack_bm)", "verdict_of_rule"
    ),
    "counts a premature ack": rule(
        "same & before.summed & ~ack", "same & ~ack", "acknowledges_every_use_once"
    ),
    "acknowledges twice": rule("m.Elif(acknowledged)", "m.Elif(0)", "acknowledges_every_use_once"),
    "counts a repetition": rule(
        "Mux(added, Verdict.REPEATED_PARTIAL, Verdict.ADDED)",
        "Verdict.ADDED",
        "gives_once_to_every_use",
    ),
    "finished one early": rule(
        "all_out.eq(ack_bm ==", "all_out.eq(before.agg_bm ==", "acknowledged_after_everyone_did"
    ),
    "summed with one": rule(
        "alone.eq(request.sender == request.everyone)",
        "alone.eq(1)",
        "sum_if_and_only_if_everyone_gave",
    ),
    "drops the previous ack": rule(
        "PREVIOUS_ACK), self.repeat.eq(1)", "PREVIOUS_ACK)", "finished_uses_are_acknowledged"
    ),
    "early looks stale": rule(
        "Mux(before.finished, Verdict.ADDED, Verdict.EARLY)",
        "Mux(before.finished, Verdict.ADDED, Verdict.STALE)",
        "verdict_of_rule",
    ),
    "answers a repetition early": rule(
        "eq(added & ~before.summed)", "eq(0)", "pending_while_someone_has_not_provided"
    ),
    "answers another's ack": rule(
        "self.pending.eq(~before.finished)",
        "self.pending.eq(0)",
        "pending_while_someone_has_not_acknowledged",
    ),
    "drops a repetition": rule(
        "self.repeat.eq(added)", "self.repeat.eq(added & before.summed)", "answered_by_rule"
    ),
    # the memory
    "forgets the newest change": memory("Mux(hits[0], 1,", "Mux(0, 1,", "verdict_of_rule"),
    "forgets the change between": memory("Mux(hits[1], 2,", "Mux(0, 2,", "verdict_of_rule"),
    "forgets the oldest change": memory("Mux(Cat(hits[2:]).any(), 3, 0)", "0", "verdict_of_rule"),
    "an older change first": memory(
        "Mux(hits[0], 1, Mux(hits[1], 2,", "Mux(hits[1], 2, Mux(hits[0], 1,", "verdict_of_rule"
    ),
    "another's slot": memory("(read == address) & valid", "valid", "verdict_of_rule"),
    # the answer
    "the wrong neighbour": aggregator("before, 1)", "1, before)", "verdict_of_rule"),
    "idle cycles write": aggregator(
        "slots.write.eq(valid | clear)", "slots.write.eq(1)", "verdict_of_rule"
    ),
    "everyone sends": aggregator(
        "sender.eq(request.sender)", "sender.eq(request.everyone)", "sender_of_packet"
    ),
    "news to the sender": aggregator(
        "Mux(rule.complete, request.everyone",
        "Mux(0, 0",
        "news_to_everyone_repetition_to_sender",
    ),
    "repetition to everyone": aggregator(
        "Mux(rule.complete, request.everyone",
        "Mux(1, request.everyone",
        "answer_to_ports_of_rule",
    ),
    "wraps": aggregator(
        "answer.payload[k].eq(Mux(is_sum, value",
        "answer.payload[k].eq(Mux(is_sum, state.agg[k][: params.value_bits]",
        "answer_has_sum_of_rule",
    ),
    "pending with a sum": aggregator(
        "is_sum = header.is_agg & ~acked", "is_sum = header.is_agg", "answer_has_sum_of_rule"
    ),
    "pending looks acked": aggregator(
        "header.is_agg.eq(request.header.is_agg | rule.pending),",
        "",
        "answer_is_sum_or_pending",
    ),
    "pending looks like a sum": aggregator(
        "acked.eq(~request.header.is_agg | rule.pending)",
        "acked.eq(~request.header.is_agg)",
        "answer_is_acked_or_pending",
    ),
    "of the use before": aggregator(
        "header.eq(request.header),",
        "header.eq(request.header), header.use.eq(neighbour),",
        "answer_repeats_the_header",
    ),
    "hides what was clamped": aggregator(
        "is_sum & overflow", "0", "answer_reports_what_was_clamped"
    ),
    "clamps acknowledgements": aggregator(
        "is_sum & overflow", "overflow", "answer_reports_what_was_clamped"
    ),
    "answers stale packets": aggregator("rule.complete | rule.repeat)", "1)", "answered_by_rule"),
    # jobs
    "does not compare": control(
        "counts = other.active & (scan != index)", "counts = 0", "slots_apart"
    ),
    "takes the ports of another": control(
        "with m.Elif(ports_taken):", "with m.Elif(0):", "ports_apart"
    ),
    "takes the slots of another": control(
        "with m.Elif(slots_taken):", "with m.Elif(0):", "slots_apart"
    ),
    "takes slots that are none": control(
        "(end > params.slots)", "(end > params.slots + 1)", "slots_exist"
    ),
    "takes no slots": control("(command.count == 0) |", "0 |", "cleared_in_time", depth=18),
    "takes no ports": control("m.Elif(command.ports == 0)", "m.Elif(0)", "job_has_ports_and_slots"),
    "active before it is cleared": clearing(
        "control.hold & (behind == end)", "control.hold", "requests_as_promised"
    ),
    "leaves the last slot": clearing(
        "(behind == end)", "(behind + 1 >= end)", "requests_as_promised"
    ),
    "active while it is cleared": control("active.eq(0),", "active.eq(1),", "requests_as_promised"),
    "waits for a gap": clearing("(turn == TURNS - 1)", "0", "cleared_in_time", depth=18),
    # packets
    "clears for no one": table(
        "job.ports.eq(control.ports)", "job.ports.eq(0)", "requests_as_promised"
    ),
    "clears too early": table(
        "self.clear.eq(clearing)", "self.clear.eq(control.clear)", "requests_as_promised"
    ),
    "any port": table(
        "~known | ~(ports & sender).any()",
        "~known",
        "requests_as_promised",
    ),
    "one slot too many": table("slot >= job.end", "slot > job.end", "slot_of_the_job"),
    "slots below": table("(slot < job.base) |", "0 |", "slot_of_the_job"),
    "stopped jobs go on": table(
        "~packet.known | ~known |", "~packet.known |", "requests_as_promised"
    ),
    "announces the one behind": table(
        "self.ahead.eq(judged_packet.header)",
        "self.ahead.eq(self.packet.header)",
        "requests_as_promised",
    ),
    "passes the refused": table("judging & good", "judging", "nothing_twice"),
    "says nothing": table("Mux(judging, verdict, nothing)", "nothing", "valid_or_refused"),
}
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
