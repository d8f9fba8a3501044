"""Puts nodes of any kind on a network that drops, doubles, delays and reorders frames.

A state is one number: for each node the small number of what it holds, and above them a bit for
each frame in flight. What a node does with a frame is found once for all states.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from tests.protocol.explore import Step

NODE_BITS = 20  # of the number of what a node holds
NODE_MASK = (1 << NODE_BITS) - 1


class Flight(NamedTuple):
    """A frame on its way to a port of a node."""

    node: int
    port: int
    frame: Hashable
    name: str


class Change(NamedTuple):
    """What a node does at a time."""

    held: Hashable  # by the node from then on
    sent: tuple[Flight, ...]
    step: str
    fault: str = ""


class Node(Protocol):
    """A switch or a worker."""

    @property
    def start(self) -> Hashable:
        """Return what it holds first."""
        ...

    def takes(self, held: Any, flight: Flight) -> Change:
        """Return what follows when a frame comes in."""
        ...

    def moves(self, held: Any) -> Iterable[Change]:
        """Return what it may do by itself."""
        ...

    def repeats(self, held: Any) -> Iterable[Flight]:
        """Return what it may send at any time, again and again."""
        ...

    def at_rest(self, held: Any) -> bool:
        """Whether it waits for nothing any more."""
        ...


class Moved(NamedTuple):
    """A change in small numbers."""

    step: str
    delta: int  # of the state
    bits: int  # of frames that are in flight from then on
    fault: str


@dataclass
class Known:
    """What has been found out about a node that holds something."""

    held: Hashable
    repeats: int  # bits of frames
    moves: list[Moved] = field(default_factory=list)
    taken: dict[int, Moved | None] = field(default_factory=dict)  # by the bit of the frame
    ignored: int = 0  # bits of frames without any effect


class UnorderedNodes:
    """Whatever was sent stays in flight and may come at any time, any number of times.

    That is all that such a network can do: a frame that never comes is lost, one that comes twice
    was doubled or sent twice. What a node may repeat is in flight as soon as it may. Without
    `doubles`, a frame comes once at most for each time that it is sent.
    """

    def __init__(self, nodes: Sequence[Node], doubles: bool = True) -> None:
        self.nodes, self.doubles = nodes, doubles
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

    def bits(self, flights: Iterable[Flight]) -> int:
        """Return the bits of frames."""
        bits = 0
        for flight in flights:
            bit = self.flights.get(flight)
            if bit is None:
                bit = self.flights[flight] = 1 << self.above + len(self.flights)
                self.sent[bit] = flight
                self.towards[flight.node] |= bit
            bits |= bit
        return bits

    def number(self, place: int, held: Hashable) -> int:
        """Return the small number of what a node holds."""
        number = self.numbers[place].setdefault(held, len(self.known[place]))
        if number == len(self.known[place]):
            assert number <= NODE_MASK, "more than the node's bits can number"
            known = Known(held, self.bits(self.nodes[place].repeats(held)))
            self.known[place].append(known)
            changes = self.nodes[place].moves(held)
            known.moves = [self.moved(place, number, change) for change in changes]
        return number

    def moved(self, place: int, before: int, change: Change) -> Moved:
        """Return a change in small numbers."""
        after = self.number(place, change.held)
        bits = self.bits(change.sent) | self.known[place][after].repeats
        return Moved(change.step, after - before << self.places[place], bits, change.fault)

    def take(self, place: int, number: int, bit: int) -> Moved | None:
        """Return what a node does with a frame; None, which is then remembered, if nothing."""
        known = self.known[place][number]
        change = self.nodes[place].takes(known.held, self.sent[bit])
        moved = self.moved(place, number, change)
        if not moved.delta and not change.sent and not moved.fault:
            known.ignored |= bit
            moved = None
        known.taken[bit] = moved
        return moved

    def steps(self, state: int) -> Iterator[Step]:
        """Return all that may happen next."""
        doubles = self.doubles
        for place, at in enumerate(self.places):
            number = state >> at & NODE_MASK
            known = self.known[place][number]
            for step, delta, bits, fault in known.moves:
                yield step, state + delta | bits, fault
            arrivals = state & self.towards[place] & ~known.ignored
            while arrivals:
                bit = arrivals & -arrivals
                arrivals ^= bit
                moved = known.taken[bit] if bit in known.taken else self.take(place, number, bit)
                if moved is None:
                    continue
                step, delta, bits, fault = moved
                after = (state if doubles else state ^ bit) + delta | bits
                if after != state or fault:
                    yield step, after, fault

    def held(self, state: int) -> list[Any]:
        """Return what the nodes hold."""
        places = enumerate(self.places)
        return [self.known[place][state >> at & NODE_MASK].held for place, at in places]

    def ends(self, state: int) -> int:
        """Return the state without the frames in flight."""
        return state & (1 << self.above) - 1

    def emptied(self, ends: int) -> int:
        """Return the state with these ends after the network lost all that it held."""
        for place, at in enumerate(self.places):
            ends |= self.known[place][ends >> at & NODE_MASK].repeats
        return ends

    def round_trips(self, ends: int) -> Iterator[int]:
        """Return each own move of a node and each repeat, with all that follows at once."""
        for place, at in enumerate(self.places):
            known = self.known[place][ends >> at & NODE_MASK]
            for _, delta, bits, _ in known.moves:
                yield self.delivered(ends + delta, bits & ~known.repeats)
            repeats = known.repeats
            while repeats:
                bit = repeats & -repeats
                repeats ^= bit
                yield self.delivered(ends, bit)

    def delivered(self, ends: int, bits: int) -> int:
        """Return the ends after frames came in, then the answers to them, and so on, once each."""
        come = 0
        while bits:
            bit = bits & -bits
            bits ^= bit
            come |= bit
            place = self.sent[bit].node
            number = ends >> self.places[place] & NODE_MASK
            taken = self.known[place][number].taken
            moved = taken[bit] if bit in taken else self.take(place, number, bit)
            if moved is not None:
                ends += moved.delta
                number = ends >> self.places[place] & NODE_MASK
                bits |= moved.bits & ~self.known[place][number].repeats & ~come
        return ends

    def at_rest(self, ends: int) -> bool:
        """Whether nobody waits."""
        held = zip(self.nodes, self.held(ends), strict=True)
        return all(node.at_rest(one) for node, one in held)
