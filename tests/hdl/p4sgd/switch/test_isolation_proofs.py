"""Proves from RTL of two of everything that a job finds no difference whatever others send."""

import pytest

from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from tests.formal.sby import hold
from tests.hdl.p4sgd.switch.isolation_proof import IsolationProof
from tests.hdl.p4sgd.switch.slots_proof import SlotsProof
from tests.hdl.p4sgd.switch.tenant_table_proof import TenantTableProof
from tests.hdl.p4sgd.switch.waiting_proof import WaitingProof
from tests.long import short_and_long
from tests.mutants import Mutant, mutants_are_detected, mutants_of

PARAMS = TenantSwitchParams(ports=2, slots=2, jobs=2, lanes=1, value_bits=4)
PARTS = "hdl.switch"
ANY_SLOT = ("(slot < job.base) | (slot >= job.end)", "0")
ANY_EPOCH = ("header.epoch != low_bits(job.epoch, len(header.epoch))", "0")

table = mutants_of(
    f"{PARTS}.job_table", IsolationProof, "tests.hdl.p4sgd.switch.job_table_proof.JobTable"
)
control = mutants_of(f"{PARTS}.tenant_control", IsolationProof, f"{PARTS}.job_table.TenantControl")
judge = mutants_of(f"{PARTS}.tenant_judge", IsolationProof, f"{PARTS}.tenant_control.TenantJudge")


def memory(claim):
    """Return an UpdateMemory that takes any slot's newest change for one of each."""
    places = ("hdl.p4sgd.switch.aggregator.UpdateMemory",)
    old, new = "(read == address) & valid", "valid"
    return Mutant(f"{PARTS}.update_memory", old, new, places, SlotsProof, claim)


def waits(module, place, old, new, claim, **options):
    """Return what lets a port or a command wait longer."""
    return Mutant(module, old, new, (place,), WaitingProof, claim, **options)


MUTANTS = {
    # packets that are not rightful
    "no grant asked": table("m.Elif(~job.active)", "m.Elif(0)", "requested_alike", depth=16),
    "any slot": table(*ANY_SLOT, "requested_alike", depth=28),
    "any epoch": table(*ANY_EPOCH, "requested_alike", depth=28),
    "any port": table(" | ~(ports & sender).any()", "", "requested_alike", depth=28),
    "any worker": table("m.Elif(~own)", "m.Elif(0)", "requested_alike", depth=28),
    "the corrupt": table("packet.quality == Quality.CORRUPT", "0", "requested_alike", depth=28),
    "drains with another": table(
        "request.draining.eq(job.draining)",
        "request.draining.eq(self.packet_valid)",
        "requests_the_same",
        depth=28,
    ),
    # commands of others
    "a number too large": judge("command.job >= self.params.jobs", "0", "entry_the_same"),
    "ends any grant": judge("command.job >= self.params.jobs", "0", "grant_ends_alike", depth=32),
    "grants what it likes": control(
        "tenant.epoch.eq(command.epoch),\n                ]",
        "tenant.epoch.eq(self.progress.job),\n                ]",
        "grant_the_same",
        depth=28,
    ),
    # what other slots are asked
    "keeps another's change": memory("slot_the_same"),
    "judges by another's": memory("verdict_the_same"),
    "answers for another": memory("answered_alike"),
    "answers with another's": memory("answer_the_same"),
    "ends for another": memory("progress_the_same"),
    # waiting
    "the lowest port first": waits(
        "hdl.common.round_robin",
        "tests.hdl.p4sgd.switch.waiting_proof.RoundRobin",
        "first_of(ahead, self.requesting)",
        "lowest(self.requesting)",
        "a_port_waits_for_the_others_once",
    ),
    "looks twice": waits(
        f"{PARTS}.tenant_control",
        f"{PARTS}.job_table.TenantControl",
        "m.If(step == params.jobs + judge.latency - 1)",
        "m.If(step == params.jobs + judge.latency)",
        "decided_in_time",
        depth=14,
    ),
}

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
