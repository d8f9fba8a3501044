"""Runs the points of a sweep on a cluster, and writes each into the store as it ends.

As many tasks are under way as the cluster has threads: when a worker dies, it is known which task
it had. That task is tried once more, by another worker.
"""

import queue
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gen.base.errors import UserError
from gen.sweep.graph import Task, Waiting, graph_of, measurement
from gen.sweep.plan import Plan, Point
from gen.sweep.store import PointRow, Store
from gen.sweep.tasks import Outcome, first_line, last_words

ATTEMPTS = 2
POLL_SECONDS = 0.5
NOBODY_SECONDS = 60  #: longest time that the runner waits without any worker


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
        self.running = dict[str, Task]()
        self.ends: queue.SimpleQueue[tuple[Task, Any]] = queue.SimpleQueue()
        self.futures: dict[str, Any] = {}
        for item in self.waiting:  # what needs neither simulator nor synthesis
            self.advance(item)
        alone_since: float | None = None
        try:
            while self.queue or self.measurements or self.running:
                slots = sum(self.client.nthreads().values())
                while len(self.running) < slots and (self.measurements or self.queue):
                    self.start((self.measurements or self.queue).popleft())
                self.listener.works([task.text for task in self.running.values()])
                self.take_ends()
                alone_since = None if slots else alone_since or time.monotonic()
                if alone_since and time.monotonic() - alone_since > NOBODY_SECONDS:
                    raise lost("all workers of the cluster are gone")
        finally:
            for future in self.futures.values():
                future.cancel()

    def row(self, point: Point) -> PointRow:
        """Return what the store has of a point."""
        row = self.store.find(point.key)
        assert row is not None
        return row

    def start(self, task: Task) -> None:
        """Give a task to the cluster."""
        task.attempts += 1
        if task.point is not None:
            self.store.started(task.point.point.key)
        future = self.client.submit(
            task.function,
            *task.arguments,
            key=f"{task.key}-{task.attempts}-{time.time_ns()}",
            pure=False,
        )
        self.running[task.key], self.futures[task.key] = task, future
        future.add_done_callback(lambda ended: self.ends.put((task, ended)))

    def take_ends(self) -> None:
        """Wait a little for tasks to end, and handle those that did."""
        try:
            ends = [self.ends.get(timeout=POLL_SECONDS)]
        except queue.Empty:
            if self.client.status != "running":
                raise lost("the scheduler is gone") from None
            return
        while not self.ends.empty():
            ends.append(self.ends.get())
        for task, future in ends:
            self.end(task, future)

    def end(self, task: Task, future: Any) -> None:
        """Handle a task that has ended, or whose worker has died."""
        del self.running[task.key], self.futures[task.key]
        if future.status in ("cancelled", "lost"):
            raise lost("the scheduler is gone")
        if future.status == "finished":
            outcome = future.result()
        else:
            failure = future.exception()
            task.attempts += getattr(failure, "allowed_failures", 0)
            if type(failure).__name__ == "KilledWorker" and task.attempts < ATTEMPTS:
                self.measurements.appendleft(task)
                return
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


def died(task: Task, failure: BaseException) -> str:
    """Explain why a task has no outcome at all."""
    if type(failure).__name__ == "KilledWorker":
        return f"the worker died while {task.text}, {task.attempts} times"
    return f"{type(failure).__name__}: {failure}".splitlines()[0]


def lost(what: str) -> UserError:
    """Make the error for a cluster that is gone; the sweep can go on later."""
    return UserError(f"{what}; what is finished is kept, and the same command goes on from there")
