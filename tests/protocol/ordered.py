"""Models links that keep the order of frames: a queue from each node to each other."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from tests.protocol.explore import Step
from tests.protocol.network import NODE_MASK, Known, Moved, Network, Node, members

Queues = tuple[tuple[int, ...], ...]  # bits of frames, the oldest first, by sender and receiver


class State(NamedTuple):
    """What the nodes hold, and what is on its way."""

    ends: int
    queues: Queues


class Ordered(Network):
    """Delivers what was sent in order, once."""

    def emptied(self, ends: int) -> State:
        """Return the state with these ends and nothing in flight."""
        return State(ends, ((),) * len(self.nodes) ** 2)

    def ends(self, state: State) -> int | State:
        """Return the state without what may be lost."""
        return state.ends

    def steps(self, state: State) -> Iterator[Step]:
        """Return all that may happen next."""
        ends, queues = state
        for place, at in enumerate(self.places):
            known = self.known[place][ends >> at & NODE_MASK]
            for moved in known.moves:
                yield from self.sends(state, place, moved)
            yield from self.repeats(state, place, known)
        for link, queue in enumerate(queues):
            if queue:
                place = link % len(self.nodes)
                number = ends >> self.places[place] & NODE_MASK
                moved = self.take(place, self.known[place][number], number, queue[0])
                rest = State(ends, exchanged(queues, link, queue[1:]))
                yield from self.sends(rest, place, moved)

    def repeats(self, state: State, place: int, known: Known) -> Iterator[Step]:
        """Return what follows when a node repeats a frame."""
        return iter(())

    def sends(self, state: State, place: int, moved: Moved) -> Iterator[Step]:
        """Return what follows when a node does something."""
        ends, queues = state.ends + moved.delta, state.queues
        for bit in moved.sent:
            queues = self.longer(queues, place, bit)
        yield moved.step, State(ends, queues), moved.fault or self.wrong(ends, moved)

    def link(self, place: int, bit: int) -> int:
        """Return the queue that a frame of a node is put into."""
        return place * len(self.nodes) + self.sent[bit].node

    def longer(self, queues: Queues, place: int, bit: int) -> Queues:
        """Return the queues with a frame of a node behind what is there."""
        link = self.link(place, bit)
        return exchanged(queues, link, (*queues[link], bit))


class Lossless(Ordered):
    """Has links that lose nothing, so that nodes that repeat frames have no timer here."""

    def ends(self, state: State) -> State:
        """Return the whole state."""
        return state

    def emptied(self, ends: int | State) -> State:
        """Return the same state, as the network loses nothing."""
        return ends if isinstance(ends, State) else super().emptied(ends)

    def round_trips(self, ends: State) -> Iterator[State]:
        """Return what may happen next."""
        return (after for _, after, _ in self.steps(ends))

    def at_rest(self, ends: State) -> bool:
        """Whether nobody waits."""
        return super().at_rest(ends.ends)


class Lossy(Ordered):
    """Has links that lose any frame, and all that find `capacity` frames on their link.

    A frame that is lost is as if it had not been sent: nodes need not repeat, and any frame of an
    answer may be missing.
    """

    def __init__(self, nodes: Sequence[Node], capacity: int = 2) -> None:
        self.capacity = capacity
        super().__init__(nodes)

    def has_room(self, queues: Queues, place: int, bit: int) -> bool:
        """Whether a frame of a node finds room on its link."""
        return len(queues[self.link(place, bit)]) < self.capacity

    def repeats(self, state: State, place: int, known: Known) -> Iterator[Step]:
        """Return what follows when a node repeats a frame."""
        for bit in members(known.repeats):
            if self.has_room(state.queues, place, bit):
                step = f"node {place} sends {self.sent[bit].name}"
                yield step, State(state.ends, self.longer(state.queues, place, bit)), ""

    def sends(self, state: State, place: int, moved: Moved) -> Iterator[Step]:
        """Return what follows when a node does something, with each frame sent or lost."""
        room = [bit for bit in moved.sent if self.has_room(state.queues, place, bit)]
        for lost in product((False, True), repeat=len(room)):
            stored = tuple(bit for bit, gone in zip(room, lost, strict=True) if not gone)
            gone = len(moved.sent) - len(stored)
            step = f"{moved.step}, {gone} lost" if gone else moved.step
            yield from super().sends(state, place, moved._replace(step=step, sent=stored))


def exchanged(items: tuple, place: int, item: object) -> tuple:
    """Return the tuple with one item replaced."""
    return (*items[:place], item, *items[place + 1 :])
