"""Runs a sweep, or a search, from its specification to its results."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import Any

from rich.console import Console

from gen.base.errors import UserError
from gen.output.consoles import print_wide
from gen.sweep.console import MAX_ROWS, Show, table
from gen.sweep.front import Constraint, Objective, front, usual
from gen.sweep.plan import Plan, Point
from gen.sweep.runner import Runner
from gen.sweep.search import IN_VAIN, SearchPlan
from gen.sweep.sources import version
from gen.sweep.store import PointRow, Store
from sim.cluster.connect import local_cluster, remote_cluster

PARTS = ("grid", "zip", "derive", "steps", "random")  #: of a specification; they make the points


@dataclass(frozen=True, kw_only=True)
class Where:
    """Says on which cluster a sweep runs."""

    jobs: int | None = None  #: processes of a cluster of this machine; as many as cores
    scheduler: str | None = None  #: address of a cluster that is there

    @contextmanager
    def cluster(self, plan: Plan) -> Iterator[Any]:
        """Yield a client of the cluster."""
        if self.scheduler is None:
            with local_cluster(self.jobs or os.cpu_count() or 1) as client:
                yield client
        else:
            modules = plan.subject.sources(plan.origins)
            with remote_cluster(self.scheduler, partial(version, modules)) as client:
                yield client


@dataclass
class Session:
    """Holds a store that is written, and a cluster that is begun when there is work."""

    plan: Plan
    store: Store
    where: Where
    show: Show
    stack: ExitStack = field(default_factory=ExitStack)
    client: Any = None

    def ended(self, point: Point) -> bool:
        """Return whether a point has been measured, or has failed."""
        row = self.store.find(point.key)
        return row is not None and row.status in ("done", "failed")

    def run(self, points: Sequence[Point]) -> None:
        """Run those of ``points`` that have not ended."""
        if all(self.ended(point) for point in points):
            return
        if self.client is None:
            self.client = self.stack.enter_context(self.where.cluster(self.plan))
        Runner(self.plan, self.store, self.client, self.show).run(points)


def identity(plan: Plan, parsed: dict[str, Any], parts: Sequence[str]) -> str:
    """Return a text that is equal for sweeps with the same points."""
    shape = {name: parsed.get(name) for name in ("design", "preset", "set", *parts)}
    known = dumps([shape, sorted(plan.origins), plan.version, plan.spec.clock_mhz], sort_keys=True)
    return sha256(known.encode()).hexdigest()


@contextmanager
def session(
    plan: Plan, parsed: dict[str, Any], parts: Sequence[str], output: Path, where: Where, show: Show
) -> Iterator[Session]:
    """Open the store, and end the cluster afterwards."""
    with Store.writing(output) as store:
        store.begin(parsed, identity(plan, parsed, parts))
        try:
            with show.showing(), ExitStack() as stack:
                yield Session(plan, store, where, show, stack)
        except KeyboardInterrupt as stop:
            stop.add_note(f"points that had ended are in {output}; the same command goes on there")
            raise


def sweep(
    plan: Plan,
    points: Sequence[Point],
    parsed: dict[str, Any],
    output: Path,
    where: Where,
    console: Console,
    retry_failed: bool = False,
) -> int:
    """Run those of ``points`` that have not ended before; return how many of all have failed.

    Raises UserError if all are illegal.
    """
    show = Show(plan, console)
    illegal = [point.row for point in points if point.params is None]
    heading = f"{len(illegal)} of {len(points)} points are illegal:"
    if len(illegal) == len(points):
        show.refused(heading, illegal)
        raise UserError("no point of the sweep is legal")
    with session(plan, parsed, PARTS, output, where, show) as running:
        store = running.store
        store.add(point.row for point in points)
        if retry_failed:
            store.forget_failures([point.key for point in points if point.params is not None])
        legal = [point for point in points if point.params is not None]
        present = sum(running.ended(point) for point in legal)
        show.begins(len(points), present, illegal)
        running.run(points)
        rows = store.points()
    aims = usual(plan.subject, plan.spec.metrics)
    return summary(show, rows, output, aims, [], illegal, heading) + len(illegal)


def search(
    plan: SearchPlan,
    parsed: dict[str, Any],
    output: Path,
    where: Where,
    console: Console,
    count: int,
    retry_failed: bool = False,
) -> int:
    """Try points until there are ``count`` different legal ones; return how many have failed."""
    show = Show(plan, console)
    with session(plan, parsed, (*PARTS, "search"), output, where, show) as running:
        store = running.store
        tried = {key: plan.at(drawn) for key, drawn in store.trials()}
        if retry_failed:
            store.forget_failures([key for key, point in tried.items() if point.params])
        legal = [point for point in tried.values() if point.params is not None]
        show.begins(count, sum(running.ended(point) for point in legal))
        running.run(legal)
        in_vain = 0
        while len(legal) < count and in_vain < IN_VAIN:
            new = plan.ask(store, min(plan.search.batch, count - len(legal)))
            fresh = {point.key: point for point, _ in new if point.key not in tried}
            store.add(point.row for point in fresh.values())
            store.add_trials([(point.key, drawn) for point, drawn in new])
            tried |= fresh
            points = [point for point in fresh.values() if point.params is not None]
            legal += points
            in_vain = 0 if points else in_vain + len(new)
            running.run(points)
        rows = store.points()
    if len(legal) < count:
        console.print(f"no more than {len(legal)} different points were found")
    illegal = [point.row for point in tried.values() if point.params is None]
    heading = f"{len(illegal)} more were drawn that are illegal:"
    return summary(show, rows, output, plan.aims, plan.bounds, illegal, heading)


def summary(
    show: Show,
    rows: list[PointRow],
    output: Path,
    aims: list[Objective],
    bounds: list[Constraint],
    illegal: Sequence[PointRow],
    heading: str,
) -> int:
    """Print the best points, how many there are, and under ``heading`` which are illegal.

    Return how many have failed of the others.
    """
    plan, console = show.plan, show.console
    best = front(rows, aims, bounds) if aims else [row for row in rows if row.status == "done"]
    if best:
        words = " and ".join(aim.text for aim in aims)
        title = f"the best for {words}" if aims else "points"
        if len(best) > MAX_ROWS:
            title += f", {MAX_ROWS} of {len(best)}"
        console.print(f"{title}:")
        print_wide(console, table(plan, best[:MAX_ROWS]))
    keys = {row.key for row in illegal}
    failed = [row for row in rows if row.status == "failed" and row.key not in keys]
    counts = f"{sum(row.status == 'done' for row in rows)} points done"
    if failed:
        counts += f", {len(failed)} failed, such as: {failed[0].error}"
    console.print(counts, markup=False, soft_wrap=True)
    show.refused(heading, illegal)
    console.print(f"wrote {output}", markup=False, soft_wrap=True)
    return len(failed)
