"""Models switch and workers of one slot by the protocol's rules, with what only the checker may
know.

The rules see packets with the use modulo `uses`. The checker gives each packet and each end the
number of its use, and worker m's partial activation of use n the payload (BASE^m, n BASE^m): a sum
holds each worker's activation of use n, once, just if all digits of the first lane are 1 and all
digits of the second are n.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sim.p4sgd.golden.allreduce import (
    Outcome,
    Packet,
    Phase,
    SwitchSlot,
    Verdict,
    WorkerSlot,
    switch_rule,
    worker_rule,
    worker_starts,
)

BASE = 1024  # more than the numbers that are told apart; three digits fit into 31 bits
LANES = 2
NAMES = "ABC"

PARTIAL_AS_FULL = "a full activation before every worker had contributed"
WRONG_SUM = "a wrong sum accepted"
REPEATED_SUM = "a sum handed on twice"
FREED_EARLY = "a worker freed before all had received the sum"
FAULTS = frozenset({PARTIAL_AS_FULL, WRONG_SUM, REPEATED_SUM, FREED_EARLY})


def slot_at_start(everyone: int, uses: int) -> SwitchSlot:
    """Return the switch's slot as the specification has it."""
    return SwitchSlot.at_start(everyone, LANES, uses)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What switch and workers do, by the specification or by a variant of it."""

    slot: Callable[[int, int], SwitchSlot] = slot_at_start
    switch: Callable[[SwitchSlot, Packet, int, int], Outcome] = switch_rule
    worker: Callable[[WorkerSlot, Packet], tuple[WorkerSlot, Verdict]] = worker_rule


class Flight(NamedTuple):
    """A packet on its way to or from one worker."""

    worker: int
    number: int  # of the use; only the checker knows it
    packet: Packet
    down: bool

    @property
    def name(self) -> str:
        """Return what it is, and of which use."""
        if not self.packet.is_agg:
            kind = "acked" if self.down else "ACK"
        elif self.packet.pending:
            kind = "pending"
        else:
            kind = "FA" if self.down else "PA"
        return f"{kind} {self.number}"

    def __str__(self) -> str:
        return f"{self.name} {'to' if self.down else 'of'} {NAMES[self.worker]}"


class SwitchEnd(NamedTuple):
    """The switch's slot and the number of its use."""

    number: int
    slot: SwitchSlot


class WorkerEnd(NamedTuple):
    """A worker's slot and the number of its use."""

    number: int
    slot: WorkerSlot


class Ends(NamedTuple):
    """Everything but the network."""

    switch: SwitchEnd
    workers: tuple[WorkerEnd, ...]


class Taken(NamedTuple):
    """What the switch does with a packet."""

    switch: SwitchEnd
    answers: tuple[Flight, ...]
    finished: bool  # the last acknowledgement of the switch's use came in
    step: str
    fault: str


