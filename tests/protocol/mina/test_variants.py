"""Shows that each clause of MINA's agreement is needed: without it something goes wrong."""

import pytest

from tests.protocol.explore import STUCK, check
from tests.protocol.mina import systems
from tests.protocol.mina.cluster_variants import (
    UNSAFE_DEATHS,
    UNSAFE_LOST,
    UNSAFE_SHARES,
    UNSAFE_SWITCHES,
    grants_all,
    slots_of_others,
    waits_holding,
)
from tests.protocol.mina.migration import SHARED_SLOT, TWO_OWNERS, Migration, Rules
from tests.protocol.mina.nodes import DIFFER
from tests.protocol.mina.variants import (
    HARMLESS_JOBS,
    PAPER,
    PAPER_RESTARTS,
    UNSAFE,
    UNSAFE_JOBS,
    UNSAFE_RESTARTS,
)
from tests.protocol.variants import parametrized

GROUPS = [
    (systems.ROUNDS, UNSAFE),
    (systems.RESTART, UNSAFE_RESTARTS),
    (systems.SHARED, UNSAFE_JOBS),
    (None, UNSAFE_LOST),
    (None, UNSAFE_SWITCHES),
    (systems.SHARES, UNSAFE_SHARES),
    (systems.DEATH, UNSAFE_DEATHS),
]


@pytest.mark.parametrize(("name", "instance", "variant"), parametrized(*GROUPS))
def test_each_clause_is_needed(name, instance, variant):
    check(name, instance.system(variant.rules), variant.fault, variant.steps)


#: Traces with a controller that answers no ACK of a round that it has given up.
@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("no index check", 9),
        ("a host unlocks by its own timer", 10),
        ("rounds without numbers", 12),
        ("the next round before all are done", 13),
    ],
)
def test_unsafe_rounds_of_the_page(name, steps):
    check(name, systems.ROUNDS.system(PAPER[name]), DIFFER, steps)


@pytest.mark.parametrize("name", PAPER_RESTARTS)
def test_unsafe_restarts_of_the_page(name):
    check(name, systems.RESTART.system(PAPER_RESTARTS[name]), DIFFER, 14)


@pytest.mark.long
@pytest.mark.parametrize("name", HARMLESS_JOBS)
def test_a_round_with_all_hosts_may_end_a_grant_early(name):
    check(name, systems.SHARED.system(HARMLESS_JOBS[name].rules))


def test_jobs_that_wait_with_switches_may_wait_for_ever():
    rules = Rules(hold=waits_holding)
    check("own order", Migration(doubles=False, rules=rules, ascending=False).system(), STUCK, 15)
    check("keeps", Migration(jobs=2, rules=rules, keeps=True).system(), STUCK, 1)
    check("but not in the same order", Migration(doubles=False, rules=rules).system())


def test_a_switch_that_is_granted_to_all_has_two_owners():
    check("to all", Migration(rules=Rules(command=grants_all)).system(), TWO_OWNERS, 5)


def test_a_switch_that_takes_two_jobs_counts_them_and_keeps_their_slots_apart():
    to_all = Migration(most=2, slots=3, rules=Rules(command=grants_all))
    check("to all", to_all.system(), TWO_OWNERS, 10)
    any_slot = Migration(most=2, slots=2, rules=Rules(command=slots_of_others))
    check("any slot", any_slot.system(), SHARED_SLOT, 5)
