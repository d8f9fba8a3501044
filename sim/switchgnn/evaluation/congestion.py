"""Simulates one aggregation while other traffic uses the same links: queues, marks, losses,
repeats.

Time is in slots: a link carries a packet in each. Workers send features of a turn in their order,
as far as their window, their token bucket and the background on their link allow: a link takes
turns if it has both. The switch adds ``rows`` of lists in a slot, in the order of arrival, and
acknowledges what it has added. Its ports have queues of ``room`` packets, which the background
shares: what finds one full is lost. If sums wait in their aggregators instead, they have a queue of
their own, and share the port (:mod:`sim.switchgnn.evaluation.ports`). ACKs are marked while any
queue of sums is longer than ``mark``, and slow their workers down, by the rule of
:mod:`sim.switchgnn.golden.congestion`. Turns come one after the other. Every worker must have its
sums of one, and the switch must hear of that, before it tells all to begin the next.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.switchgnn.evaluation.background import Background
from sim.switchgnn.evaluation.ports import FairPorts, SharedPorts
from sim.switchgnn.evaluation.repeats import LINKS, Repeats
from sim.switchgnn.golden.congestion import RateSettings, TokenBuckets
from sim.switchgnn.planning.saved import starts
from sim.switchgnn.planning.senders import Senders

Ints = NDArray[np.int64]
MAX_SLOTS = 400  #: limit of the time, as a multiple of that on empty links


class StuckError(Exception):
    """Reports an aggregation that does not end, and when it was given up."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """Sets links and queues, in slots and packets."""

    delay: int  #: slots of a link
    room: int  #: packets of a port's queue
    mark: int  #: packets of a queue above which it is congested
    window: int  #: features that a worker sends ahead of the oldest one without acknowledgement
    timeout: int  #: slots without news after which a worker asks for what is missing
    rows: float = np.inf  #: rows of lists that the switch adds in a slot
    ack_every: int = 1  #: features of a worker that an ACK acknowledges


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Says how switch and workers treat congestion."""

    keeps_sums: bool  #: a sum without room waits in its aggregator; else it is lost
    rate: RateSettings | None = None  #: of the workers, if they slow down for marks


@dataclass(kw_only=True)
class Outcome:
    """Counts what an aggregation took, and what became of its packets."""

    slots: int = 0
    lost: int = 0  #: sums, and features that were asked for, that found no room
    repeated: int = 0  #: packets that were sent for lost sums
    marks: int = 0  #: slots in which a worker got a marked ACK
    halvings: int = 0  #: number of times that workers' rates were halved
    background_lost: int = 0
    background: int = 0  #: packets of other traffic that came to the switch


