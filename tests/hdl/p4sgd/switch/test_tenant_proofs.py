"""Proves from RTL of two slots, ports and jobs that tenants are apart; broken RTL is found."""

import pytest

from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from tests.formal.sby import hold
from tests.hdl.p4sgd.switch.tenant_table_proof import TenantTableProof
from tests.mutants import Mutant, mutants_are_found

PARAMS = TenantSwitchParams(ports=2, slots=2, jobs=2, lanes=1, value_bits=4)
PARTS = "hdl.switch"


def broken(module, place, old, new, claim, **options):
    return Mutant(f"{PARTS}.{module}", old, new, (place,), TenantTableProof, claim, **options)


def control(old, new, claim, **options):
    return broken("tenant_control", f"{PARTS}.job_table.TenantControl", old, new, claim, **options)


def judge(old, new, claim, **options):
    place = f"{PARTS}.tenant_control.TenantJudge"
    return broken("tenant_judge", place, old, new, claim, **options)


def clearing(old, new, claim, **options):
    place = f"{PARTS}.tenant_control.clear_slots"
    return broken("slot_clearing", place, old, new, claim, **options)


def table(old, new, claim, **options):
    place = "tests.hdl.p4sgd.switch.job_table_proof.JobTable"
    return broken("job_table", place, old, new, claim, **options)


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


test_every_claim_finds_broken_rtl, test_broken_rtl_is_found = mutants_are_found(
    MUTANTS, [TenantTableProof(PARAMS)], ["takes an epoch back"]
)
