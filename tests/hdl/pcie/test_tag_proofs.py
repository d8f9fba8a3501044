"""Proves the rules of tags and of ends of reads at a small size, for all time; finds broken RTL."""

import pytest

from hdl.pcie.params import ReadRequesterParams
from tests.formal.sby import prove
from tests.hdl.pcie.end_proof import EndProof
from tests.hdl.pcie.tag_proof import TagProof
from tests.long import short_and_long
from tests.mutants import every_claim_has_one, find, mutants_of

PARAMS = ReadRequesterParams(data_bits=256, tags=4, max_read=128, user_bits=1)
INDUCTION = 2  #: cycles
REACHED = 16  #: cycles within which everything has happened


MUTANTS = mutants_of(
    [TagProof, EndProof],
    """
    @hdl.pcie.tag_table; TagProof; TagTable
    frees what is owed; idle.eq(Array(away & ~self.taken)[at]) => idle.eq(Array(away)[at]);
        nothing_is_owed_for_it
    frees what is owed as it leaves;
        straight.eq(leaving.valid & ~owed) => straight.eq(leaving.valid); nothing_is_owed_for_it
    shows as free what is owed; idle.eq(Array(away & ~self.taken)[at]) => idle.eq(Array(away)[at]);
        nothing_comes_for_what_is_freed
    rests no time; (end & ~rests) => end; nothing_may_come_late
    rests up to a tick; over = Mux(self.tick, rested, 0) => over = Mux(self.tick, resting, 0);
        nothing_may_come_late
    frees what is to be read; Array(away & ~self.taken)[at] => Array(~self.taken)[at];
        its_data_has_been_read
    frees twice; & ~shown => ; free_once
    @hdl.pcie.read_sender; TagProof; ReadSender
    enters nothing; self.order.valid.eq(goes) => self.order.valid.eq(0); entered_as_provided
    @hdl.pcie.completion_judge; EndProof; CompletionJudge
    knows what nobody has asked for; & Array(self.expects)[tag] => ; ends_what_is_under_way
    expects more behind the last; last = goes & known & result.completed => last = Const(0, 1);
        ends_it_once
    """,
)
SAMPLES = ["rests up to a tick", "knows what nobody has asked for"]


@pytest.mark.parametrize(("mode", "depth"), [("prove", INDUCTION), ("cover", REACHED)])
@pytest.mark.parametrize("kind", [TagProof, EndProof])
def test_for_all_time(kind, mode, depth):
    proof = prove(kind(PARAMS), mode=mode, depth=depth)
    assert proof.holds, (proof.failed, proof.log)


def test_every_claim_finds_broken_rtl():
    every_claim_has_one(MUTANTS, [TagProof(PARAMS), EndProof(PARAMS)])


@pytest.mark.parametrize("name", short_and_long(MUTANTS, SAMPLES))
def test_broken_rtl_is_detected(name, monkeypatch):
    find(MUTANTS[name], PARAMS, monkeypatch)
