"""Proves from RTL of two of everything that a job finds no difference whatever others send."""

import pytest

from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from tests.formal.sby import hold
from tests.hdl.p4sgd.switch.isolation_proof import IsolationProof
from tests.hdl.p4sgd.switch.slots_proof import SlotsProof
from tests.hdl.p4sgd.switch.tenant_table_proof import TenantTableProof
from tests.hdl.p4sgd.switch.waiting_proof import WaitingProof
from tests.long import short_and_long
from tests.mutants import mutants_are_detected, mutants_of

PARAMS = TenantSwitchParams(ports=2, slots=2, jobs=2, lanes=1, value_bits=4)


MUTANTS = mutants_of(
    [IsolationProof, SlotsProof, WaitingProof],
    r"""
    @hdl.switch.job_table; IsolationProof; tests.hdl.p4sgd.switch.job_table_proof.JobTable; 28
    no grant asked; m.Elif(~job.active) => m.Elif(0); requested_alike; 16
    any slot; (slot < job.base) | (slot >= job.end) => 0; requested_alike
    any epoch; header.epoch != low_bits(job.epoch, len(header.epoch)) => 0; requested_alike
    any port; | ~(ports & sender).any() => ; requested_alike
    any worker; m.Elif(~own) => m.Elif(0); requested_alike
    the corrupt; packet.quality == Quality.CORRUPT => 0; requested_alike
    drains with another; request.draining.eq(job.draining) =>
        request.draining.eq(self.packet_valid); requests_the_same
    @hdl.switch.tenant_judge; IsolationProof; hdl.switch.tenant_control.TenantJudge
    a number too large; command.job >= self.params.jobs => 0; entry_the_same
    ends any grant; command.job >= self.params.jobs => 0; grant_ends_alike; 32
    @hdl.switch.tenant_control; IsolationProof; hdl.switch.job_table.TenantControl; 28
    grants what it likes; tenant.epoch.eq(command.epoch),\n                ] =>
        tenant.epoch.eq(self.progress.job),\n                ]; grant_the_same
    @hdl.switch.update_memory; SlotsProof; hdl.p4sgd.switch.aggregator.UpdateMemory
    keeps another's change; (read == address) & valid => valid; slot_the_same
    judges by another's; (read == address) & valid => valid; verdict_the_same
    answers for another; (read == address) & valid => valid; answered_alike
    answers with another's; (read == address) & valid => valid; answer_the_same
    ends for another; (read == address) & valid => valid; progress_the_same
    @hdl.common.round_robin; WaitingProof; RoundRobin
    the lowest port first; first_of(ahead, self.requesting) => lowest(self.requesting);
        a_port_waits_for_the_others_once
    @hdl.switch.tenant_control; WaitingProof; hdl.switch.job_table.TenantControl; 14
    looks twice; m.If(step == params.jobs + judge.latency - 1) =>
        m.If(step == params.jobs + judge.latency); decided_in_time
    """,
)

SAMPLES = ["a number too large", "keeps another's change", "the lowest port first"]

PROOFS = {
    # Induction over so many cycles, and so many for what is to be reached.
    IsolationProof: (11, 48),
    SlotsProof: (7, 12),
    WaitingProof: (10, 28),
}
kinds = pytest.mark.parametrize("kind", short_and_long(PROOFS, [SlotsProof, WaitingProof]))


@kinds
def test_holds_for_all_time(kind):
    hold(kind(PARAMS), mode="prove", depth=PROOFS[kind][0])


@kinds
def test_what_is_proven_can_happen(kind):
    hold(kind(PARAMS), mode="cover", depth=PROOFS[kind][1])


# Claims of each copy by itself are tested with the proof of the table.
test_every_claim_finds_broken_rtl, test_broken_rtl_is_detected = mutants_are_detected(
    MUTANTS, [kind(PARAMS) for kind in PROOFS], SAMPLES, but=[TenantTableProof(PARAMS)]
)
