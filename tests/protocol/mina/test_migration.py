"""Moves three jobs on three switches again and again: none gets stuck, and with ageing none
starves.
"""

import pytest

from sim.mina.agreement import migration_rule as migrating
from tests.protocol.mina.turns import Graph, Turns
from tests.protocol.variants import edited

JOBS = range(3)


def first_of(graph: Graph, result: list[int]) -> tuple[str, ...]:
    """Return a shortest way to what was found, and print it."""
    path = graph.path(min(result))
    print(*path, sep="\n")
    return path


@pytest.mark.parametrize("ageing", [0, 1, 2])
def test_every_job_can_get_its_tree_from_every_state(ageing):
    graph = Graph(Turns(ageing=ageing))
    print(f"ageing {ageing}: {len(graph.states)} states, {len(graph.moves)} moves")
    assert [graph.stuck(job) for job in JOBS] == [[], [], []]


def test_nor_is_one_stuck_that_moves_on_at_any_time():
    graph = Graph(Turns(ageing=1, waves=True))
    print(f"waves: {len(graph.states)} states, {len(graph.moves)} moves")
    assert [graph.stuck(job) for job in JOBS] == [[], [], []]


@pytest.mark.parametrize("ageing", [1, 2])
def test_with_ageing_everyones_turn_comes(ageing):
    graph = Graph(Turns(ageing=ageing))
    assert [graph.starved(job) for job in JOBS] == [[], [], []]


@pytest.mark.parametrize("job", JOBS)
def test_without_ageing_a_job_may_starve(job):
    graph = Graph(Turns())
    result = graph.starved(job)
    tries = [text for source, _, _, text in graph.moves if source in set(result)]
    assert any(f"job {job} asks" in text and "REFUSED" in text for text in tries)


#: A job that is refused a switch keeps those that it has, and asks again.
waits_with_what_it_has = edited(
    migrating.migration_rule,
    r"""after = holding.hold_rule => refused = answer.verb.name == "REFUSED"
    \n    if refused and before.step is Step.ACQUIRING:
    \n        return migration\n    after = holding.hold_rule""",
)
#: A job that has got its tree keeps others back all the same.
stays_old = edited(
    migrating.migration_rule,
    "old = [item for item in migration.old if item != job] => old = list(migration.old)",
)
#: Jobs that have aged have no right before others, or the one that became old last goes first.
nobody_is_kept_back, youngest_first = (
    edited(migrating.may_try, f"old = migration.old => old = migration.old[{part}]")
    for part in (":0", "::-1")
)


def own_order(tree: tuple[int, ...], job: int) -> tuple[int, ...]:
    """A job tries first the switch whose number follows its own."""
    return tuple(sorted(tree, key=lambda switch: (switch - job) % 3))


STUCK = {
    "waits with what it has, in its own order": (
        Turns(rule=waits_with_what_it_has, order=own_order),
        9,
    ),
    "stays old": (Turns(ageing=1, rule=stays_old), 6),
    "the youngest of the old goes first": (Turns(ageing=1, may_try=youngest_first), 6),
}


@pytest.mark.parametrize("name", STUCK)
def test_without_a_clause_a_job_is_stuck(name):
    turns, steps = STUCK[name]
    graph = Graph(turns)
    assert len(first_of(graph, [state for job in JOBS for state in graph.stuck(job)])) == steps


def test_waiting_with_what_one_has_is_harmless_in_ascending_order():
    graph = Graph(Turns(rule=waits_with_what_it_has))
    assert [graph.stuck(job) for job in JOBS] == [[], [], []]


def test_a_job_starves_if_nobody_is_kept_back():
    graph = Graph(Turns(ageing=1, may_try=nobody_is_kept_back))
    assert [graph.stuck(job) for job in JOBS] == [[], [], []]
    for job in JOBS:
        assert first_of(graph, graph.starved(job))
