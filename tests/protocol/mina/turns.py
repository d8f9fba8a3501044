"""Asks whether every job's turn comes when jobs move again and again, over all infinite runs.

Three jobs want two of three switches each, any two of them one in common. Switches answer at once;
what a network does to frames is explored in :mod:`tests.protocol.mina.migration`. Numbers of grants
are left out, so that states are few and runs come back to them.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sim.golden.tenancy import Command, Reason, Verb
from sim.mina.agreement import migration_rule as migrating
from sim.mina.agreement.hold_rule import Step
from sim.mina.agreement.migration_rule import Migration

NOBODY = -1  #: of the jobs


class State(NamedTuple):
    """What the jobs have, as their controllers and as the switches know it."""

    migration: Migration
    owners: tuple[int, ...]  #: by switch


class Move(NamedTuple):
    """What a job does next, or all together: NOBODY."""

    job: int
    text: str
    after: State


@dataclass(frozen=True, kw_only=True)
class Turns:
    """Jobs that move for ever, by the specification or by a variant of it."""

    trees: tuple[tuple[int, ...], ...] = ((1, 2), (0, 2), (0, 1))
    ageing: int = 0
    waves: bool = False  #: all jobs may move at any time, each to the tree that another has wanted
    rule: Callable[[Migration, Command], Migration] = migrating.migration_rule
    may_try: Callable[[Migration, int], bool] = migrating.may_try
    order: Callable[[tuple[int, ...], int], tuple[int, ...]] = lambda tree, job: tree

    @property
    def start(self) -> State:
        """Return the state in which each job has a switch, and all begin to move."""
        jobs = range(len(self.trees))
        start = migrating.at_start([(job,) for job in jobs], self.ageing)
        for job in jobs:
            start = migrating.tries(start, job)
            (requested,) = migrating.repeated(replace(start, holds=(start.holds[job],)))
            start = migrating.migration_rule(start, replace(requested, verb=Verb.GRANTED))
        moved = migrating.moves(start, dict(enumerate(self.trees)))
        return State(without_numbers(moved), tuple(jobs))

    def steps(self, state: State) -> Iterator[Move]:
        """Return all that may happen next."""
        migration = state.migration
        for job, hold in enumerate(migration.holds):
            if hold.step is Step.HELD:
                after = migrating.hands_back(migration, job)
                yield self.move(job, "gives back its tree", after, state.owners)
            if hold.step is Step.NOTHING and self.may_try(migration, job):
                after = migrating.tries(migration, job)
                own = self.order(migration.trees[job], job)
                after = migrating.with_hold(after, job, replace(after.holds[job], switches=own))
                yield self.move(job, f"tries {own}", after, state.owners)
            requested = migrating.repeated(replace(migration, holds=(hold,)))
            for command in requested:
                yield self.carried_out(state, command)
        if self.waves and not migration.moving:
            trees = (*migration.trees[1:], migration.trees[0])
            after = migrating.moves(migration, dict(enumerate(trees)))
            yield Move(NOBODY, f"all move to {trees}", State(without_numbers(after), state.owners))

    def move(self, job: int, text: str, after: Migration, owners: tuple[int, ...]) -> Move:
        """Return a step of a job."""
        return Move(job, f"job {job} {text}", State(without_numbers(after), owners))

    def carried_out(self, state: State, command: Command) -> Move:
        """Return the state after a switch does what it is asked, and its answer comes in."""
        job, switch = command.job, command.switch
        owner, owners = state.owners[switch], list(state.owners)
        if command.verb is Verb.RELEASE:
            owners[switch] = NOBODY if owner == job else owner
            answer = replace(command, verb=Verb.RELEASED)
        elif owner in (NOBODY, job):
            owners[switch] = job
            answer = replace(command, verb=Verb.GRANTED)
        else:
            answer = replace(command, verb=Verb.REFUSED, reason=Reason.SWITCH_TAKEN, owner=owner)
        after = self.rule(state.migration, answer)
        text = f"asks switch {switch}: {command.verb.name} -> {answer.verb.name}"
        return self.move(job, text, after, tuple(owners))


def without_numbers(migration: Migration) -> Migration:
    """Return the same state with every grant's number 1."""
    holds = tuple(
        replace(hold, epoch=1, back=frozenset((s, j, 1) for s, j, _ in hold.back))
        if hold.step is not Step.NOTHING
        else hold
        for hold in migration.holds
    )
    return replace(migration, holds=holds, number=0)


@dataclass
class Graph:
    """All states that can be reached, and the moves between them."""

    turns: Turns
    states: list[State] = field(default_factory=list)
    moves: list[tuple[int, int, int, str]] = field(default_factory=list)  #: from, to, job, text

    def __post_init__(self) -> None:
        numbers = {self.turns.start: 0}
        waiting = deque(numbers)
        while waiting:
            state = waiting.popleft()
            self.states.append(state)
            for job, text, after in self.turns.steps(state):
                if after not in numbers:
                    numbers[after] = len(numbers)
                    waiting.append(after)
                self.moves.append((numbers[state], numbers[after], job, text))
        ends = np.array([move[:3] for move in self.moves])
        self.sources, self.targets, self.jobs = ends.T

    def has_tree(self, job: int) -> np.ndarray:
        """Return in which states a job has its tree."""
        return np.array([state.migration.holds[job].step is Step.HELD for state in self.states])

    def reaching(self, goal: np.ndarray) -> np.ndarray:
        """Return from which states one of ``goal`` can be reached."""
        result = goal.copy()
        while True:
            more = result.copy()
            more[self.sources[result[self.targets]]] = True
            if (more == result).all():
                return result
            result = more

    def stuck(self, job: int) -> list[int]:
        """Return the states from which a job can never get its tree."""
        return np.flatnonzero(~self.reaching(self.has_tree(job))).tolist()

    def starved(self, job: int) -> list[int]:
        """Return states of a run for ever in which a job never gets its tree, with nobody left out.

        A job is left out if it could do something all the time and never does. Such a run exists if
        and only if a strongly connected part of the graph, without the states in which the job has
        its tree, has for each job a move, or a state in which it can do nothing.
        """
        inside = ~self.has_tree(job)
        stored = inside[self.sources] & inside[self.targets]
        sources, targets, jobs = self.sources[stored], self.targets[stored], self.jobs[stored]
        count = len(self.states)
        edges = coo_array((np.ones(len(sources)), (sources, targets)), shape=(count, count))
        _, part = connected_components(edges, directed=True, connection="strong")
        within = part[sources] == part[targets]
        able = np.zeros((count, len(self.turns.trees)), bool)
        able[self.sources, self.jobs] = True
        for number in np.unique(part[sources[within]]):
            members = part == number
            moved = set(jobs[within & (part[sources] == number)].tolist())
            if all(k in moved or not able[members, k].all() for k in range(able.shape[1])):
                return np.flatnonzero(members).tolist()
        return []

    def path(self, goal: int) -> tuple[str, ...]:
        """Return what happens on a shortest way from the start to a state."""
        before: dict[int, tuple[int, str]] = {}
        for source, target, _, text in self.moves:  # in breadth-first order
            if target not in before and target != 0:
                before[target] = source, text
        steps = []
        while goal:
            goal, text = before[goal]
            steps.append(text)
        return tuple(reversed(steps))
