"""Shows that each clause of MINA's agreement is needed: without it something goes wrong."""

from dataclasses import replace

import pytest

from tests.protocol.explore import STUCK, explore
from tests.protocol.mina import systems
from tests.protocol.mina.cluster_setup import LEFT_BEHIND, UNGRANTED, WRONG_SUM
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
from tests.protocol.mina.nodes import BOTH, DIFFER
from tests.protocol.mina.variants import (
    HARMLESS_JOBS,
    PAPER,
    PAPER_RESTARTS,
    UNSAFE,
    UNSAFE_JOBS,
    UNSAFE_RESTARTS,
)

SMALL_RESTART = replace(systems.RESTART, operations=1)

#: The system, what goes wrong first, after how many steps.
EXPECTED = {
    "no index check": (systems.ROUNDS, DIFFER, 9),
    "a host unlocks by its own timer": (systems.ROUNDS, DIFFER, 10),
    "rounds without numbers": (systems.ROUNDS, DIFFER, 12),
    "the next round before all are done": (systems.ROUNDS, DIFFER, 12),
    "the next round when one is done": (systems.ROUNDS, DIFFER, 12),
    "decided before all have acknowledged": (systems.ROUNDS, DIFFER, 7),
    "a locked host starts": (systems.ROUNDS, DIFFER, 9),
    "an old UPDATE is taken": (systems.ROUNDS, DIFFER, 20),
    "an old ABORT unlocks": (systems.ROUNDS, DIFFER, 12),
    "DONE is not repeated": (systems.ROUNDS, STUCK, 7),
    "ABORT is not repeated": (systems.ROUNDS, STUCK, 5),
    "a controller that forgets that it restarted": (systems.RESTART, DIFFER, 12),
    "the first round may be given up": (systems.RESTART, DIFFER, 14),
    "the first round leaves different grants": (systems.RESTART, DIFFER, 17),
    "the first round tells the oldest grant": (systems.RESTART, DIFFER, 17),
    "round numbers are lost": (systems.RESTART, DIFFER, 15),
    "rounds before the restart are aborted": (systems.RESTART, DIFFER, 12),
    "a lock is not taken over": (SMALL_RESTART, STUCK, 3),
    "each uses what it believes to be free": (systems.SHARED, BOTH, 2),
    "the owner changes with an operation under way": (systems.SHARED, BOTH, 19),
    "a host ends an operation by itself": (systems.LOST_PAIR, LEFT_BEHIND, 6),
    "a host repeats an operation by itself": (systems.LOST_PAIR, STUCK, 10),
    "only hosts that lack sums repeat": (systems.LOST_PAIR, LEFT_BEHIND, 13),
    "hosts are not told what is over": (systems.LOST, STUCK, 4),
    "INA beyond the end of the grant": (systems.LOST, STUCK, 8),
    "an operation that lacks sums is not withdrawn": (systems.LOST_PAIR, LEFT_BEHIND, 13),
    "what is stalled is not withdrawn": (systems.LOST, STUCK, 1),
    "told when one switch is granted": (systems.TREE, UNGRANTED, 9),
    "answers of any number": (systems.AGAIN, UNGRANTED, 30),
    "over without the switch's word": (systems.WITHDRAWN, STUCK, 9),
    "going on when one switch is back": (systems.TREE, STUCK, 24),
    "given back under way": (systems.WITHDRAWN, UNGRANTED, 8),
    "an old release ends a grant": (systems.AGAIN, UNGRANTED, 32),
    "a repeated grant clears slots": (systems.AGAIN, STUCK, 12),
    "slots are not cleared": (systems.AGAIN, WRONG_SUM, 33),
    "packets without a grant": (systems.IN_TURN, STUCK, 30),
    "packets of another grant": (systems.AGAIN, WRONG_SUM, 34),
    "a host takes packets of another grant": (systems.AGAIN, WRONG_SUM, 32),
    "an old number is granted": (systems.TREE, STUCK, 25),
    "a restarted controller takes all to be free": (systems.RESTARTED, STUCK, 1),
    "a part is confirmed before its operation": (systems.SHARES, STUCK, 8),
    "a part is not confirmed after its operation": (systems.SHARES, STUCK, 6),
    "hosts of a job that is over are not answered": (systems.DEATH, STUCK, 2),
}
RULES = (
    UNSAFE
    | UNSAFE_RESTARTS
    | UNSAFE_JOBS
    | UNSAFE_LOST
    | UNSAFE_SWITCHES
    | UNSAFE_SHARES
    | UNSAFE_DEATHS
)


def check(name, system, fault, steps):
    found = explore(system)
    print(f"{name}: {found}")
    assert (found.fault, len(found.trace)) == (fault, steps), str(found)


@pytest.mark.parametrize("name", RULES)
def test_each_clause_is_needed(name):
    instance, fault, steps = EXPECTED[name]
    check(name, instance.system(RULES[name]), fault, steps)


#: Traces of the design note, whose controller answers no ACK of a round that it has given up.
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
    found = explore(systems.SHARED.system(HARMLESS_JOBS[name]))
    print(f"{name}: {found}")
    assert found.fault == "", str(found)


def test_jobs_that_wait_with_switches_may_wait_for_ever():
    rules = Rules(hold=waits_holding)
    check("own order", Migration(doubles=False, rules=rules, ascending=False).system(), STUCK, 15)
    check("keeps", Migration(jobs=2, rules=rules, keeps=True).system(), STUCK, 1)
    ascending = explore(Migration(doubles=False, rules=rules).system())
    assert ascending.fault == "", "but not if all wait in the same order"


def test_a_switch_that_is_granted_to_all_has_two_owners():
    check("to all", Migration(rules=Rules(command=grants_all)).system(), TWO_OWNERS, 5)


def test_a_switch_that_takes_two_jobs_counts_them_and_keeps_their_slots_apart():
    to_all = Migration(most=2, slots=3, rules=Rules(command=grants_all))
    check("to all", to_all.system(), TWO_OWNERS, 10)
    any_slot = Migration(most=2, slots=2, rules=Rules(command=slots_of_others))
    check("any slot", any_slot.system(), SHARED_SLOT, 5)
