"""Ends of reads, proven at a small size for all time; broken RTL is found."""

import pytest

from hdl.pcie.params import ReadRequesterParams
from tests.formal.sby import prove
from tests.hdl.pcie.end_proof import EndProof
from tests.long import short_and_long
from tests.mutants import Mutant, every_claim_has_one, find

PARAMS = ReadRequesterParams(data_bits=256, tags=4, max_read=128, user_bits=1)
INDUCTION = 2  #: cycles
REACHED = 16  #: cycles within which everything has happened


def judge(old, new, claim):
    """A broken CompletionJudge."""
    places = ("tests.hdl.pcie.end_proof.CompletionJudge",)
    return Mutant("hdl.pcie.completion_judge", old, new, places, EndProof, claim)


MUTANTS = {
    "knows what nobody has asked for": judge(
        "                & Array(self.expects)[tag]\n", "", "ends_what_is_under_way"
    ),
    "expects more behind the last": judge(
        "last = goes & known & found.completed",
        "last = Const(0, 1)",
        "ends_it_once",
    ),
}
SAMPLES = ["knows what nobody has asked for"]


@pytest.mark.parametrize(("mode", "depth"), [("prove", INDUCTION), ("cover", REACHED)])
def test_ends_for_all_time(mode, depth):
    proof = prove(EndProof(PARAMS), mode=mode, depth=depth)
    assert proof.holds, (proof.failed, proof.log)


def test_every_claim_finds_broken_rtl():
    every_claim_has_one(MUTANTS, [EndProof(PARAMS)])


@pytest.mark.parametrize("name", short_and_long(MUTANTS, SAMPLES))
def test_broken_rtl_is_found(name, monkeypatch):
    find(MUTANTS[name], PARAMS, monkeypatch)
