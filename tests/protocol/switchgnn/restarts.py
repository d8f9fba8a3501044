"""Models a SwitchGNN job begun anew, node by node, with the frames of its earlier runs alive.

Every frame has the epoch of the run that its sender is in. The host begins a run when all nodes
are in the one before; it tells the switch and the workers one by one, in any order, at any time.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sim.switchgnn.golden.job_state import Job
from tests.protocol.explore import Step
from tests.protocol.switchgnn.instances import Instance
from tests.protocol.unordered_nodes import NODE_MASK, Change, Flight, Node, UnorderedNodes


class Run(NamedTuple):
    """What a node holds, and in which run of the job."""

    number: int
    held: Hashable


class Tagged(NamedTuple):
    """A frame, and the run of its sender."""

    run: int
    frame: Hashable


def cleared(_old: Job, start: Job) -> Job:
    """Clear everything of the run before, as a start should."""
    return start


@dataclass(frozen=True, kw_only=True)
class Restarting:
    """How the runs of a job are kept apart, by the specification or by a variant of it."""

    runs: int = 2
    epochs: int = 1 << 16  #: that frames tell apart: run r has epoch r mod epochs
    switch_checks: bool = True  #: drops frames of other epochs
    workers_check: bool = True
    anew: Callable[[Job, Job], Job] = cleared  #: what the switch's start makes of old and new job


@dataclass(frozen=True, kw_only=True)
class RestartingNode:
    """Models a switch or a worker with its jobs of all runs."""

    runs: Sequence[Node]
    epochs: int
    checks: bool
    anew: Callable[[Job, Job], Job]

    @property
    def start(self) -> Run:
        """Return the node at the first run's start."""
        return Run(0, self.runs[0].start)

    def restarted(self, held: Run) -> Run:
        """Return the node at the next run's start."""
        number = held.number + 1
        start = self.runs[number].start
        kept = self.anew(held.held, start) if isinstance(start, Job) else start
        return Run(number, kept)

    def tagged(self, run: int, flights: Iterable[Flight]) -> tuple[Flight, ...]:
        """Return frames as they leave, with the run's epoch."""
        return tuple(
            flight._replace(frame=Tagged(run, flight.frame), name=f"{flight.name} (run {run})")
            for flight in flights
        )

    def changed(self, run: int, change: Change) -> Change:
        """Return what a node of one run does, as the node of all runs."""
        sent = self.tagged(run, change.sent)
        return change._replace(held=Run(run, change.held), sent=sent)

    def takes(self, held: Run, flight: Flight) -> Change:
        """Return what follows when a frame comes in; one of another epoch is dropped."""
        run, frame = flight.frame
        if self.checks and (run - held.number) % self.epochs:
            return Change(held, (), f"{flight.name} is dropped")
        node = self.runs[held.number]
        return self.changed(held.number, node.takes(held.held, flight._replace(frame=frame)))

    def moves(self, held: Run) -> Iterator[Change]:
        """Return what the node of this run may do by itself."""
        for change in self.runs[held.number].moves(held.held):
            yield self.changed(held.number, change)

    def repeats(self, held: Run) -> tuple[Flight, ...]:
        """Return what the node of this run may send again and again."""
        return self.tagged(held.number, self.runs[held.number].repeats(held.held))

    def at_rest(self, held: Run) -> bool:
        """Whether the node of this run waits for nothing any more."""
        return self.runs[held.number].at_rest(held.held)


class Restarts(UnorderedNodes):
    """Models a network whose host begins the job anew, at any time."""

    def __init__(self, instance: Instance, rules: Restarting) -> None:
        self.rules = rules
        systems = [replace(instance, run=run).system() for run in range(rules.runs)]
        columns = zip(*(system.nodes for system in systems), strict=True)
        checks = (rules.switch_checks, *[rules.workers_check] * instance.workers)
        nodes = [
            RestartingNode(runs=runs, epochs=rules.epochs, checks=check, anew=rules.anew)
            for runs, check in zip(columns, checks, strict=True)
        ]
        super().__init__(nodes, instance.doubles)

    def begun_anew(self, ends: int, begins: bool) -> Iterator[tuple[str, int, int]]:
        """Return each node that may begin anew, with the ends then and what it repeats.

        Those that are behind may be; with `begins`, any may begin the next run when none is behind.
        """
        runs = [held.number for held in self.held(ends)]
        newest = max(runs)
        if min(runs) == newest and begins and newest < self.rules.runs - 1:
            newest += 1
        for place, (run, at) in enumerate(zip(runs, self.places, strict=True)):
            if run < newest:
                node, number = self.nodes[place], ends >> at & NODE_MASK
                assert isinstance(node, RestartingNode)
                after = self.number(place, node.restarted(self.known[place][number].held))
                repeats = self.known[place][after].repeats
                yield f"node {place} begins run {newest}", ends + (after - number << at), repeats

    def steps(self, state: int) -> Iterator[Step]:
        """Return all that may happen next."""
        yield from super().steps(state)
        for step, after, repeats in self.begun_anew(state, True):
            yield step, after | repeats, ""

    def round_trips(self, ends: int) -> Iterator[int]:
        """Return those without restarts, and those in which the host renews who is behind."""
        yield from super().round_trips(ends)
        for _, after, _ in self.begun_anew(ends, False):
            yield after

    def at_rest(self, ends: int) -> bool:
        """Whether nobody waits, and all are in the same run."""
        return len({held.number for held in self.held(ends)}) == 1 and super().at_rest(ends)
