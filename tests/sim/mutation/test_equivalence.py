from dataclasses import replace

import pytest
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import looked_up
from hdl.common.component import Component
from sim.mutation.equivalence import changes_nothing
from sim.mutation.mutants import emission_with_sources, mutate
from tests.sim.mutation.sample import Pair, Tally, TallyParams


@pytest.fixture(scope="module")
def tally():
    _, mutants, rtlil = mutate(emission_with_sources(Tally(TallyParams())), "tally_4", 400, 1, 0)
    return mutants, rtlil


def proofs(mutants, rtlil, required):
    chosen = [mutant for mutant in mutants if required(mutant)]
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


class Table(Component):
    """Has one bit set for seven of eight places."""

    def __init__(self, params):
        super().__init__(params, place=In(3), result=Out(1))

    def build(self, m):
        m.d.comb += self.result.eq(looked_up(lambda place: place != 5, self.place))


@pytest.mark.parametrize(
    ("mode", "equal"),
    [("const0", [5]), ("const1", [0, 1, 2, 3, 4])],
    ids=["without the case of a 0", "with a case besides those of the same value behind it"],
)
def test_cases_of_a_full_table_that_change_nothing(mode, equal):
    _, mutants, rtlil = mutate(emission_with_sources(Table(TallyParams())), "table_4", 400, 1)
    cases = [m for m in mutants if m.kind == "$pmux" and m.port == "S" and m.mode == mode]
    assert len(cases) == 8
    result = [7 - item.bit for item in cases if changes_nothing(rtlil, item) == "combinational"]
    assert sorted(result) == equal
