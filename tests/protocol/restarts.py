"""Models a job that is begun anew, switch and workers one by one, with old packets in flight."""

from collections.abc import Iterator
from dataclasses import dataclass

from sim.p4sgd.golden.allreduce import Phase, Verdict, WorkerSlot
from tests.protocol.model import (
    NAMES,
    Ends,
    Flight,
    Model,
    SwitchEnd,
    Taken,
    WorkerEnd,
)
from tests.protocol.network import Numbers, Step, exchanged
from tests.protocol.unordered import State, Unordered


@dataclass(kw_only=True)
class Restarting(Model):
    """Models one slot in ``runs`` runs of a job, each of ``total`` uses or fewer if it is cut
    short.

    An end takes packets whose epoch is that of its own run, and counts all others as WRONG_RUN.
    Numbers tell the uses of all runs apart: those of run r are r (total + 1) + 1 and up, and
    r (total + 1) is the state that its start leaves. The fields below ``epochs`` are variants.
    """

    runs: int = 2
    epochs: int = 1 << 16  # that packets tell apart: run r has epoch r mod epochs
    switch_checks: bool = True
    workers_check: bool = True
    slots_cleared: bool = True  # by the switch's start of a run
    together: bool = True  # else a worker may begin its run anew by itself, in the same epoch

    @property
    def stride(self) -> int:
        """Return how far apart the numbers of two runs are."""
        assert self.total is not None
        return self.total + 1

    @property
    def period(self) -> int:
        """Return how many numbers the checker tells apart."""
        return self.runs * self.stride

    def run(self, number: int) -> int:
        """Return the run that a number belongs to."""
        return number // self.stride

    @property
    def start(self) -> Ends:
        """Return the ends as the first start leaves them."""
        switch = SwitchEnd(0, self.rules.slot(self.everyone, self.uses))
        return Ends(switch, (self.worker_at_start(0),) * self.worker_count)

    def worker_at_start(self, run: int) -> WorkerEnd:
        """Return a worker as the start of a run leaves it."""
        return WorkerEnd(run * self.stride, WorkerSlot.at_start(self.uses))

    def switch_anew(self, switch: SwitchEnd, run: int) -> SwitchEnd:
        """Return the switch as the start of a run leaves it."""
        slot = self.rules.slot(self.everyone, self.uses) if self.slots_cleared else switch.slot
        return SwitchEnd(run * self.stride, slot)

    def may_start(self, worker: WorkerEnd) -> bool:
        """Whether a worker begins another use."""
        return worker.slot.phase is Phase.FREE and worker.number % self.stride < self.stride - 1

    def same_epoch(self, one: int, other: int) -> bool:
        """Whether the runs of two numbers have the same epoch."""
        return (self.run(one) - self.run(other)) % self.epochs == 0

    def switch_takes(self, switch: SwitchEnd, flight: Flight) -> Taken:
        """Return what follows when the switch gets a packet."""
        if self.switch_checks and not self.same_epoch(switch.number, flight.number):
            self.verdicts.add(Verdict.WRONG_RUN)
            return Taken(switch, (), False, f"switch takes {flight}: {Verdict.WRONG_RUN}", "")
        taken = super().switch_takes(switch, flight)
        # An answer has the epoch of the switch's run, whatever it was asked.
        shift = (self.run(switch.number) - self.run(flight.number)) * self.stride
        answers = tuple(a._replace(number=a.number + shift) for a in taken.answers)
        return taken._replace(answers=answers)

    def worker_takes(self, worker: WorkerEnd, flight: Flight) -> tuple[WorkerEnd, Verdict]:
        """Return what follows when a worker gets a packet."""
        if self.workers_check and not self.same_epoch(worker.number, flight.number):
            self.verdicts.add(Verdict.WRONG_RUN)
            return worker, Verdict.WRONG_RUN
        return super().worker_takes(worker, flight)

    def has(self, worker: WorkerEnd, number: int) -> bool:
        """Whether a worker has received the sum of a use, or has given its run up."""
        return worker.number > number or super().has(worker, number)

    def at_rest(self, ends: Ends) -> bool:
        """Whether all are in the same run, whose last use all workers are freed of."""
        numbers = {worker.number for worker in ends.workers}
        return (
            len(numbers) == 1
            and max(numbers) % self.stride == self.stride - 1
            and self.run(ends.switch.number) == self.run(max(numbers))
            and all(worker.slot.phase is Phase.FREE for worker in ends.workers)
        )


@dataclass
class Restarts(Unordered):
    """Models an unordered network whose ends are begun anew at any time, in any order, one by one.

    The host begins a run when all ends are in the one before. What was in flight stays in flight:
    the bound on a packet's life holds within its run, and packets of earlier runs never go away.
    """

    @property
    def job(self) -> Restarting:
        """Return the model, with its runs."""
        assert isinstance(self.model, Restarting)
        return self.model

    def steps(self, state: State) -> Iterator[Step]:
        """Return all that may happen next."""
        yield from super().steps(state)
        ends, flying, aged = state
        for place, after in self.begun_anew(ends, False):
            name = NAMES[place - 1] if place else "switch"
            new = exchanged(ends, place, after)
            yield f"{name} begins anew", (new, flying | self.resent(new), aged), ""

    def begun_anew(self, ends: Numbers, under_way: bool) -> Iterator[tuple[int, int]]:
        """Return each end that may begin anew, with its new state, or only ``under_way`` ones."""
        model = self.job
        found = self.ends_of(ends)
        numbers = [found.switch.number, *(worker.number for worker in found.workers)]
        runs = [model.run(number) for number in numbers]
        newest = max(runs)
        if min(runs) == newest and not under_way and newest < model.runs - 1:
            newest += 1
        for place, run in enumerate(runs):
            if run < newest and place:
                yield place, self.number(model.worker_at_start(newest))
            elif run < newest:
                yield place, self.number(model.switch_anew(found.switch, newest))
            elif place and not model.together and not under_way:
                yield place, self.number(model.worker_at_start(run))

    def round_trips(self, ends: Numbers) -> Iterator[Numbers]:
        """Return those without restarts, and those in which the host renews who is behind."""
        yield from super().round_trips(ends)
        for place, after in self.begun_anew(ends, True):
            yield exchanged(ends, place, after)

    def outlived(self, end: int) -> int:
        """Return packets of the end's run that no longer fly once the end's use has finished."""
        number = self.things[end].number
        distance = self.model.uses - 1 if self.distance is None else self.distance
        same = self.job.run(number) == self.job.run(number - distance)
        return self.of_use.get(number - distance, 0) if same else 0
