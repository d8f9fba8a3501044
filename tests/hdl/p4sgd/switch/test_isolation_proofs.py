"""A slot finds no difference whatever others are asked, and waiting is bounded: proven of RTL."""

import pytest

from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from tests.formal.sby import prove
from tests.hdl.p4sgd.switch.slots_proof import SlotsProof
from tests.hdl.p4sgd.switch.waiting_proof import WaitingProof
from tests.long import short_and_long
from tests.mutants import Mutant, every_claim_has_one, find

PARAMS = TenantSwitchParams(ports=2, slots=2, jobs=2, lanes=1, value_bits=4)
PARTS = "hdl.switch"


def memory(claim):
    """An UpdateMemory that takes the newest change of any slot for one of each."""
    places = ("hdl.p4sgd.switch.aggregator.UpdateMemory",)
    old, new = "(read == address) & valid", "valid"
    return Mutant(f"{PARTS}.update_memory", old, new, places, SlotsProof, claim)


def waits(module, place, old, new, claim, **options):
    """What lets a port or a command wait longer."""
    return Mutant(module, old, new, (place,), WaitingProof, claim, **options)


MUTANTS = {
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
        "first_of(ahead, self.asking)",
        "lowest(self.asking)",
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

SAMPLES = ["keeps another's change", "the lowest port first"]

PROOFS = {
    # Induction over so many cycles, and so many for what is to be reached.
    SlotsProof: (7, 12),
    WaitingProof: (10, 28),
}
kinds = pytest.mark.parametrize("kind", PROOFS, ids=lambda kind: kind.__name__)


@kinds
def test_holds_for_all_time(kind):
    proof = prove(kind(PARAMS), mode="prove", depth=PROOFS[kind][0])
    assert proof.holds, (proof.failed, proof.log)


@kinds
def test_what_is_proven_can_happen(kind):
    proof = prove(kind(PARAMS), mode="cover", depth=PROOFS[kind][1])
    assert proof.holds, (proof.failed, proof.log)


def test_every_claim_finds_broken_rtl():
    every_claim_has_one(MUTANTS, [kind(PARAMS) for kind in PROOFS])


@pytest.mark.parametrize("name", short_and_long(MUTANTS, SAMPLES))
def test_broken_rtl_is_found(name, monkeypatch):
    find(MUTANTS[name], PARAMS, monkeypatch)
