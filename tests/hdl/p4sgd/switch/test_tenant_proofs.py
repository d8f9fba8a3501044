"""Proves from RTL of two slots, ports and jobs that tenants are apart; broken RTL is found."""

import pytest

from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from tests.formal.sby import hold
from tests.hdl.p4sgd.switch.tenant_table_proof import TenantTableProof
from tests.mutants import mutants_are_detected, mutants_of

PARAMS = TenantSwitchParams(ports=2, slots=2, jobs=2, lanes=1, value_bits=4)
PARTS = "hdl.switch"

control = mutants_of(
    f"{PARTS}.tenant_control", TenantTableProof, f"{PARTS}.job_table.TenantControl"
)
judge = mutants_of(f"{PARTS}.tenant_judge", TenantTableProof, f"{PARTS}.tenant_control.TenantJudge")
clearing = mutants_of(
    f"{PARTS}.slot_clearing", TenantTableProof, f"{PARTS}.tenant_control.clear_slots"
)
table = mutants_of(
    f"{PARTS}.job_table", TenantTableProof, "tests.hdl.p4sgd.switch.job_table_proof.JobTable"
)

MUTANTS = {
    "looks at no other": judge("counts & slots)", "0)", "slots_apart", depth=44),
    "takes no ports": judge("(command.ports == 0)", "0", "job_has_ports_and_slots"),
    "takes a child for a parent": judge(
        "(command.ports & parent).any()", "0", "parent_is_no_child"
    ),
    "takes slots that are none": judge(
        "end > self.params.slots",
        "end > self.params.slots + 1",
        "slots_exist",
    ),
    "takes the epoch once more": judge(
        "command.epoch <= self.closed", "command.epoch < self.closed", "no_grant_is_over", depth=24
    ),
    "takes an epoch back": judge("(registers & below)", "0", "what_is_over_stays_over", depth=22),
    "forgets what is over": control(
        "tenant.registered & (command.epoch > judge.closed)",
        "0",
        "a_grant_that_ends_is_over",
        depth=40,
    ),
    "grants who has it": judge(
        "(registers | (acquires & ~self.repeated)) & entry.active",
        "0",
        "a_grant_keeps_its_number",
        depth=40,
    ),
    "leaves the last slot": clearing(
        "(behind == end)", "(behind + 1 >= end)", "requests_as_promised", depth=28
    ),
    "waits for a gap": clearing("(turn == TURNS - 1)", "0", "cleared_in_time", depth=32),
    "takes who was given up": table(
        "with m.Elif(~job.active):", "with m.Elif(0):", "slot_of_the_job", depth=16
    ),
    "passes the refused": table("judging & good", "judging", "nothing_twice"),
    "says nothing": table("Mux(judging, verdict, nothing)", "nothing", "valid_or_refused"),
}


def test_holds_for_all_time():
    hold(TenantTableProof(PARAMS), mode="prove", depth=13)


@pytest.mark.long
def test_what_is_proven_can_happen():
    hold(TenantTableProof(PARAMS), mode="cover", depth=48)


test_every_claim_finds_broken_rtl, test_broken_rtl_is_detected = mutants_are_detected(
    MUTANTS, [TenantTableProof(PARAMS)], ["takes an epoch back"]
)
