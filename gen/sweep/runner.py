"""Runs the points of a sweep on a cluster, and writes each into the store as it ends."""

import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gen.sweep.graph import Task, Waiting, graph_of, measurement
from gen.sweep.plan import Plan, Point
from gen.sweep.store import PointRow, Store
from gen.sweep.tasks import Outcome, first_line, last_words
from sim.cluster.dispatch import Dispatcher, WorkerDied


class Listener(Protocol):
    """Receives what happens during a sweep, to show it."""

    def works(self, texts: Sequence[str]) -> None:
        """Show which work is under way."""

    def ended(self, point: PointRow) -> None:
        """Show that a point is done or has failed."""


@dataclass
class Runner:
    """Runs the points of a plan on a Dask cluster."""

    plan: Plan
    store: Store
    client: Any
    listener: Listener

    def run(self, points: Iterable[Point]) -> None:
        """Run the points that wait in the store, until all have ended.

        UserError if scheduler or workers are lost; what has ended is kept.
        """
        waiting = [point for point in points if self.row(point).status == "waiting"]
        first, self.waiting = graph_of(self.plan, waiting)
        self.queue, self.measurements = deque(first), deque[Task]()
        for item in self.waiting:  # what needs neither simulator nor synthesis
            self.advance(item)
        with Dispatcher[Task](self.client, self.started) as cluster:
            while self.queue or self.measurements or cluster.running:
                while cluster.free and (self.measurements or self.queue):
                    cluster.start((self.measurements or self.queue).popleft())
                self.listener.works([task.text for task in cluster.running.values()])
                for task, outcome, failure in cluster.ended():
                    self.end(task, outcome, failure)

    def row(self, point: Point) -> PointRow:
        """Return what the store has of a point."""
        row = self.store.find(point.key)
        assert row is not None
        return row

    def started(self, task: Task) -> None:
        """Note in the store that a point is being measured."""
        if task.point is not None:
            self.store.started(task.point.point.key)

    def end(self, task: Task, outcome: Outcome | None, failure: BaseException | None) -> None:
        """Handle a task that has ended, or whose workers have died."""
        if outcome is None:
            outcome = Outcome(error=died(task, failure), log=last_words(task.key))
        task.outcome = outcome
        if task.point is not None:
            self.finish(task.point, outcome)
        for item in task.serves:
            self.advance(item)

    def advance(self, item: Waiting) -> None:
        """Measure a point whose simulator and synthesis are ready; end it if nothing is left."""
        if item.finished or not item.ready:
            return
        for task in item.needs:
            if task.outcome is not None and task.outcome.error:
                self.finish(item, task.outcome)
                return
        if item.build is not None:
            self.measurements.append(measurement(self.plan, item))
            item.finished = True  # as far as what it needs
            return
        self.store.started(item.point.key)
        self.finish(item, Outcome({}))

    def finish(self, item: Waiting, outcome: Outcome) -> None:
        """Write what became of a point."""
        item.finished, point = True, item.point
        if not outcome.error:
            outcome = self.completed(item, outcome)
        if outcome.error:
            self.store.failed(point.key, outcome.error, outcome.log, outcome.seconds)
        else:
            self.store.done(point.key, outcome.value, outcome.seconds)
        self.listener.ended(self.row(point))

    def completed(self, item: Waiting, outcome: Outcome) -> Outcome:
        """Add what synthesis and formulas say to what the hardware has counted."""
        point, began = item.point, time.monotonic()
        metrics = dict(outcome.value)
        if item.synthesis is not None and item.synthesis.outcome is not None:
            metrics |= item.synthesis.outcome.value
        try:
            metrics |= self.plan.subject.calculate(point.params, point.workload)
        except ValueError as error:
            return Outcome(error=first_line(error))
        return Outcome(metrics, seconds=outcome.seconds + time.monotonic() - began)


def died(task: Task, failure: BaseException | None) -> str:
    """Explain why a task has no outcome at all."""
    if isinstance(failure, WorkerDied):
        return f"the worker died while {task.text}, {task.attempts} times"
    return f"{type(failure).__name__}: {failure}".splitlines()[0]
