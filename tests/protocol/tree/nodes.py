"""Models switches of a tree and workers as nodes of a network, with what only the checker may know.

The checker numbers the uses, and gives worker m's partial activation of use n the payload
(BASE^m, n BASE^m): a sum has each worker's activation of use n, once, just if all digits of the
first lane are 1 and all digits of the second are n.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sim.golden.tree_plan import Member
from sim.p4sgd.golden.allreduce import (
    Outcome,
    Packet,
    Phase,
    SwitchSlot,
    Verdict,
    WorkerSlot,
    worker_rule,
    worker_starts,
)
from sim.p4sgd.golden.tree_rule import TreeOutcome, TreeSlot, child_rule, parent_rule, root_rule
from tests.protocol.unordered_nodes import Change, Flight

LANES = 2
BASE = 1 << 5  # more than the numbers that are told apart; six digits fit into 31 bits
UP = 0  #: the port to the parent; child k is behind port k + 1

WRONG_SUM = "a wrong sum accepted"
FREED_EARLY = "a worker freed before all had received the sum"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What switches do, by the specification or by a variant of it."""

    child: Callable[[TreeSlot, Packet, int, int], TreeOutcome] = child_rule
    parent: Callable[[TreeSlot, Packet, int], TreeOutcome] = parent_rule
    root: Callable[[SwitchSlot, Packet, int, int], Outcome] = root_rule


@dataclass(frozen=True, kw_only=True)
class Uses:
    """Counts uses: packets count modulo ``2^width``, and the checker modulo ``period``.

    Without ``total`` they go on for ever, which is exact as long as whatever is alive at a time
    lies within ``period`` uses.
    """

    width: int
    total: int | None = None  #: after which workers start no more

    @property
    def told_apart(self) -> int:
        """Return how many uses packets tell apart."""
        return 1 << self.width

    @property
    def period(self) -> int:
        """Return how many numbers the checker tells apart."""
        return 2 * self.told_apart if self.total is None else self.total + 1


class Sent(NamedTuple):
    """A packet with the number of its use."""

    number: int
    packet: Packet


class End(NamedTuple):
    """A slot of a switch or a worker, with the number of its use."""

    number: int
    slot: Any


def flight(node: int, port: int, number: int, packet: Packet) -> Flight:
    """Return a packet on its way to a port of a node."""
    down = port == UP
    if not packet.is_agg:
        kind = "acked" if down else "ACK"
    elif packet.pending:
        kind = "pending"
    else:
        kind = "FA" if down else "PA"
    return Flight(node, port, Sent(number, packet), f"{kind} {number}")


def upwards(member: Member, number: int, packet: Packet) -> Flight:
    """Return a packet on its way to a member's parent."""
    assert member.parent is not None
    return flight(member.parent, UP + 1 + member.place, number, packet)


