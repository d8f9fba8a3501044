"""Shows a sweep on the console: a bar, or a line a point without a terminal, and then a table."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.progress import Progress

from gen.output.consoles import Console, Table, bar, lines
from gen.sweep.plan import Plan
from gen.sweep.store import PointRow

MAX_ROWS = 20


class Show:
    """Shows how a sweep goes, as a :class:`gen.sweep.runner.Listener`."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self.plan, self.console = plan, console
        self.total, self.done, self.failed = 0, 0, 0
        self.before, self.start = 0, 0.0  #: points that had ended at the start; its time
        self.progress: Progress | None = None
        self.task: Any = None
        self.report: Any = None  #: changes the text of the lines where there is no terminal

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Show a bar, if the console is a terminal, for as long as the block lasts."""
        if not self.console.is_terminal:
            with lines(self.console, "starting worker processes") as self.report:
                yield
            return
        with bar(self.console) as self.progress:
            self.task = self.progress.add_task("starting")
            yield
        self.progress = None

    def begins(self, total: int, present: int, illegal: Sequence[PointRow] = ()) -> None:
        """Show how many points there are, how many have ended before, and which are illegal."""
        self.total, self.done = total, present + len(illegal)
        self.before, self.start = self.done, time.monotonic()
        if present:
            self.console.print(f"{present} of {total} points are there already")
        self.refused(f"{len(illegal)} of {total} points are illegal:", illegal)
        if self.progress is not None:
            self.progress.update(self.task, total=total, completed=self.done)

    def refused(self, heading: str, illegal: Sequence[PointRow]) -> None:
        """Show each reason why points are illegal, with its point or the number of its points."""
        reasons = dict[str, list[PointRow]]()
        for point in illegal:
            reasons.setdefault(point.error, []).append(point)
        if illegal:
            self.console.print(heading)
        for reason, points in sorted(reasons.items(), key=lambda item: -len(item[1]))[:MAX_ROWS]:
            many = f"{len(points)} points, such as " if len(points) > 1 else ""
            line = f"  {many}{self.where(points[0])}: {reason}"
            self.console.print(line, markup=False, soft_wrap=True)
        if len(reasons) > MAX_ROWS:
            self.console.print(f"  and {len(reasons) - MAX_ROWS} more reasons")

    def works(self, texts: Sequence[str]) -> None:
        """Show what is being done, and about the time until all points have ended."""
        failed = f"{self.failed} failed; " if self.failed else ""
        ended, spent = self.done - self.before, time.monotonic() - self.start
        left = f"{spent / ended * (self.total - self.done):.0f} s left; " if ended else ""
        if self.report is not None:
            self.report(f"{self.done}/{self.total} {failed}{left}" + ", ".join(texts))
        if self.progress is not None:
            self.progress.update(self.task, description=f"{failed}{left}" + ", ".join(texts))

    def ended(self, point: PointRow) -> None:
        """Show that a point is done or has failed."""
        self.done += 1
        self.failed += point.status == "failed"
        if self.progress is not None:
            self.progress.update(self.task, completed=self.done)
        if self.progress is None or point.status == "failed":
            self.console.print(
                f"{self.done}/{self.total} {self.line(point)}", markup=False, soft_wrap=True
            )

    def where(self, point: PointRow) -> str:
        """Return what varies, with the point's values."""
        values = {**point.parameters, **point.workload}
        return ", ".join(f"{item.name}={values[item.name]}" for item in self.plan.varied)

    def line(self, point: PointRow) -> str:
        """Return a line about a point: what varies, and its metrics or its error."""
        varied = self.where(point)
        if point.status == "failed":
            return f"{varied}: FAILED: {point.error}"
        metrics = ", ".join(
            f"{name} {shown(point.metrics.get(name))}" for name in self.plan.spec.metrics
        )
        return f"{varied}: {metrics} ({point.seconds:.1f} s)"


def table(plan: Plan, points: Sequence[PointRow]) -> Table:
    """Return a table with a row for each point: what varies, and the metrics asked for."""
    built = Table(box=None, pad_edge=False, header_style="bold")
    names = [setting.name for setting in plan.varied]
    for name in (*names, *plan.spec.metrics):
        built.add_column(name, justify="right", overflow="fold")
    for point in points:
        values = {**point.parameters, **point.workload}
        built.add_row(
            *(str(values[name]) for name in names),
            *(shown(point.metrics.get(name)) for name in plan.spec.metrics),
        )
    return built


def shown(value: float | None) -> str:
    """Return a metric as people read it."""
    if value is None:
        return "-"
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