class Aggregation:
    """Runs a job's turns, slot by slot."""

    def __init__(
        self,
        senders: Senders,
        sequence: Ints,
        workers: int,
        network: Network,
        rules: Rules,
        background: Background,
        rows: Ints | None = None,
    ) -> None:
        """Take ``rows``, those of each sender's list; None where the switch adds at any rate."""
        self.senders, self.network, self.rules = senders, network, rules
        self.workers, self.background = workers, background
        self.outcome = Outcome()
        self.queues = SharedPorts(workers, network.room)
        self.fair = FairPorts(workers, network.room) if rules.keeps_sums else None
        self.buckets = TokenBuckets(workers, rules.rate) if rules.rate else None
        lists = [sequence[senders.worker[sequence] == worker] for worker in range(workers)]
        self.lengths = np.array([each.size for each in lists])
        self.lists = np.full((workers, int(self.lengths.max())), -1)
        for worker, each in enumerate(lists):
            self.lists[worker, : each.size] = each
        sender, self.reached = senders.additions
        self.first = starts(np.bincount(sender, minlength=senders.count))
        self.owner = senders.aggregator_worker.astype(np.int64)
        self.sent = np.zeros(workers, np.int64)  #: features, since the first turn
        self.judged = np.zeros(workers, np.int64)  #: those of them that were added
        self.before = [self.judged] * (network.delay + 1)  #: the same, in slots before
        self.echoes = [np.zeros(workers, bool)] * (network.delay + 1)  #: whose ACKs are marked
        self.on_path: dict[int, list[Any]] = {}  #: features, by the slot in which they come
        self.rows = np.zeros(senders.count, np.int64) if rows is None else rows
        self.line: deque[int] = deque()  #: features whose rows wait
        self.left = 0.0  #: rows of the slot that are left; negative for those of slots to come
        self.coming: dict[int, list[Any]] = {}  #: what workers get, by slot
        self.crossing: dict[int, Ints] = {}  #: targets of background, by slot
        self.yields = np.zeros(workers, bool)  #: which workers' links have just carried background

    def run(self, turns: int, begin: int = 0) -> Outcome:
        """Run this many turns, after ``begin`` slots of background alone.

        Raises StuckError if they do not end.
        """
        least = turns * (int(self.lengths.max()) + 8 * self.network.delay + 8)
        now = 0
        for _ in range(begin):
            self.cross(now)
            now += 1
        for _ in range(turns):
            now = self.turn(now, begin + MAX_SLOTS * least)
        self.outcome.slots = now - begin
        return self.outcome

    def turn(self, now: int, limit: int) -> int:
        """Run one turn; return the slot in which the next one begins."""
        self.next = np.zeros(self.workers, np.int64)
        self.missing = self.senders.expected.copy()
        self.required = np.bincount(self.owner, minlength=self.workers)
        self.heard = np.full(self.workers, now)  #: when each worker got something
        self.repeats = Repeats(self.senders, self.workers)
        while (self.required > 0).any() or (self.next < self.lengths).any():
            if now > limit:
                raise StuckError(f"no end after {now:,} slots")
            self.slot(now)
            now += 1
        for _ in range(2 * self.network.delay):  # DONE, and ADVANCE
            self.cross(now)
            now += 1
        return now

    def slot(self, now: int) -> None:
        """Pass a slot: background, sums and repeats enter queues; workers get, ask and send."""
        self.arrive(now)
        self.line.extend(u for each in self.on_path.pop(now, []) for u in each)
        self.release(self.added(self.served()), now)
        again, ports = self.repeats.leaving(now)
        fits, _, leave = self.queues.put(ports, now)
        self.outcome.repeated += again.size
        self.outcome.lost += int((~fits).sum())
        self.repeats.lose(ports[~fits])
        for packet, port, slot in zip(again[fits], ports[fits], leave[fits], strict=True):
            self.deliver(int(slot)).append((np.array([packet]), np.array([port]), True))
        self.acknowledge(now)
        self.get(now)
        self.issue(now)
        self.send(now)

    def cross(self, now: int) -> None:
        """Pass a slot in which there are no features."""
        self.carry(self.background.waits(now), now)
        self.arrive(now)
        if self.fair:
            self.fair.leave()

    def arrive(self, now: int) -> None:
        """Take the background that comes to the switch."""
        targets = self.crossing.pop(now, np.zeros(0, np.int64))
        fits = self.fair.cross(targets) if self.fair else self.queues.put(targets, now)[0]
        self.outcome.background += fits.size
        self.outcome.background_lost += int((~fits).sum())

    def carry(self, carries: NDArray[np.bool_], now: int) -> None:
        """Let the links of some workers carry a packet of the background."""
        targets = self.background.take(carries)
        self.crossing[now + self.network.delay] = targets
        self.yields = carries

    def served(self) -> list[int]:
        """Return the features whose rows are added in this slot."""
        self.left, result = min(self.left, 0) + self.network.rows, []
        while self.line and self.left > 0:
            result.append(self.line.popleft())
            self.left -= self.rows[result[-1]]
        self.judged = self.judged + np.bincount(self.senders.worker[result], None, self.workers)
        return result

    def added(self, features: Sequence[int]) -> Ints:
        """Return the aggregators that the features complete."""
        spans = [self.reached[self.first[u] : self.first[u + 1]] for u in features]
        if not spans:
            return np.zeros(0, np.int64)
        touched = np.concatenate(spans)
        np.subtract.at(self.missing, touched, 1)
        return np.unique(touched[self.missing[touched] == 0])

    def release(self, complete: Ints, now: int) -> None:
        """Put complete sums into their queues, or lose them; let those of this slot leave."""
        if self.fair:
            self.fair.put(complete, self.owner[complete])
            left = self.fair.leave()
            if left.size:
                self.deliver(now).append((left, self.owner[left], False))
            return
        fits, _, leave = self.queues.put(self.owner[complete], now)
        for slot in np.unique(leave[fits]).tolist():
            own = complete[fits][leave[fits] == slot]
            self.deliver(slot).append((own, self.owner[own], False))
        self.outcome.lost += int((~fits).sum())
        self.repeats.miss(complete[~fits])

    def acknowledge(self, now: int) -> None:
        """Acknowledge what is added; mark the ACKs of this slot if a queue is congested."""
        acknowledged = self.judged - self.judged % self.network.ack_every
        waiting = self.fair.own if self.fair else self.queues.waiting(now)
        congested = (waiting > self.network.mark).any()
        self.echoes = [*self.echoes[1:], congested & (acknowledged > self.before[-1])]
        self.before = [*self.before[1:], acknowledged]

    def deliver(self, leaves: int) -> list[Any]:
        """Return the list for what leaves its port in a slot."""
        return self.coming.setdefault(leaves + 1 + self.network.delay, [])

    def get(self, now: int) -> None:
        """Give workers their sums and repeats."""
        for packets, ports, again in self.coming.pop(now, ()):
            self.heard[ports] = now
            if again:
                recovered = self.repeats.get(int(packets[0]), int(ports[0]))
                self.required[ports[0]] -= recovered
            else:
                np.subtract.at(self.required, ports, 1)

    def issue(self, now: int) -> None:
        """Let workers that have heard nothing for long ask for what was lost."""
        late = (now - self.heard >= self.network.timeout) & (self.required > 0)
        for worker in np.flatnonzero(late).tolist():
            self.repeats.issue(worker, now + self.network.delay * LINKS)
            self.heard[worker] = now

    def send(self, now: int) -> None:
        """Let workers send a feature each, if they have one and may."""
        acknowledged, marked = self.before[0], self.echoes[0]
        self.outcome.marks += int(marked.sum())
        may = self.next < self.lengths
        may &= self.sent - acknowledged < self.network.window
        waits = self.background.waits(now)
        if self.buckets:
            may &= self.buckets.may_begin
        may &= ~waits | self.yields
        self.carry(waits & ~may, now)
        if self.buckets:
            self.outcome.halvings += int(self.buckets.step(marked, may).sum())
        workers = np.flatnonzero(may)
        self.on_path.setdefault(now + self.network.delay, []).append(
            self.lists[workers, self.next[workers]]
        )
        self.next[workers] += 1
        self.sent = self.sent + may
