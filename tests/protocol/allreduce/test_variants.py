"""Shows that each clause of the specification is needed: without it, the search finds a fault."""

import pytest

from sim.golden.reduction.allreduce import Verdict
from tests.protocol.allreduce.network import flat
from tests.protocol.allreduce.nodes import FAULTS, FREED_EARLY, PARTIAL_AS_FULL, WRONG_SUM
from tests.protocol.allreduce.variants import HARMLESS, PAPER, UNSOUND
from tests.protocol.explore import STUCK, check, explore


@pytest.mark.parametrize("name", UNSOUND)
def test_unsound_variants_are_detected(name):
    variant = UNSOUND[name]
    check(name, flat(width=2, rules=variant.rules).system(), variant.fault)


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_variants_are_sound(name, width):
    check(f"{name}, w = {width}", flat(width=width, rules=HARMLESS[name].rules).system())


@pytest.mark.parametrize("capacity", [1, 2])
def test_the_papers_rule_sums_wrongly_on_links_that_keep_order(capacity):
    """It takes 24 steps, if a packet's first sending and its cause are one step."""
    tree = flat(width=0, total=4, rules=PAPER, watched=frozenset({WRONG_SUM}))
    result = check("the paper's rule", tree.on_links(capacity), WRONG_SUM, 32)
    sendings = [step for step in result.trace if " sends " in step]
    assert len(result.trace) - len(set(sendings)) == 24


def test_the_papers_rule_frees_early_on_links_that_keep_order():
    tree = flat(width=0, total=4, rules=PAPER)
    check("the paper's rule", tree.on_links(1), FREED_EARLY)


@pytest.mark.parametrize("width", [1, 2])
def test_a_new_use_without_waiting_ends_in_a_wrong_sum(width):
    rules = UNSOUND["new use without waiting"].rules
    tree = flat(width=width, rules=rules, watched=frozenset({WRONG_SUM}))
    check(f"new use without waiting, w = {width}", tree.system(), WRONG_SUM)


@pytest.mark.parametrize("capacity", [1, 2])
def test_dropping_the_acknowledgement_of_the_use_before_deadlocks_in_order_as_well(capacity):
    name = "acknowledgement of the use before dropped"
    check(f"{name}, ordered", flat(rules=UNSOUND[name].rules).on_links(capacity), STUCK)


@pytest.mark.parametrize("width", [1, 2])
def test_nobody_accepts_a_sum_cleared_after_the_acknowledgements(width):
    name = "sum cleared when all have acknowledged"
    tree = flat(width=width, rules=UNSOUND[name].rules, watched=FAULTS - {PARTIAL_AS_FULL})
    check(name, tree.system())


def test_premature_acknowledgements_come_only_past_the_bound():
    system = flat(total=3, watched=frozenset(), distance=2).system()
    explore(system)
    assert Verdict.PREMATURE_ACK in system.verdicts(system.job.plan.switches)
