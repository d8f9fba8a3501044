"""Proves from RTL of two slots, ports and jobs that tenants are apart; broken RTL is found."""

import pytest

from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from tests.formal.sby import hold
from tests.hdl.p4sgd.switch.tenant_table_proof import TenantTableProof
from tests.mutants import mutants_are_detected, mutants_of

PARAMS = TenantSwitchParams(ports=2, slots=2, jobs=2, lanes=1, value_bits=4)


MUTANTS = mutants_of(
    [TenantTableProof],
    """
    @hdl.switch.tenant_judge; TenantTableProof; hdl.switch.tenant_control.TenantJudge
    looks at no other; counts & slots) => 0); slots_apart; 44
    takes no ports; (command.ports == 0) => 0; job_has_ports_and_slots
    takes a child for a parent; (command.ports & parent).any() => 0; parent_is_no_child
    takes slots that are none; end > self.params.slots => end > self.params.slots + 1; slots_exist
    takes the epoch once more; command.epoch <= self.closed => command.epoch < self.closed;
        no_grant_is_over; 24
    takes an epoch back; (registers & below) => 0; what_is_over_stays_over; 22
    grants who has it; (registers | (acquires & ~self.repeated)) & entry.active => 0;
        a_grant_keeps_its_number; 40
    @hdl.switch.tenant_control; TenantTableProof; hdl.switch.job_table.TenantControl; 40
    forgets what is over; tenant.registered & (command.epoch > judge.closed) => 0;
        a_grant_that_ends_is_over
    @hdl.switch.slot_clearing; TenantTableProof; hdl.switch.tenant_control.clear_slots; 28
    leaves the last slot; (behind == end) => (behind + 1 >= end); requests_as_promised
    waits for a gap; (turn == TURNS - 1) => 0; cleared_in_time; 32
    @hdl.switch.job_table; TenantTableProof; tests.hdl.p4sgd.switch.job_table_proof.JobTable
    takes who was given up; with m.Elif(~job.active): => with m.Elif(0):; slot_of_the_job; 16
    passes the refused; judging & good => judging; nothing_twice
    says nothing; Mux(judging, verdict, nothing) => nothing; valid_or_refused
    """,
)


def test_holds_for_all_time():
    hold(TenantTableProof(PARAMS), mode="prove", depth=13)


@pytest.mark.long
def test_what_is_proven_can_happen():
    hold(TenantTableProof(PARAMS), mode="cover", depth=48)


test_every_claim_finds_broken_rtl, test_broken_rtl_is_detected = mutants_are_detected(
    MUTANTS, [TenantTableProof(PARAMS)], ["takes an epoch back"]
)
