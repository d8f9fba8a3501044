"""Predicts how long a job takes on the hardware, frame by frame, in cycles of the switch's clock.

A worker sends its frames in order, a window ahead of the oldest one without ACK. The switch judges
a frame a cycle and adds rows of lists, one a cycle, in the order in which frames were judged. No
more than ``tasks`` frames wait for their rows there; ports hold the others. A sum leaves its port
once it is complete. A turn ends when the switch has heard from all workers that they have their
sums. One turn is open at a time, and links lose nothing. Latencies are those of the RTL. Cycles
without a row, in which a bank reads a sum instead, are left out: they are few.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.tasks.task_queue import UNDER_WAY
from sim.switchgnn.evaluation.frames import BEAT, FrameSizes
from sim.switchgnn.evaluation.queues import Passage, departures
from sim.switchgnn.planning.banks import BankPlacement, rows_of
from sim.switchgnn.planning.senders import Senders

Ints = NDArray[np.int64]

BOUND = 0.05  #: how far the cycles of a job may be from the RTL's, as a share of them


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Holds what bounds a turn, in frames and in cycles."""

    window: int  #: frames that a worker sends ahead of the oldest one without ACK
    tasks: int  #: frames that may wait for their rows
    feature: float  #: cycles of a FEATURE on a link
    sums: float  #: cycles of a PARTIAL or RESULT on a link
    link: float  #: latency of a link
    lists: float  #: cycles until a list comes from memory; 0 on chip
    ack_every: int = 4  #: new frames of a port that one ACK answers, after reset
    ack_delay: float = 500  #: most cycles until a frame is answered, after reset
    job: float = 40  #: cycles of a job beside its turns
    first: float = 39  #: cycles until a turn's first frame leaves its worker
    resume: float = 33  #: cycles from an ACK to the frame that it allows
    judge: float = 8  #: cycles from a frame's last beat to its verdict
    add: float = 8  #: cycles from a verdict to the first row
    ack: float = 8  #: cycles from a verdict to the ACK
    leave: float = 13  #: cycles from the last addition to a sum's head
    end: float = 101  #: cycles of a turn's end, beside the links

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
            lists=21 if switch.in_memory else 0,
        )

    def scaled(self, ratio: float) -> Self:
        """Return the limits of frames each of which stands for ``ratio``, in as many cycles."""
        other = {name: value / ratio for name, value in vars(self).items()}
        whole = {name: math.ceil(other[name]) for name in ("window", "tasks", "ack_every")}
        return replace(self, **other | whole | {"feature": self.feature, "sums": self.sums})


class Hardware:
    """Predicts the turns of a plan."""

    def __init__(
        self, senders: Senders, sequence: Ints, placement: BankPlacement, limits: Limits
    ) -> None:
        self.senders, self.limits = senders, limits
        self.rows = np.maximum(1, rows_of(senders, placement))
        self.link_cycles = np.where(senders.partial, limits.sums, limits.feature)
        self.waits = np.where(senders.partial, limits.add, limits.add + limits.lists)
        self.heights = np.zeros(senders.blocks, np.int64)
        np.maximum.at(self.heights, senders.aggregator_block, placement.index + 1)
        self.sequence = sequence

    def job(self, program: Sequence[Sequence[int]]) -> int:
        """Return the cycles of a job with steps of a block and its turns.

        A block that differs from the one before is loaded, a row of descriptors a cycle.
        """
        cycles, height, before = self.limits.job, 0, -1
        for block, count in program:
            if block != before:
                cycles += max(height, self.heights[block])
                height, before = self.heights[block], block
            cycles += count * self.cycles[block]
        return round(cycles)

    @cached_property
    def turns(self) -> list[Passage]:
        """Follow a turn of each block: in cycles since it opened, and until sums may leave."""
        return [self._turn(block) for block in range(self.senders.blocks)]

    @cached_property
    def cycles(self) -> list[float]:
        """Return the cycles of a turn of each block, until the next one opens."""
        limits = self.limits
        return [turn.left.max() + 3 * limits.link + limits.end for turn in self.turns]

    def _turn(self, block: int) -> Passage:
        senders, limits = self.senders, self.limits
        own = self.sequence[senders.block[self.sequence] == block]
        workers = senders.worker[own]
        begin, end = self._additions([own[workers == w].tolist() for w in np.unique(workers)])
        near = senders.aggregator_block == block
        sender, aggregator = senders.additions
        taken, complete = np.full(near.size, np.iinfo(np.int64).max), np.zeros(near.size, np.int64)
        np.minimum.at(taken, aggregator, begin[sender])
        np.maximum.at(complete, aggregator, (end[sender] + limits.leave).astype(np.int64))
        slots = np.ceil(complete[near] / limits.sums).astype(np.int64)  # as long as a sum
        left = departures(slots, senders.aggregator_worker[near]) + 1
        return Passage(
            entry=workers,
            leaving=senders.aggregator_worker[near],
            taken=taken[near],
            complete=complete[near],
            left=np.ceil(left * limits.sums).astype(np.int64),
        )

    def _additions(self, lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
        """Return when the rows of each sender begin and end: [senders]."""
        limits = self.limits
        begin, end = (np.zeros(self.senders.count, np.int64) for _ in range(2))
        sent = [limits.first] * len(lists)  # when each worker's last frame has left
        answered: list[list[float]] = [[] for _ in lists]  # when ACKs of its frames come
        judged: list[list[float]] = [[] for _ in lists]  # its frames without an ACK
        rows_begin: list[float] = []
        queue: list[tuple[float, int, int]] = []

        def answer(worker: int, cycle: float) -> None:
            times = judged[worker]
            answered[worker] += [cycle + limits.ack + limits.link + limits.resume] * len(times)
            times.clear()

        def send(worker: int, which: int) -> None:
            if which >= limits.window:
                if len(answered[worker]) <= which - limits.window:
                    answer(worker, judged[worker][0] + limits.ack_delay)
                sent[worker] = max(sent[worker], answered[worker][which - limits.window])
            sent[worker] += self.link_cycles[lists[worker][which]]
            heappush(queue, (sent[worker] + limits.link + limits.judge, worker, which))

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
