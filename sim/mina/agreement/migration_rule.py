"""Specifies how jobs move to other trees at the same time, by functions of an immutable state.

The design's "no deadlock in migration". First all jobs that move give back what they have. Then
each tries the switches of its new tree in ascending order; at a refusal it gives all back and goes
on without INA until its next try, so that nobody holds anything while it waits. Ageing is a
setting: once a set number of others got their trees while a job waited for a switch of these, they
may not try any more before it has got its own. So its turn comes, if every grant ends some time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sim.golden.tenancy import Command
from sim.mina.agreement import hold_rule as holding
from sim.mina.agreement.hold_rule import Hold, Step


@dataclass(frozen=True, kw_only=True)
class Migration:
    """Holds the jobs that move, and what each has."""

    holds: tuple[Hold, ...]  #: what each job has
    trees: tuple[tuple[int, ...], ...]  #: by job: the switches that it wants
    ageing: int = 0  #: how often a job may be overtaken before it is old; 0: jobs do not age
    number: int = 0  #: greatest number of a grant
    moving: frozenset[int] = frozenset()  #: jobs that wait for each other to give back
    overtaken: tuple[int, ...]  #: by job: how often since it had its tree; up to ``ageing``
    old: tuple[int, ...] = ()  #: jobs that have become old, the oldest first

    def meet(self, job: int, other: int) -> bool:
        """Return whether two jobs want a switch in common."""
        return not set(self.trees[job]).isdisjoint(self.trees[other])


def at_start(trees: Iterable[Iterable[int]], ageing: int = 0) -> Migration:
    """Return the state in which nobody has anything, and each job may try its tree."""
    expected = tuple(tuple(sorted(tree)) for tree in trees)
    count = len(expected)
    return Migration(holds=(Hold(),) * count, trees=expected, ageing=ageing, overtaken=(0,) * count)


def moves(migration: Migration, trees: Mapping[int, Iterable[int]]) -> Migration:
    """Return the state as some jobs move: they give back what they have, and wait for each other.

    The jobs that moved before have all given back by then.
    """
    assert not migration.moving
    expected = [tuple(sorted(trees.get(job, tree))) for job, tree in enumerate(migration.trees)]
    migration = replace(migration, trees=tuple(expected), moving=frozenset(trees))
    for job in trees:
        migration = hands_back(migration, job)
    return settled(migration)


def hands_back(migration: Migration, job: int) -> Migration:
    """Return the state as a job gives back its tree, or what it has of it."""
    hold = migration.holds[job]
    busy = hold.step in (Step.ACQUIRING, Step.HELD, Step.IN_USE)
    return with_hold(migration, job, holding.releases(hold) if busy else hold)


def may_try(migration: Migration, job: int) -> bool:
    """Return whether a job may try to get its tree."""
    if migration.holds[job].step is not Step.NOTHING or job in migration.moving:
        return False
    old = migration.old
    before = old[: old.index(job)] if job in old else old
    return not any(migration.meet(job, other) for other in before)


def tries(migration: Migration, job: int) -> Migration:
    """Return the state as a job begins to try, by a number of its own."""
    number = migration.number + 1
    hold = holding.acquires(job, number, 0, migration.trees[job])
    return with_hold(replace(migration, number=number), job, hold)


def migration_rule(migration: Migration, answer: Command) -> Migration:
    """Return what a switch's answer makes of the state."""
    before = migration.holds[answer.job]
    after = holding.hold_rule(before, answer, ())
    migration = with_hold(migration, answer.job, after)
    if before.step is Step.ACQUIRING and after.step is Step.HELD:
        return served(migration, answer.job)
    return settled(migration)


def served(migration: Migration, job: int) -> Migration:
    """Return the state as a job has its tree: it is young again, and others get older.

    Those get older who wait for a switch of its tree.
    """
    old = [item for item in migration.old if item != job]
    overtaken = list(migration.overtaken)
    overtaken[job] = 0
    for other, hold in enumerate(migration.holds):
        waits = other not in (job, *old) and hold.step not in (Step.HELD, Step.IN_USE)
        if migration.ageing and waits and migration.meet(job, other):
            overtaken[other] += 1
            old += [other] * (overtaken[other] == migration.ageing)
    return replace(migration, overtaken=tuple(overtaken), old=tuple(old))


def settled(migration: Migration) -> Migration:
    """Return the state, in which jobs that move wait no longer if all have given back."""
    waits = any(migration.holds[job].step is Step.RELEASING for job in migration.moving)
    return migration if waits else replace(migration, moving=frozenset())


def with_hold(migration: Migration, job: int, hold: Hold) -> Migration:
    """Return the state with another hold of a job."""
    holds = (*migration.holds[:job], hold, *migration.holds[job + 1 :])
    return replace(migration, holds=holds)


def repeated(migration: Migration) -> Iterable[Command]:
    """Return what the switches are asked again and again."""
    for hold in migration.holds:
        yield from holding.repeated(hold)
