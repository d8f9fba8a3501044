"""Models a network that keeps the order of packets on each link and may drop any of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product

from tests.protocol.model import NAMES
from tests.protocol.network import Network, Numbers, Step, exchanged

Link = tuple[int, ...]  # packets in flight, the next to be delivered first
State = tuple[Numbers, tuple[Link, ...], tuple[Link, ...]]  # ends, links up, links down


@dataclass
class Ordered(Network):
    """Has a link each way for each worker, with at most `capacity` packets in flight.

    A packet that is lost is as if it had not been sent: workers need not send, and any of the
    answers of the switch may be missing. What finds its link full is lost.
    """

    capacity: int = 2

    @property
    def start(self) -> State:
        """Return the state at the beginning."""
        return self.emptied(self.ends_at_start())

    def emptied(self, ends: Numbers) -> State:
        """Return the state with these ends after the network lost all that it held."""
        empty = ((),) * self.model.worker_count
        return ends, empty, empty

    def steps(self, state: State) -> Iterator[Step]:
        """Return all that may happen next."""
        ends, up, down = state
        for index, worker in enumerate(ends[1:]):
            if (started := self.starts(worker)) is not None:
                after = exchanged(ends, index + 1, started)
                self.numbered_apart(started, chain(*up, *down))
                yield f"{NAMES[index]} starts", (after, up, down), ""
            flight = self.sent(index, worker)
            if flight is not None and len(up[index]) < self.capacity:
                longer = exchanged(up, index, (*up[index], flight))
                yield f"{NAMES[index]} sends {self.flight(flight).name}", (ends, longer, down), ""
            if down[index]:
                flight, *rest = down[index]
                received = self.worker_takes(worker, flight)
                fault = self.fault(ends, flight, received.verdict)
                after = exchanged(ends, index + 1, received.worker)
                yield received.step, (after, up, exchanged(down, index, tuple(rest))), fault
            if up[index]:
                yield from self.switch_steps(state, index)

    def switch_steps(self, state: State, index: int) -> Iterator[Step]:
        """Return what follows when the switch gets a packet, with each answer sent or lost."""
        ends, up, down = state
        flight, *rest = up[index]
        taken = self.switch_takes(ends[0], flight)
        after = exchanged(ends, 0, taken.switch)
        up = exchanged(up, index, tuple(rest))
        room = [a for a in taken.answers if len(down[self.addressee(a)]) < self.capacity]
        for lost in product((False, True), repeat=len(room)):
            links, step = down, taken.step
            for answer, gone in zip(room, lost, strict=True):
                place = self.addressee(answer)
                if gone:
                    step += f", {self.things[answer]} is lost"
                else:
                    links = exchanged(links, place, (*links[place], answer))
            yield step, (after, up, links), taken.fault
