"""Models nodes by their rules: what a node does with a frame is found once for all states.

The ends, which are what all nodes hold, are one number: NODE_BITS of it for each node say which of
the things that it may hold it does. A frame in flight is a bit of its own, above these. What may
become of frames in flight is the matter of the classes that derive from ``Network``.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

NODE_BITS = 20  # of the number of what a node holds
NODE_MASK = (1 << NODE_BITS) - 1


class Flight(NamedTuple):
    """A frame on its way to a port of a node."""

    node: int
    port: int
    frame: Hashable
    name: str
    number: int = 0  # of the use that it is of, where the checker counts uses


class Change(NamedTuple):
    """What a node does at a time."""

    held: Hashable  # by the node from then on
    sent: tuple[Flight, ...]
    step: str
    fault: str = ""
    event: Any = None  # what the network is told of it


class Node:
    """A switch or a worker. Unless it says otherwise, it does nothing by itself."""

    @property
    def start(self) -> Hashable:
        """Return what it holds first."""
        raise NotImplementedError

    def takes(self, held: Any, flight: Flight) -> Change:
        """Return what follows when a frame comes in."""
        raise NotImplementedError

    def moves(self, held: Any) -> Iterable[Change]:
        """Return what it may do by itself."""
        return ()

    def repeats(self, held: Any) -> Iterable[Flight]:
        """Return what it may send at any time, again and again."""
        return ()

    def at_rest(self, held: Any) -> bool:
        """Whether it waits for nothing any more."""
        return True


class Moved(NamedTuple):
    """A change in small numbers."""

    step: str
    delta: int  # of the ends
    sent: tuple[int, ...]  # bits of frames
    bits: int  # of these, and of what the node repeats from then on
    fault: str
    event: Any


@dataclass
class Known:
    """What has been found out about a node that holds something."""

    held: Any
    repeats: int  # bits of frames
    moves: list[Moved] = field(default_factory=list)
    taken: dict[int, Moved] = field(default_factory=dict)  # by the bit of the frame
    ignored: int = 0  # bits of frames without any effect


class Network:
    """Has the nodes of a system, without what is in flight between them."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.places = [NODE_BITS * k for k in range(len(nodes))]
        self.above = NODE_BITS * len(nodes)
        self.flights: dict[Flight, int] = {}  # their bits
        self.sent: dict[int, Flight] = {}
        self.towards = [0] * len(nodes)  # bits of frames
        self.numbers: list[dict[Hashable, int]] = [{} for _ in nodes]
        self.known: list[list[Known]] = [[] for _ in nodes]
        numbers = [self.number(k, node.start) for k, node in enumerate(nodes)]
        ends = sum(number << place for number, place in zip(numbers, self.places, strict=True))
        self.start = self.emptied(ends)

    def emptied(self, ends: Any) -> Any:
        """Return the state with these ends after the network lost all that it held."""
        raise NotImplementedError

    def wrong(self, ends: int, moved: Moved) -> str:
        """Return what is wrong with what all nodes hold after a change, or nothing."""
        return ""

    def learn(self, flight: Flight, bit: int) -> None:
        """Note a frame that is seen for the first time."""
        self.flights[flight] = bit
        self.sent[bit] = flight
        self.towards[flight.node] |= bit

    def bits(self, flights: Iterable[Flight]) -> list[int]:
        """Return the bits of frames."""
        bits = []
        for flight in flights:
            if flight not in self.flights:
                self.learn(flight, 1 << self.above + len(self.flights))
            bits.append(self.flights[flight])
        return bits

    def number(self, place: int, held: Hashable) -> int:
        """Return the small number of what a node holds."""
        number = self.numbers[place].setdefault(held, len(self.known[place]))
        if number == len(self.known[place]):
            assert number <= NODE_MASK, "more than the node's bits can number"
            known = Known(held, union(self.bits(self.nodes[place].repeats(held))))
            self.known[place].append(known)
            changes = self.nodes[place].moves(held)
            known.moves = [self.moved(place, number, change) for change in changes]
        return number

    def moved(self, place: int, before: int, change: Change) -> Moved:
        """Return a change in small numbers."""
        after = self.number(place, change.held)
        sent = self.bits(change.sent)
        bits = union(sent) | self.known[place][after].repeats
        delta = after - before << self.places[place]
        return Moved(change.step, delta, tuple(sent), bits, change.fault, change.event)

    def take(self, place: int, known: Known, number: int, bit: int) -> Moved:
        """Return what a node does with a frame."""
        moved = known.taken.get(bit)
        if moved is None:
            change = self.nodes[place].takes(known.held, self.sent[bit])
            moved = known.taken[bit] = self.moved(place, number, change)
            if not (moved.delta or moved.sent or moved.fault or moved.event):
                known.ignored |= bit
        return moved

    def held(self, ends: int) -> list[Any]:
        """Return what the nodes hold."""
        places = enumerate(self.places)
        return [self.known[place][ends >> at & NODE_MASK].held for place, at in places]

    def steps_taken(self, place: int) -> set[str]:
        """Return what a node has ever done with a frame."""
        return {moved.step for known in self.known[place] for moved in known.taken.values()}

    def round_trips(self, ends: Any) -> Iterator[Any]:
        """Return each own move of a node and each repeat, with all that follows at once."""
        for place, at in enumerate(self.places):
            known = self.known[place][ends >> at & NODE_MASK]
            for moved in known.moves:
                yield self.delivered(ends + moved.delta, moved.bits & ~known.repeats)
            for bit in members(known.repeats):
                yield self.delivered(ends, bit)

    def delivered(self, ends: int, bits: int) -> int:
        """Return the ends after frames came in, then the answers to them, and so on, once each."""
        come = 0
        while bits:
            bit = bits & -bits
            bits ^= bit
            come |= bit
            place = self.sent[bit].node
            at, known = self.places[place], self.known[place]
            number = ends >> at & NODE_MASK
            moved = self.take(place, known[number], number, bit)
            ends += moved.delta
            bits |= moved.bits & ~known[ends >> at & NODE_MASK].repeats & ~come
        return ends

    def at_rest(self, ends: Any) -> bool:
        """Whether nobody waits."""
        held = zip(self.nodes, self.held(ends), strict=True)
        return all(node.at_rest(item) for node, item in held)


def union(bits: Iterable[int]) -> int:
    """Return all bits together."""
    together = 0
    for bit in bits:
        together |= bit
    return together


def members(bits: int) -> Iterator[int]:
    """Return the bits one by one."""
    while bits:
        bit = bits & -bits
        yield bit
        bits ^= bit
