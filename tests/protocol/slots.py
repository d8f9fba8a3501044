"""Models several slots: workers start micro-batch j in slot j mod slots, in the order of j."""

from collections.abc import Iterator
from typing import Any, Protocol

from tests.protocol.explore import Step, System
from tests.protocol.ordered import exchanged


class Slot(System, Protocol):
    """A system of one slot."""

    def uses(self, ends: Any) -> tuple[int, ...]:
        """Return the number of each worker's use."""
        ...


class Slots:
    """Has `count` slots that share nothing but the order in which each worker starts them.

    State and ends are those of the slots. Packets of different slots do not keep their order among
    each other, which a link that keeps order would make them do; so more may happen than there.
    """

    def __init__(self, slot: Slot, count: int = 2) -> None:
        self.slot = slot
        self.start = (slot.start,) * count
        self.steps_of: dict[Any, list[tuple[Step, int]]] = {}  # of one slot, found once
        self.trips_of: dict[Any, list[tuple[Any, int]]] = {}
        self.uses_of: dict[Any, tuple[int, ...]] = {}

    def steps(self, states: tuple) -> Iterator[Step]:
        """Return all that may happen next."""
        ends = self.ends(states)
        for place, state in enumerate(states):
            if state not in self.steps_of:
                steps = list(self.slot.steps(state))
                starters = [self.starter(ends[place], self.slot.ends(step[1])) for step in steps]
                self.steps_of[state] = list(zip(steps, starters, strict=True))
            for (step, after, fault), starter in self.steps_of[state]:
                if starter < 0 or place == self.turn(ends, starter):
                    yield f"slot {place}: {step}", exchanged(states, place, after), fault

    def ends(self, states: tuple) -> tuple:
        """Return the states without the packets in flight."""
        return tuple(map(self.slot.ends, states))

    def emptied(self, ends: tuple) -> tuple:
        """Return the state with these ends after the network lost all that it held."""
        return tuple(map(self.slot.emptied, ends))

    def at_rest(self, ends: tuple) -> bool:
        """Whether nobody waits in any slot."""
        return all(map(self.slot.at_rest, ends))

    def round_trips(self, ends: tuple) -> Iterator[tuple]:
        """Return the round trips of each slot, with starts in their order."""
        for place, item in enumerate(ends):
            if item not in self.trips_of:
                trips = list(self.slot.round_trips(item))
                self.trips_of[item] = [(after, self.starter(item, after)) for after in trips]
            for after, starter in self.trips_of[item]:
                if starter < 0 or place == self.turn(ends, starter):
                    yield exchanged(ends, place, after)

    def uses(self, ends: Any) -> tuple[int, ...]:
        """Return the number of each worker's use in a slot."""
        if ends not in self.uses_of:
            self.uses_of[ends] = self.slot.uses(ends)
        return self.uses_of[ends]

    def starter(self, before: Any, after: Any) -> int:
        """Return the worker that starts a use between the two ends, or -1."""
        pairs = enumerate(zip(self.uses(before), self.uses(after), strict=True))
        return next((worker for worker, (old, new) in pairs if old != new), -1)

    def turn(self, ends: tuple, worker: int) -> int:
        """Return the slot that the worker starts next: the first that lags behind slot 0, or slot
        0.
        """
        numbers = [self.uses(item)[worker] for item in ends]
        return next((place for place, use in enumerate(numbers) if use != numbers[0]), 0)
