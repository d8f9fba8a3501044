"""Models switches of a tree and workers as nodes of a network, with what only the checker may know.

The checker numbers the uses, and gives worker m's partial activation of use n the payload
(BASE^m, n BASE^m): a sum has each worker's activation of use n, once, just if all digits of the
first lane are 1 and all digits of the second are n. A tree of one switch is P4SGD's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

from sim.golden.reduction.allreduce import (
    Outcome,
    Packet,
    Phase,
    SwitchSlot,
    Verdict,
    WorkerSlot,
    worker_rule,
    worker_starts,
)
from sim.golden.reduction.tree_rule import TreeOutcome, TreeSlot, child_rule, parent_rule, root_rule
from sim.golden.reduction.wide_rule import acknowledges
from sim.golden.tree_plan import Member, TreePlan
from tests.protocol.network import Change, Flight, Node

LANES = 2
SUM_BITS = 30  #: that the digits of all workers have together
UP = 0  #: the port to the parent; child k is behind port k + 1

PARTIAL_AS_FULL = "a full activation before every worker had contributed"
WRONG_SUM = "a wrong sum accepted"
REPEATED_SUM = "a sum handed on twice"
FREED_EARLY = "a worker freed before all had received the sum"
FAULTS = frozenset({PARTIAL_AS_FULL, WRONG_SUM, REPEATED_SUM, FREED_EARLY})


def slot_at_start(everyone: int, uses: int) -> SwitchSlot:
    """Return the root's slot as the specification has it."""
    return SwitchSlot.at_start(everyone, LANES, uses)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What switches and workers do, by the specification or by a variant of it."""

    slot: Callable[[int, int], Any] = slot_at_start
    root: Callable[[Any, Packet, int, int], Outcome] = root_rule
    child: Callable[[TreeSlot, Packet, int, int], TreeOutcome] = child_rule
    parent: Callable[[TreeSlot, Packet, int], TreeOutcome] = parent_rule
    worker: Callable[[WorkerSlot, Packet], tuple[WorkerSlot, Verdict]] = worker_rule
    #: phases in which a worker may start a use, and those in which it may acknowledge its own
    starts_in: tuple[Phase, ...] = (Phase.FREE,)
    acknowledges_in: tuple[Phase, ...] = ()
    finished: Callable[[Any, int], bool] = lambda slot, everyone: slot.ack_bm == everyone


@dataclass(frozen=True, kw_only=True)
class Job:
    """What the nodes are set up with. Packets count uses modulo ``2^width``, the checker modulo
    ``period``.

    Without ``total`` uses go on for ever, which is exact as long as whatever is alive at a time
    lies within ``period`` uses. The numbers of run r of a job are r ``period`` and up.
    """

    plan: TreePlan
    width: int = 1
    total: int | None = None  #: uses after which workers start no more
    run: int = 0
    rules: Rules = Rules()
    watched: frozenset[str] = FAULTS  #: faults that end a search

    def __post_init__(self) -> None:
        if self.width < 0 or (self.width == 0 and self.total is None):
            raise ValueError("width must be positive, or 0 with a total")
        if (self.run + 1) * self.period > self.base:
            raise ValueError(f"only {self.base} numbers can be told apart, not {self.period}")

    @cached_property
    def base(self) -> int:
        """Return BASE."""
        return 1 << SUM_BITS // len(self.plan.workers)

    @cached_property
    def distinguished(self) -> int:
        """Return how many uses packets tell apart."""
        return 1 << self.width

    @cached_property
    def period(self) -> int:
        """Return how many numbers the checker tells apart in a run."""
        return 2 * self.distinguished if self.total is None else self.total + 1

    @property
    def start(self) -> int:
        """Return the number of the use before the first, which all nodes are at first in."""
        return (self.run + 1) * self.period - 1

    def ahead(self, number: int, uses: int) -> int:
        """Return the number of a use that is so many ahead."""
        return number - number % self.period + (number + uses) % self.period

    def order(self, number: int) -> tuple[int, int]:
        """Return what orders the numbers of a job whose uses are counted: run, and use of it."""
        return number // self.period, (number + 1) % self.period

    def goes_on(self, number: int) -> bool:
        """Whether workers start another use after one."""
        return self.total is None or number % self.period != self.total - 1

    def payload(self, worker: int, number: int) -> tuple[int, int]:
        """Return a worker's partial activation of a use."""
        return self.base**worker, number * self.base**worker

    def full_sum(self, number: int) -> tuple[int, ...]:
        """Return the full activation of a use."""
        parts = [self.payload(worker, number) for worker in range(len(self.plan.workers))]
        return tuple(map(sum, zip(*parts, strict=True)))

    def seen(self, fault: str) -> str:
        """Return a fault if it is watched."""
        return fault if fault in self.watched else ""


