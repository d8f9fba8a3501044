"""Shows a regression as it goes on: a live display on a terminal, a line an item elsewhere."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sim.verify.items import Item, name_of

STYLES = {"passed": "green", "skipped": "yellow"}  #: colours of outcomes; all others are red
MAX_RUNNING = 8  #: lines


class Progress:
    """Shows a regression, as its listener, for as long as it is entered."""

    def __init__(self, console: Console, jobs: int, durations: Mapping[str, float]) -> None:
        self.console = console
        self.jobs = jobs
        self.durations = durations
        self.start = time.monotonic()
        self.waiting: dict[str, None] = {}  #: items that have not ended, in order
        self.running: dict[str, float] = {}  #: since when
        self.outcomes: Counter[str] = Counter()
        self.total = 0
        self.live = Live(console=console, get_renderable=self.display, refresh_per_second=4)

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.live.transient = True
        self.live.stop()

    def collected(self, tests: Sequence[str]) -> None:
        """Note the items that will run; each worker reports them once."""
        if tests and not self.total:
            self.total = len(tests)
            self.waiting = dict.fromkeys(tests)
            if not self.console.is_terminal:
                self.console.print(f"{self.total} items", highlight=False)

    def started(self, nodeid: str) -> None:
        """Note that a worker has begun an item."""
        self.running[nodeid] = time.monotonic()

    def finished(self, nodeid: str, item: Item) -> None:
        """Print a line for an item that failed, or for every item without a terminal."""
        self.running.pop(nodeid, None)
        self.waiting.pop(nodeid, None)
        self.outcomes[item.outcome] += 1
        if not item.good or not self.console.is_terminal:
            done = f"[{sum(self.outcomes.values()):{len(str(self.total))}}/{self.total}]"
            line = Text(f"{done} {item.outcome:7} {item.test} seed {item.seed}")
            line.append(f"  {item.seconds:.1f} s")
            line.append(f"  {item.message}" if item.message else "")
            style = STYLES.get(item.outcome, "red") if not item.good else ""
            self.console.print(line, style=style, soft_wrap=True, highlight=False)

    def display(self) -> Group:
        """Return the bar, the counts, and what runs now."""
        done = sum(self.outcomes.values())
        if not self.total:
            return Group(Text(f"collecting the tests  {clock(self.elapsed)}"))
        line = Table.grid(padding=(0, 2))
        counts = Text(", ").join(
            Text(f"{count} {outcome}", style=STYLES.get(outcome, "bold red"))
            for outcome, count in self.outcomes.items()
        )
        line.add_row(
            ProgressBar(total=self.total, completed=done, width=30),
            f"{done}/{self.total}",
            counts,
            clock(self.elapsed),
            f"{clock(self.remaining())} left",
        )
        now = time.monotonic()
        running = [
            Text(f"  {clock(now - since)} {name}", style="dim", no_wrap=True, overflow="ellipsis")
            for name, since in list(self.running.items())[:MAX_RUNNING]
        ]
        return Group(line, *running)

    @property
    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.start

    def remaining(self) -> float:
        """Estimate the seconds left, by the last regressions or by what has ended."""
        done = sum(self.outcomes.values())
        usual = self.elapsed * self.jobs / done if done else 5.0
        now = time.monotonic()
        rest = (
            self.durations.get(name_of(nodeid), usual) - (now - self.running.get(nodeid, now))
            for nodeid in list(self.waiting)
        )
        return sum(max(0.0, seconds) for seconds in rest) / self.jobs


def clock(seconds: float) -> str:
    """Return seconds as minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
