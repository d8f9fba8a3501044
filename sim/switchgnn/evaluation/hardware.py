"""Predicts how long a job takes on the hardware, frame by frame, in cycles of the switch's clock.

A worker sends its frames in order, a window ahead of the oldest one without ACK. The switch judges
a frame a cycle and adds rows of lists, one a cycle, in the order in which frames were judged. No
more than ``tasks`` frames wait for their rows there; ports hold the others. A sum leaves its port
once it is complete. A turn ends when the switch has heard from all workers that they have their
sums. One turn is open at a time, and links lose nothing.

The latencies are those of the RTL (:data:`BOUND`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.tasks.task_queue import UNDER_WAY
from sim.switchgnn.evaluation.frames import BEAT, FrameSizes
from sim.switchgnn.evaluation.queues import departures
from sim.switchgnn.planning.banks import BankPlacement, rows_of
from sim.switchgnn.planning.senders import Senders

Ints = NDArray[np.int64]

BOUND = 0.05  #: how far the cycles of a job may be from the RTL's, as a share of them

JOB = 40  #: cycles of a job beside its turns
FIRST = 39  #: cycles until a turn's first frame leaves its worker
RESUME = 33  #: cycles from an ACK to the frame that it allows
JUDGE = 8  #: cycles from a frame's last beat to its verdict
ADD = 8  #: cycles from a verdict to the first row
LIST = 21  #: further cycles until a list comes from memory
ACK = 8  #: cycles from a verdict to the ACK
LEAVE = 13  #: cycles from the last addition to a sum's head
END = 101  #: cycles of a turn's end, beside the links


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Holds what bounds a turn, in frames and in cycles."""

    window: int  #: frames that a worker sends ahead of the oldest one without ACK
    tasks: int  #: frames that may wait for their rows
    feature: float  #: cycles of a FEATURE on a link
    sums: float  #: cycles of a PARTIAL or RESULT on a link
    link: int  #: latency of a link
    list_latency: int  #: cycles until a list comes
    ack_every: int = 4  #: new frames of a port that one ACK answers, after reset
    ack_delay: int = 500  #: most cycles until a frame is answered, after reset

    @classmethod
    def of(cls, switch: GnnSwitchParams, link: int, beats: float = 1.0) -> Self:
        """Return the limits of a switch with links of this latency and ``beats`` a cycle."""
        sizes = FrameSizes.of(switch.lanes)
        return cls(
            window=switch.window,
            tasks=switch.tasks - UNDER_WAY,
            feature=sizes.feature / BEAT / beats,
            sums=sizes.sums / BEAT / beats,
            link=link,
            list_latency=LIST if switch.in_memory else 0,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Turn:
    """Says when things happen in a turn of a block, in cycles since it opened."""

    taken: Ints  #: [aggregators of the block]: its first addition
    complete: Ints  #: [aggregators of the block]: its sum may leave
    left: Ints  #: [aggregators of the block]: the last beat of its sum leaves
    added: int  #: the last row
    cycles: int  #: the next turn opens


class Hardware:
    """Predicts the turns of a plan."""

    def __init__(
        self, senders: Senders, sequence: Ints, placement: BankPlacement, limits: Limits
    ) -> None:
        self.senders, self.limits = senders, limits
        self.rows = np.maximum(1, rows_of(senders, placement))
        self.link_cycles = np.where(senders.partial, limits.sums, limits.feature)
        self.waits = np.where(senders.partial, ADD, ADD + limits.list_latency)
        self.heights = np.zeros(senders.blocks, np.int64)
        np.maximum.at(self.heights, senders.aggregator_block, placement.index + 1)
        group = senders.block[sequence].astype(np.int64) * (int(senders.worker.max()) + 1)
        group += senders.worker[sequence]
        order = np.argsort(group, kind="stable")
        bounds = [0, *(np.flatnonzero(np.diff(group[order])) + 1).tolist(), group.size]
        #: frames of each block, for each worker that has some
        self.lists: list[list[list[int]]] = [[] for _ in range(senders.blocks)]
        for low, high in pairwise(bounds):
            own = sequence[order[low:high]]
            self.lists[senders.block[own[0]]].append(own.tolist())

    def job(self, program: Sequence[Sequence[int]]) -> int:
        """Return the cycles of a job with steps of a block and its turns.

        A block that differs from the one before is loaded, a row of descriptors a cycle.
        """
        turns = [self.turn(block).cycles for block in range(self.senders.blocks)]
        cycles, height, before = JOB, 0, -1
        for block, count in program:
            if block != before:
                cycles += max(height, int(self.heights[block]))
                height, before = int(self.heights[block]), block
            cycles += count * turns[block]
        return cycles

    def turn(self, block: int) -> Turn:
        """Follow a turn of a block."""
        senders, limits = self.senders, self.limits
        begin, end = self._additions(self.lists[block])
        near = senders.aggregator_block == block
        sender, aggregator = senders.additions
        inside = near[aggregator]
        taken = np.full(near.size, np.iinfo(np.int64).max)
        np.minimum.at(taken, aggregator[inside], begin[sender[inside]])
        complete = np.zeros(near.size, np.int64)
        np.maximum.at(complete, aggregator[inside], end[sender[inside]] + LEAVE)
        # Departures count slots of a sum.
        slots = np.ceil(complete[near] / limits.sums).astype(np.int64)
        left = departures(slots, senders.aggregator_worker[near]) + 1
        left = np.ceil(left * limits.sums).astype(np.int64)
        return Turn(
            taken=taken[near],
            complete=complete[near],
            left=left,
            added=int(end.max()),
            cycles=int(left.max()) + 3 * limits.link + END,
        )

    def _additions(self, lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
        """Return when the rows of each sender begin and end: [senders]."""
        limits = self.limits
        begin, end = (np.zeros(self.senders.count, np.int64) for _ in range(2))
        sent = [float(FIRST)] * len(lists)  # when each worker's last frame has left
        answered: list[list[float]] = [[] for _ in lists]  # when ACKs of its frames come
        judged: list[list[float]] = [[] for _ in lists]  # its frames without an ACK
        rows_begin: list[float] = []
        queue: list[tuple[float, int, int]] = []

        def answer(worker: int, cycle: float) -> None:
            times = judged[worker]
            answered[worker] += [cycle + ACK + limits.link + RESUME] * len(times)
            times.clear()

        def send(worker: int, which: int) -> None:
            if which >= limits.window:
                if len(answered[worker]) <= which - limits.window:
                    answer(worker, judged[worker][0] + limits.ack_delay)
                sent[worker] = max(sent[worker], answered[worker][which - limits.window])
            sent[worker] += self.link_cycles[lists[worker][which]]
            heappush(queue, (sent[worker] + limits.link + JUDGE, worker, which))

        for worker in range(len(lists)):
            send(worker, 0)
        verdict = free = 0.0
        while queue:
            arrival, worker, which = heappop(queue)
            frame = lists[worker][which]
            verdict = max(arrival, verdict + 1)
            if len(rows_begin) >= limits.tasks:
                verdict = max(verdict, rows_begin[-limits.tasks])
            rows_begin.append(max(verdict + self.waits[frame], free))
            free = rows_begin[-1] + self.rows[frame]
            begin[frame], end[frame] = rows_begin[-1], free
            judged[worker].append(verdict)
            if len(judged[worker]) == limits.ack_every:
                answer(worker, verdict)
            if which + 1 < len(lists[worker]):
                send(worker, which + 1)
        return begin, end
