"""Models several slots: workers start micro-batch j in slot j mod slots, in the order of j."""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.protocol.network import Numbers, Step, exchanged
from tests.protocol.ordered import Ordered
from tests.protocol.unordered import Unordered


@dataclass
class Slots:
    """Has `count` slots that share nothing but the order in which each worker starts them.

    State and ends are those of the slots. Packets of different slots do not keep their order among
    each other, which a link that keeps order would make them do; so more may happen than there.
    """

    slot: Unordered | Ordered
    count: int = 2

    def __post_init__(self) -> None:
        self.steps_of: dict[tuple, list[tuple[Step, int]]] = {}  # of one slot, found once
        self.trips_of: dict[Numbers, list[tuple[Numbers, int]]] = {}

    @property
    def start(self) -> tuple:
        """Return the state at the beginning."""
        return (self.slot.start,) * self.count

    def steps(self, states: tuple) -> Iterator[Step]:
        """Return all that may happen next."""
        ends = self.ends(states)
        for place, state in enumerate(states):
            if state not in self.steps_of:
                found = self.slot.steps(state)
                self.steps_of[state] = [
                    (step, self.starter(ends[place], step[1][0])) for step in found
                ]
            for (step, after, fault), starter in self.steps_of[state]:
                if starter < 0 or place == self.turn(ends, starter):
                    yield f"slot {place}: {step}", exchanged(states, place, after), fault

    def ends(self, states: tuple) -> tuple[Numbers, ...]:
        """Return the states without the packets in flight."""
        return tuple(self.slot.ends(state) for state in states)

    def emptied(self, ends: tuple[Numbers, ...]) -> tuple:
        """Return the state with these ends after the network lost all that it held."""
        return tuple(map(self.slot.emptied, ends))

    def at_rest(self, ends: tuple[Numbers, ...]) -> bool:
        """Whether nobody waits in any slot."""
        return all(map(self.slot.at_rest, ends))

    def round_trips(self, ends: tuple[Numbers, ...]) -> Iterator[tuple[Numbers, ...]]:
        """Return the round trips of each slot, with starts in their order."""
        for place, one in enumerate(ends):
            if one not in self.trips_of:
                found = self.slot.round_trips(one)
                self.trips_of[one] = [(after, self.starter(one, after)) for after in found]
            for after, starter in self.trips_of[one]:
                if starter < 0 or place == self.turn(ends, starter):
                    yield exchanged(ends, place, after)

    def starter(self, before: Numbers, after: Numbers) -> int:
        """Return the worker that starts a use between the two states, or -1."""
        for index, (old, new) in enumerate(zip(before[1:], after[1:], strict=True)):
            if self.slot.use_of(old) != self.slot.use_of(new):
                return index
        return -1

    def turn(self, ends: tuple[Numbers, ...], worker: int) -> int:
        """Return the slot that the worker starts next: the first that lags behind slot 0, or slot
        0.
        """
        numbers = [self.slot.use_of(one[worker + 1]) for one in ends]
        return next((place for place, use in enumerate(numbers) if use != numbers[0]), 0)
