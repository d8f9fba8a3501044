"""Models a job that is begun anew, node by node, with the frames of its earlier runs alive.

Every frame has the epoch of the run that its sender is in. The host begins a run when all nodes
are in the one before; it tells the switch and the workers one by one, in any order, at any time.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.protocol.explore import Step
from tests.protocol.network import NODE_MASK, Change, Flight, Node
from tests.protocol.unordered import Unordered


class Run(NamedTuple):
    """What a node holds, and in which run of the job."""

    number: int
    held: Any


class Tagged(NamedTuple):
    """A frame, and the run of its sender."""

    run: int
    frame: Hashable


def cleared(_old: Any, start: Any) -> Any:
    """Clear everything of the run before, as a start should."""
    return start


@dataclass(frozen=True, kw_only=True)
class Restarting:
    """How the runs of a job are kept apart, by the specification or by a variant of it."""

    runs: int = 2
    epochs: int = 1 << 16  #: that frames tell apart: run r has epoch r mod epochs
    switch_checks: bool = True  #: drops frames of other epochs
    workers_check: bool = True
    together: bool = True  #: else a worker may begin its run anew by itself, in the same epoch
    anew: Callable[[Any, Any], Any] = cleared  #: what the switch's start makes of old and new job

    def nodes(self, runs: Iterable[Sequence[Node]]) -> list["RestartingNode"]:
        """Return the nodes of all runs, of those of each run; the first one is the switch."""
        return [
            RestartingNode(
                runs=nodes,
                epochs=self.epochs,
                checks=self.workers_check if place else self.switch_checks,
                anew=cleared if place else self.anew,
            )
            for place, nodes in enumerate(zip(*runs, strict=True))
        ]


@dataclass(frozen=True, kw_only=True)
class RestartingNode(Node):
    """Models a switch or a worker with its jobs of all runs."""

    runs: Sequence[Node]
    epochs: int
    checks: bool
    anew: Callable[[Any, Any], Any]

    @property
    def start(self) -> Run:
        """Return the node at the first run's start."""
        return Run(0, self.runs[0].start)

    def restarted(self, held: Run, number: int) -> Run:
        """Return the node at the start of a run."""
        return Run(number, self.anew(held.held, self.runs[number].start))

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
        assert isinstance(flight.frame, Tagged)
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


class Restarts(Unordered):
    """Models a network whose host begins the job anew, at any time."""

    def __init__(self, rules: Restarting, *arguments: Any) -> None:
        self.rules = rules
        super().__init__(*arguments)

    def begun_anew(self, ends: int, begins: bool) -> Iterator[tuple[str, int, int]]:
        """Return each node that may begin anew, with the ends then and what it repeats.

        Those that are behind may be; with `begins`, any may begin the next run when none is behind.
        """
        runs = [held.number for held in self.held(ends)]
        newest = max(runs)
        if min(runs) == newest and begins and newest < self.rules.runs - 1:
            newest += 1
        for place, (run, at) in enumerate(zip(runs, self.places, strict=True)):
            alone = begins and place and not self.rules.together
            if run < newest or alone:
                node, number = self.nodes[place], ends >> at & NODE_MASK
                assert isinstance(node, RestartingNode)
                to = newest if run < newest else run
                after = self.number(place, node.restarted(self.known[place][number].held, to))
                repeats = self.known[place][after].repeats
                yield f"node {place} begins run {to} anew", ends + (after - number << at), repeats

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
