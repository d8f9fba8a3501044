"""Puts a tree's switches and workers on networks, with bounds on how long packets may live."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sim.golden.reduction.allreduce import Phase, Verdict
from sim.golden.tree_plan import Below, TreePlan
from tests.protocol.allreduce.nodes import (
    FAULTS,
    FREED_EARLY,
    UP,
    End,
    Event,
    Job,
    Kind,
    Rules,
    SwitchNode,
    WorkerNode,
)
from tests.protocol.explore import Step
from tests.protocol.network import Flight, Moved, Network
from tests.protocol.ordered import Lossy, exchanged
from tests.protocol.unordered import Unordered


class Lifetime(Enum):
    """Says how long a packet may be in flight."""

    UNBOUNDED = "unbounded"
    # By the use: on a link, none of n - `distance` is delivered after its upper end has finished n.
    BOUNDED = "bounded"
    FREED = "freed"  # the same, but after all workers have been freed of use n: too late
    WAITED = "waited"  # by a time for which a worker leaves a freed slot idle


class AllReduce(Network):
    """Has switches, then workers, and checks what several of them together do wrong."""

    def __init__(self, job: Job, *arguments: Any) -> None:
        self.job = job
        self.workers = job.plan.workers
        super().__init__(*arguments)

    def slots(self, ends: int) -> Sequence[End]:
        """Return what the nodes hold."""
        return self.held(ends)

    def uses(self, ends: int) -> tuple[int, ...]:
        """Return the number of each worker's use."""
        return tuple(end.number for end in self.slots(ends)[self.workers.start :])

    def wrong(self, ends: int, moved: Moved) -> str:
        """Return what is wrong with a worker that is freed."""
        if moved.event is None or moved.event.kind is not Kind.FREED:
            return ""
        workers = self.slots(ends)[self.workers.start :]
        early = not all(self.has(worker, moved.event.number) for worker in workers)
        return self.job.seen(FREED_EARLY) if early else ""

    def has(self, worker: End, number: int) -> bool:
        """Whether a worker has received the sum of a use that another one is freed of."""
        if worker.number == number:
            return worker.slot.phase is not Phase.PARTIAL
        if self.job.total is None:
            return worker.number == self.job.ahead(number, 1)
        return self.job.order(worker.number) > self.job.order(number)

    def at_rest(self, ends: int) -> bool:
        """Whether nobody waits, and all workers are at the same use."""
        return len(set(self.uses(ends))) == 1 and super().at_rest(ends)

    def verdicts(self, places: Sequence[int]) -> set[Verdict]:
        """Return the verdicts that nodes have reached."""
        steps = set().union(*map(self.steps_taken, places))
        return {Verdict(step.rpartition(": ")[2]) for step in steps}


class OnLinks(AllReduce, Lossy):
    """Has links that keep the order of packets and lose any of them."""


class Bounded(AllReduce, Unordered):
    """Loses, doubles, delays and reorders packets, within a bound."""

    def __init__(self, job: Job, nodes: Any, lifetime: Lifetime, distance: int | None) -> None:
        self.lifetime = lifetime
        self.distance = job.distinguished - 1 if distance is None else distance
        # Bits of packets on the links below a switch, by it and their use.
        self.of_use: dict[tuple[int | None, int], int] = {}
        super().__init__(job, nodes)

    def learn(self, flight: Flight, bit: int) -> None:
        """Note a packet that is seen for the first time."""
        super().learn(flight, bit)
        node = flight.node
        upper = self.job.plan.members[node].parent if flight.port == UP else node
        key = upper, flight.number
        self.of_use[key] = self.of_use.get(key, 0) | bit

    def changes(self, state: int) -> Iterator[tuple[Moved, int]]:
        """Return all that may happen next, with the state after it."""
        for moved, after in super().changes(state):
            if moved.event is not None:
                after &= ~self.outlived(moved.event, after)
            yield moved, after

    def outlived(self, event: Event, after: int) -> int:
        """Return packets that are no longer in flight after what has happened."""
        if event.kind is Kind.STARTED:
            self.check_numbers(event.number, after)
        elif event.kind is Kind.FINISHED and self.lifetime is Lifetime.BOUNDED:
            return self.too_old(event.node, event.number)
        elif event.kind is Kind.FREED and self.lifetime is Lifetime.FREED:
            workers = self.slots(self.ends(after))[self.workers.start :]
            waiting = [item for item in workers if item.slot.phase is Phase.ACK]
            if all(item.number != event.number for item in waiting):
                return self.too_old(0, event.number)
        return 0

    def too_old(self, node: int, number: int) -> int:
        """Return packets below a switch that the end of a use bounds, of the same run."""
        old, period = number - self.distance, self.job.period
        if self.job.total is None:
            old %= period
        elif old // period != number // period:
            return 0
        return self.of_use.get((node, old), 0)

    def check_numbers(self, number: int, after: int) -> None:
        """Check that no packet is left of a number that lies a period before the next one.

        Numbers grow by one, so nothing in flight is ever taken for what is a period younger.
        """
        if self.job.total is None:
            following = self.job.ahead(number, 1)
            for switch in self.job.plan.switches:
                if self.of_use.get((switch, following), 0) & after:
                    raise RuntimeError(f"packets live for longer than {self.job.period} uses")