class End(NamedTuple):
    """A slot of a switch or a worker, with the number of its use."""

    number: int
    slot: Any


class Kind(Enum):
    """Says what a node tells the network."""

    STARTED = "a worker has started a use"
    FREED = "a worker is freed of its use"
    FINISHED = "a switch has finished its use"


class Event(NamedTuple):
    """What a node tells the network, and which use it is about."""

    kind: Kind
    node: int
    number: int


def packet_to(node: int, port: int, number: int, packet: Packet) -> Flight:
    """Return a packet on its way to a port of a node."""
    down = port == UP
    if not packet.is_agg:
        kind = "acked" if down else "ACK"
    elif packet.pending:
        kind = "pending"
    else:
        kind = "FA" if down else "PA"
    return Flight(node, port, packet, f"{kind} {number}", number)


def upwards(member: Member, number: int, packet: Packet) -> Flight:
    """Return a packet on its way to a member's parent."""
    assert member.parent is not None
    return packet_to(member.parent, UP + 1 + member.place, number, packet)


@dataclass(frozen=True, kw_only=True)
class SwitchNode(Node):
    """Models a switch; the one without a parent is the root."""

    name: str
    node: int
    job: Job

    @cached_property
    def member(self) -> Member:
        """Return its place in the tree."""
        return self.job.plan.members[self.node]

    @property
    def start(self) -> End:
        """Return it as a job's start leaves it: use -1, finished."""
        everyone, uses = self.member.everyone, self.job.distinguished
        if self.member.parent is None:
            return End(self.job.start, self.job.rules.slot(everyone, uses))
        return End(self.job.start, TreeSlot.at_start(everyone, LANES, uses))

    def takes(self, held: End, flight: Flight) -> Change:
        """Return what follows when a packet comes in."""
        outcome = self.outcome(held.slot, flight)
        ahead = (use_of(outcome.slot) - use_of(held.slot)) % self.job.distinguished
        after = End(self.job.ahead(held.number, ahead), outcome.slot)
        finished = self.at_rest(after) and not self.at_rest(held)
        return Change(
            after,
            tuple(self.sent(outcome, flight.number)),
            f"{self.name} takes {flight.name} by port {flight.port}: {outcome.verdict}",
            self.fault(outcome.down),
            Event(Kind.FINISHED, self.node, after.number) if finished else None,
        )

    def outcome(self, slot: Any, flight: Flight) -> TreeOutcome:
        """Return what the rule makes of a packet."""
        rules, packet, uses = self.job.rules, flight.frame, self.job.distinguished
        assert isinstance(packet, Packet)
        if self.member.parent is None:
            flat = rules.root(slot, packet, self.member.everyone, uses)
            return TreeOutcome(flat.slot, flat.verdict, flat.answer)
        if flight.port == UP:
            return rules.parent(slot, packet, self.member.everyone)
        return rules.child(slot, packet, self.member.everyone, uses)

    def fault(self, answer: Packet | None) -> str:
        """Return what is wrong with the root's answer."""
        if self.member.parent is not None or answer is None:
            return ""
        if not answer.is_agg or answer.pending:
            return ""
        complete = answer.payload[0] == self.job.full_sum(0)[0]
        return "" if complete else self.job.seen(PARTIAL_AS_FULL)

    def sent(self, outcome: TreeOutcome, number: int) -> Iterator[Flight]:
        """Return what it answers."""
        down, up = outcome.down, outcome.up
        if down is not None and not self.without_effect(down):
            for k, child in enumerate(self.member.children):
                if down.bm >> k & 1:
                    yield packet_to(child, UP, number, replace(down, bm=1 << k))
        if up is not None:
            yield upwards(self.member, number, replace(up, bm=1 << self.member.place))

    def without_effect(self, answer: Packet) -> bool:
        """Whether no worker changes with it, in whatever state: then it is not followed.

        Pending is such an answer; what workers make of it is the matter of `patience`.
        """
        uses, rule = range(self.job.distinguished), self.job.rules.worker
        slots = (WorkerSlot(use, phase) for use in uses for phase in Phase)
        return all(rule(slot, answer)[0] == slot for slot in slots)

    def at_rest(self, held: End) -> bool:
        """Whether all uses that were begun have finished."""
        slot = held.slot
        if isinstance(slot, TreeSlot):
            return slot.finished
        return self.job.rules.finished(slot, self.member.everyone)


