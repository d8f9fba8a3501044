"""Models a network that drops, doubles, delays and reorders frames.

A state is one number: the ends, and above them a bit for each frame in flight.
"""

from collections.abc import Iterator, Sequence

from tests.protocol.explore import Step
from tests.protocol.network import NODE_MASK, Moved, Network, Node


class Unordered(Network):
    """Whatever was sent stays in flight and may come at any time, any number of times.

    That is all that such a network can do: a frame that never comes is lost, one that comes twice
    was doubled or sent twice. What a node may repeat is in flight as soon as it may. Without
    `doubles`, a frame comes once at most for each time that it is sent.
    """

    def __init__(self, nodes: Sequence[Node], doubles: bool = True) -> None:
        self.doubles = doubles
        super().__init__(nodes)

    def steps(self, state: int) -> Iterator[Step]:
        """Return all that may happen next."""
        mask = (1 << self.above) - 1
        for moved, after in self.changes(state):
            if after != state or moved.fault or moved.event:
                yield moved.step, after, moved.fault or self.wrong(after & mask, moved)

    def changes(self, state: int) -> Iterator[tuple[Moved, int]]:
        """Return all that may happen next, with the state after it, be it the same."""
        doubles = self.doubles
        for place, at in enumerate(self.places):
            number = state >> at & NODE_MASK
            known = self.known[place][number]
            for moved in known.moves:
                yield moved, state + moved.delta | moved.bits
            arrivals = state & self.towards[place] & ~known.ignored
            while arrivals:
                bit = arrivals & -arrivals
                arrivals ^= bit
                moved = known.taken.get(bit) or self.take(place, known, number, bit)
                if known.ignored & bit:
                    continue
                yield moved, (state if doubles else state ^ bit) + moved.delta | moved.bits

    def ends(self, state: int) -> int:
        """Return the state without the frames in flight."""
        return state & (1 << self.above) - 1

    def emptied(self, ends: int) -> int:
        """Return the state with these ends after the network lost all that it held."""
        for place, at in enumerate(self.places):
            ends |= self.known[place][ends >> at & NODE_MASK].repeats
        return ends