@dataclass(kw_only=True)
class Model:
    """Models one slot. Without `total`, uses go on for ever: numbers are kept modulo `period`.

    That is exact as long as whatever is alive at a time lies within `period` uses.
    """

    worker_count: int
    width: int = 1  # w: bits of the use in a packet
    total: int | None = None  # uses after which workers start no more
    rules: Rules = Rules()
    watched: frozenset[str] = FAULTS  # faults that end a search
    verdicts: set[Verdict] = field(default_factory=set)  # that were reached

    def __post_init__(self) -> None:
        if not 1 <= self.worker_count <= len(NAMES):
            raise ValueError(f"workers must be 1 to {len(NAMES)}, not {self.worker_count}")
        if self.width < 0 or (self.width == 0 and self.total is None):
            raise ValueError("width must be positive, or 0 with a total")
        if self.period >= BASE:
            raise ValueError(f"only {BASE - 1} numbers can be told apart, not {self.period}")

    @property
    def uses(self) -> int:
        """Return how many uses packets tell apart."""
        return 1 << self.width

    @property
    def period(self) -> int:
        """Return how many numbers the checker tells apart."""
        return 2 * self.uses if self.total is None else self.total + 1

    @property
    def everyone(self) -> int:
        """Return the bitmap of all workers."""
        return (1 << self.worker_count) - 1

    @property
    def start(self) -> Ends:
        """Return the ends as a job's start leaves them: use -1, finished."""
        before = self.period - 1
        switch = SwitchEnd(before, self.rules.slot(self.everyone, self.uses))
        return Ends(
            switch, (WorkerEnd(before, WorkerSlot.at_start(self.uses)),) * self.worker_count
        )

    def right_sum(self, number: int) -> tuple[int, int]:
        """Return the full activation of a use."""
        ones = sum(BASE**worker for worker in range(self.worker_count))
        return ones, number * ones

    def may_start(self, worker: WorkerEnd) -> bool:
        """Whether a worker begins another use."""
        last = self.total is not None and worker.number == self.total - 1
        return worker.slot.phase is Phase.FREE and not last

    def starts(self, worker: WorkerEnd) -> WorkerEnd:
        """Return a worker that may start after it has started."""
        number = (worker.number + 1) % self.period
        return WorkerEnd(number, worker_starts(worker.slot, self.uses))

    def sent(self, index: int, worker: WorkerEnd) -> Flight | None:
        """Return what the worker sends at any time, again and again."""
        number, slot = worker
        if slot.phase is Phase.FREE:
            return None
        bm, is_agg = 1 << index, slot.phase is Phase.PARTIAL
        payload = (BASE**index, number * BASE**index) if is_agg else ()
        return Flight(index, number, Packet(is_agg, bm, slot.use, payload=payload), down=False)

    def switch_takes(self, switch: SwitchEnd, flight: Flight) -> Taken:
        """Return what follows when the switch gets a packet."""
        outcome = self.rules.switch(switch.slot, flight.packet, self.everyone, self.uses)
        self.verdicts.add(outcome.verdict)
        slot, answer = outcome.slot, outcome.answer
        ahead = (slot.use - switch.slot.use) % self.uses
        after = SwitchEnd((switch.number + ahead) % self.period, slot)
        answers, fault = (), ""
        if answer and not self.without_effect(answer):
            answers = tuple(
                Flight(worker, flight.number, replace(answer, bm=1 << worker), down=True)
                for worker in range(self.worker_count)
                if answer.bm >> worker & 1
            )
            is_sum = answer.is_agg and not answer.pending
            complete = not is_sum or answer.payload[0] == self.right_sum(0)[0]
            fault = "" if complete else self.seen(PARTIAL_AS_FULL)
        finished = slot.ack_bm == self.everyone and (ahead > 0 or slot != switch.slot)
        step = f"switch takes {flight}: {outcome.verdict}"
        return Taken(after, answers, finished, step, fault)

    def without_effect(self, answer: Packet) -> bool:
        """Whether no worker changes with it, in whatever state: then it is not followed.

        Pending is such an answer; what workers make of it is the matter of `patience`.
        """
        slots = (WorkerSlot(use, phase) for use in range(self.uses) for phase in Phase)
        return all(self.rules.worker(slot, answer)[0] == slot for slot in slots)

    def worker_takes(self, worker: WorkerEnd, flight: Flight) -> tuple[WorkerEnd, Verdict]:
        """Return what follows when a worker gets a packet."""
        slot, verdict = self.rules.worker(worker.slot, flight.packet)
        self.verdicts.add(verdict)
        return WorkerEnd(worker.number, slot), verdict

    def fault(self, ends: Ends, flight: Flight, verdict: Verdict) -> str:
        """Return what is wrong when a worker takes a packet for what it waits for."""
        number, slot = ends.workers[flight.worker]
        if verdict is Verdict.FULL and flight.packet.payload != self.right_sum(number):
            return self.seen(WRONG_SUM)
        if verdict is Verdict.FULL and slot.phase is not Phase.PARTIAL:
            return self.seen(REPEATED_SUM)
        if verdict is Verdict.FREED and not all(self.has(end, number) for end in ends.workers):
            return self.seen(FREED_EARLY)
        return ""

    def seen(self, fault: str) -> str:
        """Return the fault, if it is watched."""
        return fault if fault in self.watched else ""

    def has(self, worker: WorkerEnd, number: int) -> bool:
        """Whether a worker has received the sum of a use that another one waits to be freed of."""
        if worker.number == number:
            return worker.slot.phase is not Phase.PARTIAL
        return worker.number == (number + 1) % self.period

    def at_rest(self, ends: Ends) -> bool:
        """Whether all workers are free, of the same use, and of the last one if there is one."""
        first = ends.workers[0]
        last = self.total is None or first.number == self.total - 1
        return last and first.slot.phase is Phase.FREE and set(ends.workers) == {first}
