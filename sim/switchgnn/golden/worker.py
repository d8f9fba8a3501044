"""Models SwitchGNN's worker as a whole, frame by frame, with its timers as events.

The rule is :mod:`sim.switchgnn.golden.worker_rule`; here are what has been sent already, what has
come in, and what is counted.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from sim.golden.job_table import Stranger
from sim.switchgnn.golden.frames import Frame, Kind, Quality
from sim.switchgnn.golden.worker_rule import (
    Taken,
    Worker,
    WorkerSetup,
    begins,
    contributions,
    done,
    may_begin,
    requests,
    worker_rule,
)


@dataclass
class WorkerModel:
    """Models the worker of a job behind port ``port`` of its switch.

    ``ready`` is the number of turns whose features the host has: it may depend on the sums.
    """

    setup: WorkerSetup
    port: int
    job: int
    epoch: int
    ready: int = 0
    sums: dict[tuple[int, int], Any] = field(default_factory=dict)  #: sums by turn and aggregator
    copies: dict[tuple[int, int], Any] = field(default_factory=dict)  #: copies by turn and source
    counters: Counter[Taken | Stranger | Quality] = field(default_factory=Counter)
    marks: int = 0  #: frames with ECN
    repeats: int = 0  #: frames that were sent before

    def __post_init__(self) -> None:
        self.state = Worker.at_start(self.setup)
        self.sent: set[tuple[Kind, int, int]] = set()

    @property
    def ended(self) -> bool:
        """Return whether all turns of the job are over."""
        return self.state.lo == self.setup.turns

    def send(self) -> list[Frame]:
        """Begin the turns that may begin; return frames due for the first time, in list order."""
        while self.state.begun < self.ready and may_begin(self.setup, self.state):
            self.state = begins(self.state)
        due = [*contributions(self.setup, self.state), *done(self.setup, self.state)]
        return self.signed(frame for frame in due if key(frame) not in self.sent)

    def timeout(self) -> list[Frame]:
        """Let all timers run out: repeat what is not acknowledged, FETCH, and say DONE."""
        first = self.send()
        due = [*contributions(self.setup, self.state), *done(self.setup, self.state)]
        new = {key(frame) for frame in first}
        again = [frame for frame in due if key(frame) not in new]
        self.repeats += len(again)
        return [*first, *self.signed([*again, *requests(self.setup, self.state)])]

    def take(self, arrival: Frame | Quality) -> list[Frame]:
        """Take a frame, or what is none; return the answers."""
        if not isinstance(arrival, Frame):
            self.counters[arrival] += 1
            return []
        stranger = self.stranger(arrival)
        if stranger:
            self.counters[stranger] += 1
            return []
        self.marks += arrival.ecn
        self.state, taken, answers = worker_rule(self.setup, self.state, arrival)
        self.counters[taken] += 1
        if taken is Taken.SUM:
            self.sums[arrival.turn, arrival.list] = arrival.payload
        elif taken is Taken.FEATURE:
            self.copies[arrival.turn, arrival.source] = arrival.payload
        return self.signed(answers)

    def stranger(self, frame: Frame) -> Stranger | None:
        """Return why a frame is not for this worker and run; of several reasons, the last."""
        if frame.job != self.job:
            return Stranger.WRONG_JOB
        if frame.bm != 1 << self.port:
            return Stranger.WRONG_WORKER
        return Stranger.WRONG_RUN if frame.epoch != self.epoch else None

    def signed(self, frames: Iterable[Frame]) -> list[Frame]:
        """Return what leaves, with the worker's bit, job and run."""
        named = []
        for frame in frames:
            self.sent.add(key(frame))
            named.append(replace(frame, bm=1 << self.port, job=self.job, epoch=self.epoch))
        return named


def key(frame: Frame) -> tuple[Kind, int, int]:
    """Return what tells a contribution or a DONE from others."""
    return frame.kind, frame.turn, frame.seq
