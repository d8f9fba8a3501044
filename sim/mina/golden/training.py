"""Specifies a job that trains, op by op, and what INA is worth for it (section III-D)."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Step:
    """Describes a step: when its all-reduces can start, and how long they take both ways."""

    period: float
    start: Sequence[float]
    plain: Sequence[float]
    ina: Sequence[float]

    def end(self, k: int, now: float, durations: Sequence[float]) -> float:
        """Return the end of a step in which op k - 1 has ended ``now``, since the step began."""
        for op in range(k, len(self.start)):
            now = max(now, self.start[op]) + durations[op]
        return max(now, self.period)

    def gain(self, k: int, now: float) -> float:
        """Return the seconds that INA for op k at ``now`` saves, if the later ones do without."""
        without, with_ina = (now + duration[k] for duration in (self.plain, self.ina))
        return self.end(k + 1, without, self.plain) - self.end(k + 1, with_ina, self.plain)

    def useless(self, k: int, now: float) -> bool:
        """Return whether INA for op k saves nothing, even if all later ones have it too.

        A saving that may be due to rounding alone counts as nothing.
        """
        without, with_ina = (now + duration[k] for duration in (self.plain, self.ina))
        saved = self.end(k + 1, without, self.ina) - self.end(k + 1, with_ina, self.ina)
        return saved <= 1e-12

    @property
    def without_ina(self) -> float:
        """Return the seconds of a step without INA."""
        return self.end(0, 0, self.plain)

    @property
    def all(self) -> float:
        """Return the seconds of a step with INA for all of its operations."""
        return self.end(0, 0, self.ina)


class Training:
    """Describes a job under way."""

    def __init__(self, step: Step, hosts: int, steps: int | None, now: float) -> None:
        self.step, self.hosts, self.steps = step, hosts, steps
        self.started = self.busy = self.ina = self.finished = False
        self.done = self.op = 0
        self.began = self.step_began = self.op_began = self.next = now
        self.in_ina = 0.0

    @property
    def decides(self) -> bool:
        """Return whether its next event is the start of an all-reduce."""
        return self.started and not self.busy and self.op < len(self.step.start)

    @property
    def uses(self) -> bool:
        """Return whether it adds up in switches now."""
        return self.busy and self.ina

    def advance(self, ina: bool) -> None:
        """Let its next event happen."""
        now, step = self.next, self.step
        if not self.started:
            self.started, self.began, self.step_began = True, now, now
        elif self.decides:
            self.busy, self.ina, self.op_began = True, ina, now
        elif self.busy:
            self.in_ina += (now - self.op_began) * self.ina
            self.busy, self.op = False, self.op + 1
        else:
            self.op, self.done, self.step_began = 0, self.done + 1, now
            self.finished = self.done == self.steps
        if self.busy:
            self.next = now + (step.ina if self.ina else step.plain)[self.op]
        else:
            last = self.op == len(step.start)
            self.next = max(now, self.step_began + (step.period if last else step.start[self.op]))

    def coming(self) -> tuple[int, float, float] | None:
        """Return its next all-reduce: which, its step's begin, its own; None if the job is over."""
        op, began, now = self.op + self.busy, self.step_began, self.next
        if not self.started:
            began = now
        if op == len(self.step.start):
            if self.done + 1 == self.steps:
                return None
            op, began = 0, max(now, began + self.step.period)
            now = began
        return op, began, max(now, began + self.step.start[op])

    def worth(self, now: float, rate: bool = False) -> tuple[float, float, float, bool]:
        """Return its next all-reduce's start, R (or ``rate``), end, and whether INA is useless."""
        coming = self.coming()
        if coming is None:
            return float("inf"), 0, float("inf"), True
        op, began, start = coming
        end = start + self.step.ina[op]
        gain = self.step.gain(op, start - began)
        value = gain / self.step.ina[op] if rate else self.hosts * gain / (end - now)
        return start, value, end, self.step.useless(op, start - began)
