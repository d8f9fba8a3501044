"""Models jobs that move to other trees: each gives its switch back, then tries those of its new
tree.

Here each job has a controller of its own, as groups have that share switches: that no more of them
own a switch than it takes, one or C, is the switches' doing. No hosts: what they have told their
controllers is over.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sim.golden import tenancy
from sim.golden.tenancy import Command, Outcome, Sizes, Tenants, Verb
from sim.mina.agreement import hold_rule as holding
from sim.mina.agreement.hold_rule import Hold, Step
from tests.protocol.mina.cluster_setup import name_of
from tests.protocol.network import Change, Flight, Node
from tests.protocol.unordered import Unordered

TWO_OWNERS = "more jobs own a switch than it takes"
SHARED_SLOT = "two jobs own a slot"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How switches are got and given back, by the specification or by a variant of it."""

    hold: Callable[[Hold, Command, Iterable[int]], Hold] = holding.hold_rule
    command: Callable[[Sizes, Tenants, Command, bool], Outcome] = tenancy.tenancy_rule


class Mover(NamedTuple):
    """A job's switches, and how many numbers its controller has used."""

    hold: Hold
    numbers: int


@dataclass(frozen=True, kw_only=True)
class Migration:
    """Three jobs, each on a switch of its own at first; each moves to the two others."""

    jobs: int = 3
    tries: int = 1  #: that each job has for its new tree
    most: int = 1  #: C: jobs that have a switch at a time
    slots: int = 1  #: of a switch; jobs have one each, in turn
    doubles: bool = True  #: frames may come more often than they are sent
    ascending: bool = True  #: the order in which switches are tried; a variant's is its own
    keeps: bool = False  #: a variant tries before it has given back what it has
    rules: Rules = field(default_factory=Rules)

    def tree(self, job: int) -> tuple[int, ...]:
        """Return the switches that a job moves to."""
        return tuple(sorted({(job + 1) % self.jobs, (job + 2) % self.jobs}))

    def system(self) -> Unordered:
        """Return controllers, then switches, which see for themselves what is wrong."""
        movers = [MoverNode(migration=self, job=job) for job in range(self.jobs)]
        switches = [SwitchNode(migration=self, number=k) for k in range(self.jobs)]
        return Unordered([*movers, *switches], self.doubles)


@dataclass(frozen=True, kw_only=True)
class MoverNode(Node):
    """Models a job's controller."""

    migration: Migration
    job: int

    @property
    def start(self) -> Mover:
        """Return it as it holds the switch of the job's number."""
        hold = Hold(step=Step.IN_USE, job=self.job, epoch=1, switches=(self.job,), granted=1)
        return Mover(hold, 1)

    def takes(self, held: Mover, flight: Flight) -> Change:
        """Return what follows when a switch's answer comes in."""
        answer = flight.frame
        assert isinstance(answer, Command)
        after = self.migration.rules.hold(held.hold, answer, ())
        return Change(held._replace(hold=after), (), f"job {self.job} takes {flight.name}")

    def moves(self, held: Mover) -> Iterator[Change]:
        """Return what it may do: give back what it has, or try to get its new tree."""
        hold, numbers = held
        if hold.step in (Step.IN_USE, Step.HELD):
            after = held._replace(hold=holding.releases(hold))
            yield Change(after, (), f"job {self.job} gives back {hold.switches}")
        ready = hold.step is Step.NOTHING or (self.migration.keeps and hold.step is Step.IN_USE)
        if ready and numbers <= self.migration.tries:
            tree = self.migration.tree(self.job)
            after = holding.acquires(self.job, numbers + 1, 0, tree)
            if not self.migration.ascending:
                own = ((self.job + 1) % self.migration.jobs, (self.job + 2) % self.migration.jobs)
                after = replace(after, switches=own)
            yield Change(Mover(after, numbers + 1), (), f"job {self.job} tries {after.switches}")

    def repeats(self, held: Mover) -> tuple[Flight, ...]:
        """Return what it asks for."""
        jobs = self.migration.jobs
        commands = holding.repeated(held.hold)
        return tuple(Flight(jobs + item.switch, 0, item, name_of(item)) for item in commands)

    def at_rest(self, held: Mover) -> bool:
        """Whether it has given everything back and has no try left."""
        return held.hold.step is Step.NOTHING and held.numbers > self.migration.tries


@dataclass(frozen=True, kw_only=True)
class SwitchNode(Node):
    """Models a switch, at which all jobs are registered; the job of its number has it."""

    migration: Migration
    number: int

    @property
    def sizes(self) -> Sizes:
        """Return what the switch has, and how many jobs may have it."""
        jobs, migration = self.migration.jobs, self.migration
        return Sizes(ports=jobs, slots=migration.slots, jobs=jobs, most=migration.most)

    @property
    def start(self) -> Tenants:
        """Return the switch at the beginning."""
        tenants = tenancy.at_start(self.sizes)
        for job in range(self.migration.jobs):
            slot = {"ports": 1 << job, "base": job % self.migration.slots, "count": 1}
            tenants = self.outcome(tenants, Verb.REGISTER, job, **slot).tenants
        return self.outcome(tenants, Verb.ACQUIRE, self.number, epoch=1).tenants

    def outcome(self, tenants: Tenants, verb: Verb, job: int, **fields: int) -> Outcome:
        """Return what becomes of a command."""
        epoch = fields.pop("epoch", 0)
        command = Command(verb=verb, switch=self.number, job=job, epoch=epoch, **fields)
        return tenancy.tenancy_rule(self.sizes, tenants, command, True)

    def takes(self, held: Tenants, flight: Flight) -> Change:
        """Return what follows when a command comes in."""
        command = flight.frame
        assert isinstance(command, Command)
        outcome = self.migration.rules.command(self.sizes, held, command, True)
        owned = [item.base for item in outcome.tenants if item is not None and item.holds]
        answer = Flight(command.job, 0, outcome.answer, name_of(outcome.answer))
        step = f"switch {self.number} takes {flight.name}: {outcome.answer.verb.name}"
        fault = SHARED_SLOT if len(set(owned)) < len(owned) else ""
        fault = TWO_OWNERS if len(owned) > self.migration.most else fault
        return Change(outcome.tenants, (answer,), step, fault)