def use_of(slot: Any) -> int:
    """Return the use of a switch's slot, by whatever rule."""
    return slot.own.use if isinstance(slot, TreeSlot) else slot.use


@dataclass(frozen=True, kw_only=True)
class WorkerNode(Node):
    """Models a worker; below a tree's switch it is as below a single one."""

    name: str
    index: int  #: among all workers
    node: int
    job: Job

    @property
    def start(self) -> End:
        """Return it as a job's start leaves it."""
        return End(self.job.start, WorkerSlot.at_start(self.job.distinguished))

    def takes(self, held: End, flight: Flight) -> Change:
        """Return what follows when a packet comes in."""
        packet = flight.frame
        assert isinstance(packet, Packet)
        slot, verdict = self.job.rules.worker(held.slot, packet)
        fault, event = "", None
        if verdict is Verdict.FREED:
            event = Event(Kind.FREED, self.node, held.number)
        elif verdict is Verdict.FULL and packet.payload != self.job.full_sum(held.number):
            fault = self.job.seen(WRONG_SUM)
        elif verdict is Verdict.FULL and held.slot.phase is not Phase.PARTIAL:
            fault = self.job.seen(REPEATED_SUM)
        step = f"{self.name} takes {flight.name}: {verdict}"
        return Change(End(held.number, slot), (), step, fault, event)

    def moves(self, held: End) -> Iterator[Change]:
        """Return the start of its next use, and its acknowledgement of the last, if it may."""
        free, rules = replace(held.slot, phase=Phase.FREE), self.job.rules
        used = self.job.total is None or held.number != self.job.start
        if used and held.slot.phase in rules.acknowledges_in:
            ends = End(held.number, acknowledges(free))
            yield Change(ends, (), f"{self.name} acknowledges use {held.number}")
        if held.slot.phase in rules.starts_in and self.job.goes_on(held.number):
            number = self.job.ahead(held.number, 1)
            slot = worker_starts(free, self.job.distinguished)
            event = Event(Kind.STARTED, self.node, number)
            yield Change(End(number, slot), (), f"{self.name} starts use {number}", "", event)

    def repeats(self, held: End) -> tuple[Flight, ...]:
        """Return what it asks for at any time, if it waits."""
        number, slot = held
        if slot.phase is Phase.FREE:
            return ()
        member, is_agg = self.job.plan.members[self.node], slot.phase is Phase.PARTIAL
        payload = self.job.payload(self.index, number) if is_agg else ()
        packet = Packet(is_agg, 1 << member.place, slot.use, payload=payload)
        return (upwards(member, number, packet),)

    def at_rest(self, held: End) -> bool:
        """Whether it is free, of the last use if there is a last one."""
        last = self.job.total is None or not self.job.goes_on(held.number)
        return last and held.slot.phase is Phase.FREE