class Waited(Bounded):
    """What is in flight when a worker is freed is gone when the worker starts the next use.

    A state has for each worker what is left of that; what is sent again is young again.
    """

    def steps(self, state: tuple[int, tuple[int, ...]]) -> Iterator[Step]:
        """Return all that may happen next."""
        flying, aged = state
        for moved, after in super().changes(flying):
            left, event = tuple(old & ~moved.bits for old in aged), moved.event
            if event is not None:
                worker = event.node - self.workers.start
                repeated = super().emptied(super().ends(after))
                if event.kind is Kind.STARTED:
                    after = after & ~aged[worker] | repeated
                    left = tuple(old & after for old in exchanged(left, worker, 0))
                if event.kind is Kind.FREED and self.job.goes_on(event.number):
                    left = exchanged(left, worker, after & ~repeated)
            if (after, left) != state or moved.fault or event is not None:
                fault = moved.fault or self.wrong(super().ends(after), moved)
                yield moved.step, (after, left), fault

    def ends(self, state: tuple[int, tuple[int, ...]]) -> int:
        """Return the state without the packets in flight."""
        return super().ends(state[0])

    def emptied(self, ends: int) -> tuple[int, tuple[int, ...]]:
        """Return the state with these ends after the network lost all that it held."""
        return super().emptied(ends), (0,) * len(self.workers)


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Sets up what is explored: the tree's shape, the bits of a use in packets, and so on."""

    shape: Sequence[Below] = (2, 2)
    width: int = 1
    total: int | None = None
    lifetime: Lifetime = Lifetime.BOUNDED
    distance: int | None = None  #: of uses that a packet may live; 2^w - 1 unless given
    rules: Rules = field(default_factory=Rules)
    watched: frozenset[str] = FAULTS

    def job(self, run: int = 0) -> Job:
        """Return what a run's nodes are set up with."""
        plan = TreePlan(self.shape)
        return Job(
            plan=plan,
            width=self.width,
            total=self.total,
            run=run,
            rules=self.rules,
            watched=self.watched,
        )

    def nodes(self, job: Job) -> list[SwitchNode | WorkerNode]:
        """Return the switches, the root first, then the workers."""
        nodes: list[SwitchNode | WorkerNode] = []
        for node in job.plan.switches:
            name = f"switch {node}" if node else "root"
            nodes.append(SwitchNode(name=name, node=node, job=job))
        for index, node in enumerate(job.plan.workers):
            name = chr(ord("A") + index)
            nodes.append(WorkerNode(name=name, index=index, node=node, job=job))
        return nodes

    def system(self) -> Bounded:
        """Return the tree on a network that loses, doubles, delays and reorders packets."""
        job = self.job()
        network = Waited if self.lifetime is Lifetime.WAITED else Bounded
        return network(job, self.nodes(job), self.lifetime, self.distance)

    def on_links(self, capacity: int) -> OnLinks:
        """Return the tree on links that keep order, each with so many packets at most."""
        job = self.job()
        return OnLinks(job, self.nodes(job), capacity)


def flat(workers: int = 2, **settings: Any) -> Tree:
    """Return workers below one switch."""
    return Tree(shape=(None,) * workers, **settings)
