from dataclasses import replace

import pytest

from sim.mutation.equivalence import changes_nothing
from sim.mutation.mutants import emission_with_sources, mutate
from tests.sim.mutation.sample import Pair, Tally, TallyParams


@pytest.fixture(scope="module")
def tally():
    _, mutants, rtlil = mutate(emission_with_sources(Tally(TallyParams())), "tally_4", 400, 1, 0)
    return mutants, rtlil


def proofs(mutants, rtlil, wanted):
    chosen = [mutant for mutant in mutants if wanted(mutant)]
    assert chosen
    return {changes_nothing(rtlil, mutant) for mutant in chosen}


def test_a_carry_that_nobody_reads_changes_nothing(tally):
    carry = proofs(*tally, lambda m: m.kind == "$add" and m.port == "Y" and m.bit == 4)
    assert carry == {"combinational"}


def test_a_register_that_is_never_set_changes_nothing(tally):
    stuck = proofs(*tally, lambda m: m.wire == "never[0]" and m.port == "D" and m.mode == "const0")
    assert stuck == {"induction"}
    set_ = proofs(*tally, lambda m: m.wire == "never[0]" and m.port == "D" and m.mode == "const1")
    assert set_ == {""}


def test_what_counts_changes_something(tally):
    assert proofs(*tally, lambda m: m.kind == "$dff" and m.port == "D" and m.mode == "inv") == {""}


def test_children_are_the_same_in_both():
    _, mutants, rtlil = mutate(emission_with_sources(Pair(TallyParams())), "pair_4", 40, 1)
    inverted = [mutant for mutant in mutants if mutant.mode == "inv" and mutant.port == "total"]
    assert inverted
    assert not changes_nothing(rtlil, inverted[0])
    assert changes_nothing(rtlil, replace(inverted[0], number=0)) == "combinational"
