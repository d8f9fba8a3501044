"""The rule of the switch, proven of its RTL at two slots and two ports; broken RTL is found."""

import pytest

from hdl.p4sgd.switch.params import SwitchParams
from sim.formal.aggregator_proof import AggregatorProof
from sim.formal.job_table_proof import JobTableProof
from sim.formal.sby import prove
from tests.mutants import broken, chosen, is_found

RULE, MEMORY, SUM = "slot_rule", "update_memory", "aggregator"
TABLE, CONTROL = "job_table", "job_control"
USED_AS = {  # a broken module's class takes the place of
    RULE: "hdl.p4sgd.switch.aggregator.SlotRule",
    MEMORY: "hdl.p4sgd.switch.aggregator.UpdateMemory",
    SUM: "sim.formal.aggregator_proof.Aggregator",
    CONTROL: "hdl.p4sgd.switch.job_table.JobControl",
    TABLE: "sim.formal.job_table_proof.JobTable",
}
# What is broken: module, text, what it is replaced by. SAMPLES are tried by the suite, the others
# by `MUTANTS=all pytest` of this file.
MUTANTS = {
    "takes the next use unfinished": (RULE, "near & before.finished", "near"),
    "adds twice": (RULE, "same & ~added)", "same)"),
    "keeps the old sum": (RULE, "after[k].eq(value)", "after[k].eq(total)"),
    "keeps old acknowledgements": (RULE, "after.ack_bm.eq(0)", "after.ack_bm.eq(before.ack_bm)"),
    "counts a premature ack": (RULE, "same & before.summed & ~ack", "same & ~ack"),
    "finished one early": (RULE, "finished.eq(ack_bm ==", "finished.eq(before.agg_bm =="),
    "summed with one": (RULE, "summed.eq(request.sender == request.everyone)", "summed.eq(1)"),
    "drops the previous ack": (RULE, "PREVIOUS_ACK), self.repeat.eq(1)", "PREVIOUS_ACK)"),
    "answers a repetition early": (RULE, "eq(added & ~before.summed)", "eq(0)"),
    "answers another's ack": (RULE, "self.pending.eq(~before.finished)", "self.pending.eq(0)"),
    "drops a repetition": (RULE, "self.repeat.eq(added)", "self.repeat.eq(added & before.summed)"),
    "pending with a sum": (SUM, "is_sum = header.is_agg & ~acked", "is_sum = header.is_agg"),
    "pending looks acked": (
        SUM,
        "header.is_agg.eq(self.request.header.is_agg | rule.pending),",
        "",
    ),
    "forgets the newest change": (MEMORY, "Mux(hits[0], 1,", "Mux(0, 1,"),
    "forgets the oldest change": (MEMORY, "Mux(hits[2], 3, 0)", "0"),
    "an older change first": (
        MEMORY,
        "Mux(hits[0], 1, Mux(hits[1], 2,",
        "Mux(hits[1], 2, Mux(hits[0], 1,",
    ),
    "another's slot": (MEMORY, "(read == address) & valid", "valid"),
    "idle cycles write": (SUM, "slots.write.eq(self.valid | self.clear)", "slots.write.eq(1)"),
    "news to the sender": (SUM, "Mux(rule.complete, self.request.everyone", "Mux(0, 0"),
    "wraps": (
        SUM,
        "answer.payload[k].eq(Mux(is_sum, value",
        "answer.payload[k].eq(Mux(is_sum, state.agg[k][: params.value_bits]",
    ),
    "hides what was clamped": (SUM, "is_sum & overflow", "0"),
    "clamps acknowledgements": (SUM, "is_sum & overflow", "overflow"),
    "answers stale packets": (SUM, "rule.complete | rule.repeat)", "1)"),
    "does not compare": (CONTROL, "counts = other.active & (scan != index)", "counts = 0"),
    "takes the ports of another": (CONTROL, "with m.Elif(ports_taken):", "with m.Elif(0):"),
    "takes the slots of another": (CONTROL, "with m.Elif(slots_taken):", "with m.Elif(0):"),
    "active before it is cleared": (CONTROL, "m.If(clearing & last)", "m.If(clearing)"),
    "leaves the last slot": (CONTROL, "behind == end", "(behind + 1 >= end)"),
    "active while it is cleared": (CONTROL, "active.eq(0),", "active.eq(1),"),
    "waits for a gap": (CONTROL, "(turn == TURNS - 1)", "0"),
    "clears for no one": (TABLE, "job.ports.eq(control.ports)", "job.ports.eq(0)"),
    "clears too early": (TABLE, "self.clear.eq(clear)", "self.clear.eq(control.clear)"),
    "any port": (TABLE, "~job.active | ~(job.ports & sender).any()", "~job.active"),
    "one slot too many": (TABLE, "header.seq >= job.end", "header.seq > job.end"),
    "slots below": (TABLE, "(header.seq < job.base) |", "0 |"),
    "stopped jobs go on": (TABLE, "~packet.known | ~job.active |", "~packet.known |"),
    "the wrong neighbour": (TABLE, "USES - 1, 1)", "1, USES - 1)"),
    "passes the refused": (TABLE, "valid & good", "valid"),
}
SAMPLES = ["forgets the oldest change", "leaves the last slot", "clamps acknowledgements"]

PROOFS = {
    # Induction over so many cycles; one for the cover that is reached; bounded for mutants.
    AggregatorProof: (SwitchParams(ports=2, slots=2, jobs=1, lanes=1, value_bits=4), 4, 12, 10),
    JobTableProof: (SwitchParams(ports=2, slots=2, jobs=2, lanes=1, value_bits=4), 12, 20, 18),
}
kinds = pytest.mark.parametrize("kind", PROOFS, ids=lambda kind: kind.__name__)


@kinds
def test_holds_for_all_time(kind):
    params, depth, _, _ = PROOFS[kind]
    proof = prove(kind(params), mode="prove", depth=depth)
    assert proof.holds, (proof.failed, proof.log)


@kinds
def test_what_is_proven_can_happen(kind):
    params, _, depth, _ = PROOFS[kind]
    proof = prove(kind(params), mode="cover", depth=depth)
    assert proof.holds, (proof.failed, proof.log)


@pytest.mark.parametrize("name", chosen(MUTANTS, SAMPLES))
def test_broken_rtl_is_found(name, monkeypatch):
    found, old, new = MUTANTS[name]
    mutant = broken(f"hdl.p4sgd.switch.{found}", old, new)
    used = USED_AS[found]
    monkeypatch.setattr(used, getattr(mutant, used.rpartition(".")[2]))
    kind = JobTableProof if found in (TABLE, CONTROL) else AggregatorProof
    params, _, _, depth = PROOFS[kind]
    proof = prove(kind(params), mode="bmc", depth=depth)
    is_found(name, proof)
