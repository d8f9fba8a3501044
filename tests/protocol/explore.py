"""Searches exhaustively, breadth first, all states that a system can reach, for shortest traces."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

State = Any  # of whatever type the system has; can be hashed
Ends = Any  # what switch and workers hold; can be hashed
Step = tuple[str, State, str]  # what happens, the state after it, what is wrong with it or ""

STUCK = "stuck"  # nothing leads to rest any more


class System(Protocol):
    """What can be explored: switch and workers on a network."""

    @property
    def start(self) -> State:
        """Return the state at the beginning."""
        ...

    def steps(self, state: State) -> Iterable[Step]:
        """Return all that may happen next."""
        ...

    def ends(self, state: State) -> Ends:
        """Return the state without the packets in flight."""
        ...

    def emptied(self, ends: Ends) -> State:
        """Return the state with these ends after the network lost all that it held."""
        ...

    def round_trips(self, ends: Ends) -> Iterable[Ends]:
        """Return the steps that deliver a packet and its answers at once, after a start or a
        resend.
        """
        ...

    def at_rest(self, ends: Ends) -> bool:
        """Whether nobody waits: uses that began have finished; if uses are counted, all have."""
        ...


@dataclass(frozen=True)
class Exploration:
    """What a search found; without a fault, `states` and `steps` are all there are."""

    states: int
    steps: int
    seconds: float
    fault: str  # what went wrong first, or ""
    trace: tuple[str, ...]  # a shortest way to the fault

    def __str__(self) -> str:
        size = f"{self.states} states, {self.steps} steps, {self.seconds:.2f} s"
        if not self.fault:
            return f"sound: {size}"
        lines = (f"{number:3} {step}" for number, step in enumerate(self.trace, 1))
        return "\n".join([f"{self.fault} after {len(self.trace)} steps: {size}", *lines])


def check(title: str, system: System, fault: str = "", steps: int | None = None) -> Exploration:
    """Explore and print a system; assert its first fault, or that it is sound if that is "".

    If ``steps`` are given, the shortest trace to the fault must have so many.
    """
    result = explore(system)
    print(f"{title}: {result}")
    assert result.fault == fault, str(result)
    assert steps in (None, len(result.trace)), str(result)
    return result


def explore(system: System, limit: int = 5_000_000) -> Exploration:
    """Explore all states from the start, or up to a fault; then those without a way to rest.

    A system is live if from every state it can reach, whatever the network loses, it may come to
    rest. A network with fewer packets in flight offers fewer ways, so it is enough to look at the
    reached ends on an emptied network, which is reached too. Ways of round trips without any loss,
    which the network may always take, are tried first; ends that have none are looked at again with
    all steps.
    """
    began = perf_counter()
    parents: dict[State, State] = {system.start: None}
    waiting = deque(parents)
    count = 0
    while waiting:
        state = waiting.popleft()
        for step, after, fault in system.steps(state):
            count += 1
            if fault:
                trace = (*path(system, parents, state), step)
                return Exploration(len(parents), count, perf_counter() - began, fault, trace)
            if after not in parents:
                parents[after] = state
                waiting.append(after)
        if len(parents) > limit:
            raise MemoryError(f"more than {limit} states")
    fault, trace = "", ()
    stuck = without_rest(system, {system.ends(state) for state in parents})
    for state in parents if stuck else ():
        if (ends := system.ends(state)) in stuck and not can_rest(system, ends):
            fault, trace = STUCK, path(system, parents, state)
            break
    return Exploration(len(parents), count, perf_counter() - began, fault, trace)


def path(system: System, parents: dict[State, State], state: State) -> tuple[str, ...]:
    """Return what happened from the start to `state`."""
    trace = []
    while (parent := parents[state]) is not None:
        trace.append(next(step for step, after, _ in system.steps(parent) if after == state))
        state = parent
    return tuple(reversed(trace))


def without_rest(system: System, reached: set[Ends]) -> set[Ends]:
    """Return the ends from which no series of round trips comes to rest, found backward."""
    before: dict[Ends, list[Ends]] = {}
    for ends in reached:
        for after in system.round_trips(ends):
            assert after in reached, "round trips are among the steps"
            before.setdefault(after, []).append(ends)
    resting = [ends for ends in reached if system.at_rest(ends)]
    live = set(resting)
    while resting:
        for ends in before.get(resting.pop(), ()):
            if ends not in live:
                live.add(ends)
                resting.append(ends)
    return reached - live


def can_rest(system: System, ends: Ends) -> bool:
    """Whether any way at all leads to rest from an emptied network, by all steps."""
    seen = {system.emptied(ends)}
    waiting = deque(seen)
    while waiting:
        state = waiting.popleft()
        if system.at_rest(system.ends(state)):
            return True
        for _, after, _ in system.steps(state):
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return False
