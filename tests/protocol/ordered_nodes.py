"""Puts nodes on links that lose, double and reorder nothing: a queue for each direction."""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from tests.protocol.explore import Step
from tests.protocol.unordered_nodes import Change, Flight, Node


class State(NamedTuple):
    """What each node holds, and what is on its way from one node to another, oldest first."""

    held: tuple[Hashable, ...]
    queues: tuple[tuple[Flight, ...], ...]  # by sender and receiver


class OrderedNodes:
    """Delivers what was sent in order, once. Nodes that repeat frames have no timer here."""

    def __init__(self, nodes: Sequence[Node], doubles: bool = False) -> None:
        assert not doubles, "these links double nothing"
        self.nodes = nodes
        held = tuple(node.start for node in nodes)
        self.start = State(held, ((),) * len(nodes) ** 2)

    def changed(self, state: State, place: int, change: Change) -> State:
        """Return the state after a node did something."""
        held, queues = list(state.held), list(state.queues)
        held[place] = change.held
        for flight in change.sent:
            link = place * len(self.nodes) + flight.node
            queues[link] = (*queues[link], flight)
        return State(tuple(held), tuple(queues))

    def steps(self, state: State) -> Iterator[Step]:
        """Return all that may happen next."""
        for place, node in enumerate(self.nodes):
            for change in node.moves(state.held[place]):
                yield change.step, self.changed(state, place, change), change.fault
        for link, queue in enumerate(state.queues):
            if queue:
                first, *others = queue
                place = first.node
                change = self.nodes[place].takes(state.held[place], first)
                queues = (*state.queues[:link], tuple(others), *state.queues[link + 1 :])
                after = self.changed(state._replace(queues=queues), place, change)
                yield change.step, after, change.fault

    def ends(self, state: State) -> State:
        """Return the whole state: nothing that is on its way is ever lost."""
        return state

    def emptied(self, ends: State) -> State:
        """Return the same, as the network loses nothing."""
        return ends

    def round_trips(self, ends: State) -> Iterator[State]:
        """Return what may happen next."""
        for _, after, _ in self.steps(ends):
            yield after

    def at_rest(self, ends: State) -> bool:
        """Whether nobody waits."""
        return all(node.at_rest(held) for node, held in zip(self.nodes, ends.held, strict=True))
