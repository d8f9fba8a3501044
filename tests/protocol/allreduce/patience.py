"""Explores how long workers ask: a switch that is gone and late peers are told apart, in time.

A round trip is shorter than a timeout, so that a timer runs out when nothing of its packet is left
in flight: a repetition is one step with the answers to it, or with its loss. One use is enough:
what may happen between uses is explored without timers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import product

from sim.golden.reduction.allreduce import (
    GaveUp,
    Outcome,
    Packet,
    Phase,
    SwitchSlot,
    Tries,
    Verdict,
    WorkerSlot,
    sends_again,
    switch_rule,
    worker_rule,
    worker_starts,
)
from tests.protocol.allreduce.nodes import LANES

NAMES = "ABC"  # of the workers
FALSE_ALARM = "a switch given up that answers"
TOO_EARLY = "peers given up too early"
BLAMED = "peers given up while the switch is silent"
UNNOTICED = "a switch that is gone is not noticed in time"
ENDLESS = "peers are waited for without end"


class Peer(Enum):
    """Says what becomes of the last worker."""

    LATE = "late"  # it starts at any time
    ABSENT = "absent"  # it never starts


@dataclass(frozen=True)
class Waiting:
    """A worker; only the checker knows what is below `owes_ack`."""

    slot: WorkerSlot
    tries: Tries = field(default_factory=Tries)
    abandoned: GaveUp | None = None
    owes_ack: bool = False  # which goes out at once, whatever the timer says
    lost: int = 0  # of its packets and of answers to it, in a row
    unanswered: int = 0  # of its packets in a row that were lost, or the answer to them
    expiries: int = 0  # of the packet's timer
    in_vain: int = 0  # of them since the switch is gone


State = tuple[SwitchSlot, bool, tuple[Waiting, ...]]  # the slot, whether the switch is there
Step = tuple[str, State, str]


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Models the system; ``losses`` is how many packets of a worker are lost in a row at most."""

    worker_count: int = 2
    retries: int = 2
    peer_retries: int = 4
    losses: int = 0
    peer: Peer = Peer.LATE
    mortal: bool = True  # the switch may go away at any time
    switch: Callable[[SwitchSlot, Packet, int], Outcome] = switch_rule
    again: Callable[[Tries, int, int], Tries | GaveUp] = sends_again

    @property
    def everyone(self) -> int:
        """Return the bitmap of all workers."""
        return (1 << self.worker_count) - 1

    @property
    def start(self) -> State:
        """Return all as a job's start leaves it."""
        worker = Waiting(WorkerSlot.at_start())
        return SwitchSlot.at_start(self.everyone, LANES), True, (worker,) * self.worker_count

    def steps(self, state: State) -> Iterator[Step]:
        """Return all that may happen next."""
        slot, present, workers = state
        if present and self.mortal:
            yield "the switch goes away", (slot, False, workers), ""
        for index, worker in enumerate(workers):
            absent = self.peer is Peer.ABSENT and index == self.worker_count - 1
            if worker.abandoned or absent:
                continue
            if worker.slot.use == self.start[2][0].slot.use:
                begun = Waiting(worker_starts(worker.slot))
                yield from self.sends(state, index, begun, f"{NAMES[index]} starts")
            elif worker.owes_ack:
                sender = replace(worker, owes_ack=False)
                yield from self.sends(state, index, sender, f"{NAMES[index]} acknowledges")
            elif worker.slot.phase is not Phase.FREE:
                yield from self.expires(state, index, worker)

    def expires(self, state: State, index: int, worker: Waiting) -> Iterator[Step]:
        """Return what follows when a timer runs out: it asks once more, or never again."""
        slot, present, workers = state
        what = f"the timer of {NAMES[index]} runs out"
        worker = replace(
            worker, expiries=worker.expiries + 1, in_vain=worker.in_vain + (not present)
        )
        decided = self.again(worker.tries, self.retries, self.peer_retries)
        if isinstance(decided, GaveUp):
            fault = ""
            # All sendings were in vain, but for one: what is news to the switch is not answered.
            if decided is GaveUp.NETWORK and worker.unanswered < self.retries:
                fault = FALSE_ALARM
            if decided is GaveUp.PEERS and worker.expiries <= self.peer_retries:
                fault = TOO_EARLY
            if decided is GaveUp.PEERS and worker.unanswered:
                fault = BLAMED
            after = placed(workers, index, replace(worker, abandoned=decided))
            yield f"{what}: {decided}", (slot, present, after), fault
            return
        fault = UNNOTICED if worker.in_vain > self.retries + 1 else ""
        # Behind the bound it takes an answer to tell that peers are missing.
        most = self.peer_retries + self.retries + 1
        fault = fault or (ENDLESS if worker.expiries > most else "")
        for step, after, wrong in self.sends(state, index, replace(worker, tries=decided), what):
            yield step, after, fault or wrong

    def sends(self, state: State, index: int, worker: Waiting, what: str) -> Iterator[Step]:
        """Return what follows as a worker asks: it is lost or taken, and so is each answer."""
        slot, present, workers = state
        workers = placed(workers, index, worker)
        if not present or worker.lost < self.losses:
            lost = replace(worker, lost=worker.lost + 1, unanswered=worker.unanswered + 1)
            yield f"{what}, its packet is lost", (slot, present, placed(workers, index, lost)), ""
        if not present:
            return
        is_agg = worker.slot.phase is Phase.PARTIAL
        payload = (1,) * LANES if is_agg else ()
        packet = Packet(is_agg, 1 << index, worker.slot.use, payload=payload)
        outcome = self.switch(slot, packet, self.everyone)
        answer = outcome.answer
        to = [k for k in range(self.worker_count) if answer and answer.bm >> k & 1]
        may_lose = [(False, True) if workers[k].lost < self.losses else (False,) for k in to]
        for choice in product(*may_lose):
            after, step = workers, f"{what}, switch: {outcome.verdict}"
            for k, gone in zip(to, choice, strict=True):
                assert answer is not None
                now = after[k]
                own = now.unanswered + (k == index)
                missed = replace(now, lost=now.lost + 1, unanswered=own)
                taken = missed if gone else self.takes(now, answer)
                step += f", {NAMES[k]}'s answer is lost" * gone
                after = placed(after, k, taken)
            yield step, (outcome.slot, present, after), ""

    def takes(self, worker: Waiting, answer: Packet) -> Waiting:
        """Return what follows when an answer comes in."""
        slot, verdict = worker_rule(worker.slot, answer)
        if verdict is Verdict.PENDING:
            return replace(worker, tries=replace(worker.tries, heard=True), lost=0, unanswered=0)
        if verdict in (Verdict.FULL, Verdict.FREED):
            return Waiting(slot, abandoned=worker.abandoned, owes_ack=verdict is Verdict.FULL)
        return worker

    def emptied(self, ends: State) -> State:
        """Return the same state, as nothing is in flight."""
        return ends

    def ends(self, state: State) -> State:
        """Return the state."""
        return state

    def round_trips(self, ends: State) -> Iterator[State]:
        """Return all steps without a fault."""
        return (after for _, after, fault in self.steps(ends) if not fault)

    def at_rest(self, ends: State) -> bool:
        """Whether everyone who came is freed, or has given up and says why."""
        _, _, workers = ends
        absent = self.peer is Peer.ABSENT
        return all(
            w.abandoned or w.slot.phase is Phase.FREE for w in workers[: -1 if absent else None]
        )


def placed(workers: tuple[Waiting, ...], index: int, worker: Waiting) -> tuple[Waiting, ...]:
    """Return the workers with one of them replaced."""
    return (*workers[:index], worker, *workers[index + 1 :])