@dataclass(frozen=True, kw_only=True)
class SwitchNode:
    """Models a switch; the one without a parent is the root."""

    name: str
    node: int
    member: Member
    uses: Uses
    rules: Rules = Rules()
    verdicts: set[Verdict] = field(default_factory=set)  #: that were reached

    @property
    def start(self) -> End:
        """Return it as a job's start leaves it: use -1, finished."""
        kind = SwitchSlot if self.member.parent is None else TreeSlot
        slot = kind.at_start(self.member.everyone, LANES, self.uses.told_apart)
        return End(self.uses.period - 1, slot)

    def takes(self, held: End, flight: Flight) -> Change:
        """Return what follows when a packet comes in."""
        sent = flight.frame
        assert isinstance(sent, Sent)
        packet, uses = sent.packet, self.uses.told_apart
        everyone, slot = self.member.everyone, held.slot
        if self.member.parent is None:
            flat = self.rules.root(slot, packet, everyone, uses)
            outcome = TreeOutcome(flat.slot, flat.verdict, flat.answer)
        elif flight.port == UP:
            outcome = self.rules.parent(slot, packet, everyone)
        else:
            outcome = self.rules.child(slot, packet, everyone, uses)
        self.verdicts.add(outcome.verdict)
        ahead = (use_of(outcome.slot) - use_of(slot)) % uses
        after = End((held.number + ahead) % self.uses.period, outcome.slot)
        step = f"{self.name} takes {flight.name}: {outcome.verdict}"
        return Change(after, tuple(self.sent(outcome, sent.number)), step)

    def sent(self, outcome: TreeOutcome, number: int) -> Iterator[Flight]:
        """Return what it answers; pending changes nobody, and is not followed."""
        down, up = outcome.down, outcome.up
        if down is not None and not down.pending:
            for k, child in enumerate(self.member.children):
                if down.bm >> k & 1:
                    yield flight(child, UP, number, replace(down, bm=1 << k))
        if up is not None:
            yield upwards(self.member, number, replace(up, bm=1 << self.member.place))

    def moves(self, held: End) -> tuple[Change, ...]:
        """Return nothing: it does nothing by itself."""
        return ()

    def repeats(self, held: End) -> tuple[Flight, ...]:
        """Return nothing: it has no timer."""
        return ()

    def at_rest(self, held: End) -> bool:
        """Whether all uses that were begun have finished."""
        return finished(held.slot, self.member.everyone)


def use_of(slot: SwitchSlot | TreeSlot) -> int:
    """Return the use of a switch's slot."""
    return slot.use if isinstance(slot, SwitchSlot) else slot.own.use


def finished(slot: SwitchSlot | TreeSlot, everyone: int) -> bool:
    """Whether the next use may begin."""
    return slot.ack_bm == everyone if isinstance(slot, SwitchSlot) else slot.finished


@dataclass(frozen=True, kw_only=True)
class WorkerNode:
    """Models a worker, as it is below a single switch."""

    name: str
    index: int  #: among all workers
    workers: int
    member: Member
    uses: Uses

    @property
    def start(self) -> End:
        """Return it as a job's start leaves it."""
        return End(self.uses.period - 1, WorkerSlot.at_start(self.uses.told_apart))

    def right_sum(self, number: int) -> tuple[int, int]:
        """Return the full activation of a use."""
        ones = sum(BASE**worker for worker in range(self.workers))
        return ones, number * ones

    def takes(self, held: End, flight: Flight) -> Change:
        """Return what follows when a packet comes in."""
        sent = flight.frame
        assert isinstance(sent, Sent)
        slot, verdict = worker_rule(held.slot, sent.packet)
        wrong = verdict is Verdict.FULL and sent.packet.payload != self.right_sum(held.number)
        step = f"{self.name} takes {flight.name}: {verdict}"
        return Change(End(held.number, slot), (), step, WRONG_SUM if wrong else "")

    def moves(self, held: End) -> Iterator[Change]:
        """Return the start of its next use, if it may."""
        last = self.uses.total is not None and held.number == self.uses.total - 1
        if held.slot.phase is Phase.FREE and not last:
            number = (held.number + 1) % self.uses.period
            slot = worker_starts(held.slot, self.uses.told_apart)
            yield Change(End(number, slot), (), f"{self.name} starts use {number}")

    def repeats(self, held: End) -> tuple[Flight, ...]:
        """Return what it asks for at any time, if it waits."""
        number, slot = held
        if slot.phase is Phase.FREE:
            return ()
        is_agg = slot.phase is Phase.PARTIAL
        payload = (BASE**self.index, number * BASE**self.index) if is_agg else ()
        packet = Packet(is_agg, 1 << self.member.place, slot.use, payload=payload)
        return (upwards(self.member, number, packet),)

    def at_rest(self, held: End) -> bool:
        """Whether it is free, of the last use if there is a last one."""
        last = self.uses.total is None or held.number == self.uses.total - 1
        return last and held.slot.phase is Phase.FREE
