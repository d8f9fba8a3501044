"""Tries every mutant of the sample with a test that never fills it."""

from collections import Counter

import pytest

from sim.harness.verilator import Simulation
from sim.mutation.mutants import emission_with_sources, mutate
from sim.mutation.trial import TrialError, builder, try_mutants
from tests.sim.mutation.sample import Tally, TallyParams

TEST = Simulation(component=Tally, params=TallyParams(), test_module="tests.sim.mutation.weak_test")


@pytest.fixture(scope="module")
def built():
    emission, mutants, _ = mutate(emission_with_sources(Tally(TallyParams())), "tally_4", 40, 1)
    return builder(emission, TEST), mutants


def test_finds_what_the_test_can_see(built):
    build, mutants = built
    numbers = [mutant.number for mutant in mutants]
    verdicts = try_mutants(build, TEST, numbers, 1, 10)
    assert verdicts.keys() == {0, *numbers}
    assert verdicts[0].outcome == "passed"
    for mutant in mutants:
        if mutant.mode == "inv" and mutant.kind == "$dff" and mutant.port == "D":
            assert verdicts[mutant.number].outcome == "failed", mutant.text
            assert verdicts[mutant.number].message.startswith(("counts: ", "is_reset: "))
    outcomes = Counter(verdict.outcome for verdict in verdicts.values())
    assert outcomes["passed"] > 1  # the test is weak
    # One after the other or alone, a mutant has one fate.
    last = numbers[-1]
    assert try_mutants(build, TEST, [last], 1, 10)[last].outcome == verdicts[last].outcome


def test_a_design_that_fails_without_mutants_is_no_use(built):
    build, _ = built
    wrong = Simulation(
        component=Tally, params=TallyParams(), test_module="tests.sim.mutation.failing_test"
    )
    with pytest.raises(TrialError, match="no mutant in force fails never: AssertionError"):
        try_mutants(build, wrong, [1], 1, 10)


def test_hung_and_dead_mutants_are_detected(built):
    build, _ = built
    strange = Simulation(
        component=Tally, params=TallyParams(), test_module="tests.sim.mutation.strange_test"
    )
    verdicts = try_mutants(build, strange, [1, 2, 3], 1, 5)
    assert [verdicts[number].outcome for number in range(4)] == [
        "passed",
        "hung",
        "crashed",
        "passed",
    ]
    assert [verdicts[number].result for number in range(4)] == [False, True, True, False]


def test_too_slow_for_the_time_allowed(built):
    build, _ = built
    slow = Simulation(
        component=Tally, params=TallyParams(), test_module="tests.sim.mutation.slow_test"
    )
    with pytest.raises(TrialError, match="took too long"):
        try_mutants(build, slow, [1], 1, 0.2)
