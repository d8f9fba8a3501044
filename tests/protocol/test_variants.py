"""Shows that each clause of the specification is needed: without it, the search finds a fault."""

import pytest

from sim.p4sgd.golden.allreduce import Verdict
from tests.protocol.explore import STUCK, explore
from tests.protocol.model import (
    FAULTS,
    FREED_EARLY,
    PARTIAL_AS_FULL,
    REPEATED_SUM,
    WRONG_SUM,
    Model,
)
from tests.protocol.ordered import Ordered
from tests.protocol.unordered import Lifetime, Unordered
from tests.protocol.variants import HARMLESS, PAPER, UNSOUND

EXPECTED = {  # within the bound, with w = 2, where w = 1 does not say more
    "new use without waiting": FREED_EARLY,
    "partial added again": PARTIAL_AS_FULL,
    "answer before all are in": PARTIAL_AS_FULL,
    "repetition answered before all are in": PARTIAL_AS_FULL,
    "repeated partial not answered": STUCK,
    "repeated partial pending for ever": STUCK,
    "repeated acknowledgement pending for ever": STUCK,
    "pending taken for a sum": WRONG_SUM,
    "pending taken for a confirmation": FREED_EARLY,
    "acked before all have acknowledged": FREED_EARLY,
    "repetition acked before all have acknowledged": FREED_EARLY,
    "repeated acknowledgement not answered": STUCK,
    "acknowledgement of the use before dropped": STUCK,
    "acknowledgement of the use before counted": FREED_EARLY,
    "stale partial begins a use": FREED_EARLY,
    "stale acknowledgement counted": FREED_EARLY,
    "sum cleared when sent": PARTIAL_AS_FULL,
    "sum cleared when all have acknowledged": PARTIAL_AS_FULL,
    "sum of the use before kept": PARTIAL_AS_FULL,
    "contributors of the use before kept": PARTIAL_AS_FULL,
    "acknowledgements of the use before kept": FREED_EARLY,
    "start at use 0": PARTIAL_AS_FULL,
    "start without acknowledgements": STUCK,
    "full activation in any phase": REPEATED_SUM,
    "full activation of any use": WRONG_SUM,
    "confirmation of any use": FREED_EARLY,
}


def bounded(rules, width=2, watched=FAULTS):
    model = Model(worker_count=2, width=width, rules=rules, watched=watched)
    return Unordered(model, Lifetime.BOUNDED)


@pytest.mark.parametrize("name", UNSOUND)
def test_unsound_variants_are_found(name):
    found = explore(bounded(UNSOUND[name]))
    print(f"{name}: {found}")
    assert found.fault == EXPECTED[name]
    assert found.trace


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_variants_are_sound(name, width):
    found = explore(bounded(HARMLESS[name], width))
    print(f"{name}, w = {width}: {found}")
    assert found.fault == "", str(found)


@pytest.mark.parametrize("capacity", [1, 2])
def test_the_papers_rule_sums_wrongly_on_links_that_keep_order(capacity):
    """It takes 24 steps, if a packet's first sending and its cause are one step."""
    model = Model(worker_count=2, width=0, total=4, rules=PAPER, watched=frozenset({WRONG_SUM}))
    found = explore(Ordered(model, capacity))
    print(f"the paper's rule: {found}")
    assert found.fault == WRONG_SUM
    sendings = [step for step in found.trace if " sends " in step]
    assert len(found.trace) == 32
    assert len(found.trace) - len(set(sendings)) == 24


def test_the_papers_rule_frees_early_on_links_that_keep_order():
    model = Model(worker_count=2, width=0, total=4, rules=PAPER)
    assert explore(Ordered(model, 1)).fault == FREED_EARLY


@pytest.mark.parametrize("width", [1, 2])
def test_a_new_use_without_waiting_ends_in_a_wrong_sum(width):
    rules = UNSOUND["new use without waiting"]
    found = explore(bounded(rules, width, frozenset({WRONG_SUM})))
    print(f"new use without waiting, w = {width}: {found}")
    assert found.fault == WRONG_SUM


@pytest.mark.parametrize("capacity", [1, 2])
def test_dropping_the_acknowledgement_of_the_use_before_deadlocks_in_order_as_well(capacity):
    rules = UNSOUND["acknowledgement of the use before dropped"]
    found = explore(Ordered(Model(worker_count=2, rules=rules), capacity))
    print(f"acknowledgement of the use before dropped, ordered: {found}")
    assert found.fault == STUCK


@pytest.mark.parametrize("width", [1, 2])
def test_nobody_accepts_a_sum_cleared_after_the_acknowledgements(width):
    rules = UNSOUND["sum cleared when all have acknowledged"]
    assert explore(bounded(rules, width, FAULTS - {PARTIAL_AS_FULL})).fault == ""


def test_premature_acknowledgements_come_only_past_the_bound():
    model = Model(worker_count=2, width=1, total=3, watched=frozenset())
    explore(Unordered(model, Lifetime.BOUNDED, distance=2))
    assert Verdict.PREMATURE_ACK in model.verdicts
