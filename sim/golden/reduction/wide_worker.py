"""Models a worker's end of the wide AllReduce: it sends numbers in frames, and takes their sums."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sim.golden.reduction.allreduce import (
    GaveUp,
    Phase,
    Tries,
    Verdict,
    WorkerSlot,
    sends_again,
    worker_starts,
)
from sim.golden.reduction.frames import IS_AGG, Quality
from sim.golden.reduction.shadow import shadow_worker_rule
from sim.golden.reduction.wide_frames import JUMBO, MOST, NUMBER, Operation, WideFrame, judge
from sim.golden.reduction.wide_rule import acknowledges


@dataclass
class Place:
    """Holds what a worker keeps of a slot."""

    slot: WorkerSlot = field(default_factory=WorkerSlot.at_start)
    part: int = 0  # of the numbers: the one that is under way, or the next one
    acknowledged: bool = True  # whether all workers have the last sum
    sent: int = 0  # when its last packet was sent
    tries: Tries = field(default_factory=Tries)


@dataclass(kw_only=True)
class WideWorker:
    """Reduces numbers with other workers; part j of them has slot j modulo ``slots``.

    A part is ``length`` numbers, the last one may have fewer. All workers of a job begin the same
    operations, with as many numbers. :meth:`due` returns what is to be sent at a time, of any unit,
    and :meth:`take` takes a frame. A slot begins its next part when it has the sum of the last one,
    which this acknowledges; its last part is acknowledged by a packet. What is not answered within
    ``timeout`` is sent again, at most ``retries`` times in a row to a switch that is silent, and
    ``peer_retries`` times if other workers are missing; then ``failure`` says why.
    """

    port: int  #: of the switch, which the worker is behind
    address: bytes  #: the switch's own address
    group: bytes  #: destination of the switch's answers
    job: int = 0
    epoch: int = 0
    base: int = 0
    slots: int = 4  #: how many parts may be under way
    length: int = MOST
    timeout: int = 100
    retries: int = 0
    peer_retries: int = 0
    failure: GaveUp | None = None
    saturated: int = 0  #: numbers of sums that were clamped
    counters: Counter[Verdict] = field(default_factory=Counter)
    numbers: np.ndarray = field(default_factory=lambda: np.zeros(0, NUMBER))
    operation: Operation = Operation.SUM

    def __post_init__(self) -> None:
        assert 1 <= self.length <= JUMBO
        self.places = [Place() for _ in range(self.slots)]
        self.parts, self.result = 0, self.numbers

    def begin(self, numbers: np.ndarray, operation: Operation = Operation.SUM) -> None:
        """Begin an operation; ``result`` has its result when it is ``done``."""
        assert self.done, "an operation is under way"
        self.numbers, self.operation = numbers.astype(NUMBER), operation
        self.result = np.zeros(len(numbers), NUMBER)
        self.parts = -(-len(numbers) // self.length)
        for k, place in enumerate(self.places):
            place.part = k

    @property
    def done(self) -> bool:
        """Whether all sums have come, and all workers are known to have them."""
        return all(place.part >= self.parts and place.acknowledged for place in self.places)

    def span(self, part: int) -> slice:
        """Return the numbers of a part."""
        return slice(part * self.length, min((part + 1) * self.length, len(self.numbers)))

    def due(self, now: int) -> Iterator[bytes]:
        """Return the frames that are to be sent now."""
        for k, place in enumerate(self.places):
            if place.slot.phase is Phase.FREE:
                if place.part < self.parts:
                    place.slot, place.acknowledged = worker_starts(place.slot), False
                elif not place.acknowledged:
                    place.slot = acknowledges(place.slot)
                else:
                    continue
                tries = Tries()
            elif now - place.sent < self.timeout:
                continue
            else:
                tries = sends_again(place.tries, self.retries, self.peer_retries)
            if isinstance(tries, GaveUp):
                self.failure = tries
                continue
            place.tries, place.sent = tries, now
            yield self.frame(k, place)

    def frame(self, k: int, place: Place) -> bytes:
        """Return what a slot sends: its partial activation, or its acknowledgement."""
        is_agg = place.slot.phase is Phase.PARTIAL
        return WideFrame(
            destination=self.address,
            flags=IS_AGG * is_agg,
            bm=1 << self.port,
            job=self.job,
            epoch=self.epoch,
            seq=self.base + k,
            use=place.slot.use,
            operation=self.operation,
            numbers=self.numbers[self.span(place.part) if is_agg else slice(0)],
        ).to_bytes()

    def take(self, data: bytes, *, corrupt: bool = False) -> None:
        """Take a frame that comes in."""
        quality = judge(data, corrupt, self.group, max(MOST, self.length))
        verdict = Verdict(quality.value) if quality is not Quality.GOOD else self.taken(data)
        self.counters[verdict] += 1

    def taken(self, data: bytes) -> Verdict:
        """Take a good frame, and return the verdict on it."""
        frame = WideFrame.from_bytes(data)
        strange = {
            Verdict.WRONG_JOB: frame.job != self.job,
            Verdict.WRONG_WORKER: not frame.bm >> self.port & 1,
            Verdict.WRONG_RUN: frame.epoch != self.epoch,
            Verdict.WRONG_SLOT: not 0 <= frame.seq - self.base < self.slots,
        }
        if any(strange.values()):
            return next(verdict for verdict, applies in strange.items() if applies)
        place = self.places[frame.seq - self.base]
        slot, verdict = shadow_worker_rule(place.slot, frame.packet)
        if verdict is Verdict.FULL:
            span = self.span(place.part)
            if len(frame.numbers) != span.stop - span.start or frame.operation != self.operation:
                return Verdict.DIFFERENT
            self.result[span] = frame.numbers
            self.saturated += frame.saturated
            place.part += self.slots
        elif verdict is Verdict.FREED:
            place.acknowledged = True
        elif verdict is Verdict.PENDING:
            place.tries = Tries(place.tries.unanswered, place.tries.repetitions, heard=True)
        place.slot = slot
        return verdict
