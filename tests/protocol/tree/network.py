"""Models a tree on a network that drops, doubles, delays and reorders, perhaps within a bound."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sim.golden.tree_plan import Below, TreePlan
from sim.p4sgd.golden.allreduce import Phase
from tests.protocol.explore import Step
from tests.protocol.tree.nodes import (
    FREED_EARLY,
    UP,
    End,
    Rules,
    Sent,
    SwitchNode,
    Uses,
    WorkerNode,
)
from tests.protocol.unordered_nodes import NODE_MASK, UnorderedNodes


class TreeNetwork(UnorderedNodes):
    """Has switches, then workers, and checks what several of them together do wrong.

    If ``bounded``, no packet of use n - (2^w - 1) is delivered on a link after its upper end has
    finished use n. Otherwise packets may be delivered for ever.
    """

    def __init__(self, nodes: list[SwitchNode | WorkerNode], uses: Uses, bounded: bool) -> None:
        self.uses, self.bounded = uses, bounded
        self.switches = [node for node in nodes if isinstance(node, SwitchNode)]
        self.gone: dict[tuple[int, int], int] = {}
        super().__init__(nodes)

    def steps(self, state: int) -> Iterator[Step]:
        """Return all that may happen next."""
        ends = self.ends(state)
        for step, after, fault in super().steps(state):
            later = self.ends(after)
            if later != ends:
                if self.bounded:
                    after &= ~self.outlived(ends, later)
                fault = fault or self.fault(ends, later)
            yield step, after, fault

    def outlived(self, ends: int, later: int) -> int:
        """Return packets that are no longer in flight, if a switch has finished a use."""
        bits = 0
        for place, node in enumerate(self.switches):
            at = self.places[place]
            before, after = ends >> at & NODE_MASK, later >> at & NODE_MASK
            if before != after:
                held = self.known[place][after].held
                if node.at_rest(held) and not node.at_rest(self.known[place][before].held):
                    bits |= self.below(node, held.number)
        return bits

    def below(self, node: SwitchNode, number: int) -> int:
        """Return packets on links below a switch that are too old once it has finished a use."""
        old = number - self.uses.told_apart + 1
        if self.uses.total is None:
            old %= self.uses.period
        bits = 0
        for flight, bit in self.flights.items():
            assert isinstance(flight.frame, Sent)
            up = flight.node == node.node and flight.port != UP
            down = flight.node in node.member.children and flight.port == UP
            if flight.frame.number == old and (up or down):
                bits |= bit
        return bits

    def fault(self, ends: int, later: int) -> str:
        """Return what is wrong with a worker that is freed."""
        before, after = self.held(ends), self.held(later)
        for one, other in zip(before, after, strict=True):
            if isinstance(one.slot, type(other.slot)) and freed(one, other):
                workers = [end for end in after if hasattr(end.slot, "phase")]
                if not all(self.has(end, other.number) for end in workers):
                    return FREED_EARLY
        return ""

    def has(self, worker: End, number: int) -> bool:
        """Whether a worker has received the sum of a use that another one is freed of."""
        if worker.number == number:
            return worker.slot.phase is not Phase.PARTIAL
        return worker.number == (number + 1) % self.uses.period

    def at_rest(self, ends: int) -> bool:
        """Whether nobody waits, and all workers are at the same use."""
        numbers = {end.number for end in self.held(ends)[len(self.switches) :]}
        return len(numbers) == 1 and super().at_rest(ends)


def freed(before: Any, after: Any) -> bool:
    """Whether a worker has become free."""
    phases = getattr(before.slot, "phase", None), getattr(after.slot, "phase", None)
    return phases == (Phase.ACK, Phase.FREE)


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Sets up what is explored: the tree's shape, the bits of a use in packets, and so on."""

    shape: Sequence[Below] = (2, 2)
    width: int = 1
    total: int | None = None
    bounded: bool = True

    def system(self, rules: Rules | None = None) -> TreeNetwork:
        """Return the tree on its network."""
        uses = Uses(width=self.width, total=self.total)
        plan = TreePlan(self.shape)
        nodes: list[SwitchNode | WorkerNode] = []
        for node in plan.switches:
            member = plan.members[node]
            name = "root" if member.parent is None else f"switch {node}"
            one = SwitchNode(name=name, node=node, member=member, uses=uses, rules=rules or Rules())
            nodes.append(one)
        for index, node in enumerate(plan.workers):
            name = f"worker {chr(ord('A') + index)}"
            workers = len(plan.workers)
            nodes.append(
                WorkerNode(
                    name=name, index=index, workers=workers, member=plan.members[node], uses=uses
                )
            )
        return TreeNetwork(nodes, uses, self.bounded)
