"""Runs pytest on several workers, collects each item as it ends, and describes all as JSON."""

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import pytest

from sim.harness.environment import changed
from sim.verify.items import Item, name_of, seed_in
from sim.verify.records import PROPERTY, TIMED_OUT, end_children
from sim.verify.seeds import DEFAULT_SEED, MARK


@dataclass(frozen=True, kw_only=True)
class Options:
    """Says what is to be run, and how."""

    root: Path  #: the checkout
    targets: Sequence[str]  #: paths or items, from ``root``
    seeds: Sequence[int] = (DEFAULT_SEED,)  #: seeds that each item runs with, one after the other
    keyword: str = ""  #: pytest's -k
    jobs: int = 1
    timeout: float = 0  #: seconds an item; 0 for what the project's settings say
    waves: bool = False
    durations: Path  #: seconds by test, of earlier regressions
    collect_only: bool = False  #: collect the items, and run none


class Listener(Protocol):
    """Receives a regression's progress."""

    def collected(self, tests: Sequence[str]) -> None:
        """Note which items will run."""

    def started(self, nodeid: str) -> None:
        """Note that a worker has begun an item."""

    def finished(self, nodeid: str, item: Item) -> None:
        """Note that an item has ended, and its outcome."""


@dataclass
class Outcome:
    """Holds what became of a regression."""

    items: list[Item] = field(default_factory=list)
    interrupted: bool = False
    trouble: str = ""  #: why pytest could not run at all


def run_regression(options: Options, listener: Listener) -> Outcome:
    """Run the tests that ``options`` name; the outcome has all that end, even if interrupted."""
    collector = Collector(listener, options.seeds[0])
    # Options that the shell has for pytest are not the regression's, nor its workers'.
    own: dict[str, str | None] = {name: None for name in os.environ if name.startswith("PYTEST_")}
    # The tests may set a day for their pages, which is not that of the regression's.
    own["SOURCE_DATE_EPOCH"] = os.environ.get("SOURCE_DATE_EPOCH")
    with chdir(options.root), termination_as_interrupt(), changed(own):
        try:
            status = pytest.main(arguments(options), plugins=[collector])
        except KeyboardInterrupt:
            status = pytest.ExitCode.INTERRUPTED
        finally:
            end_children()
    outcome = Outcome(items=collector.items, interrupted=status == pytest.ExitCode.INTERRUPTED)
    if status in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        outcome.trouble = collector.trouble or "pytest could not start"
    return outcome


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM as an interrupt, so that reports of what has ended are written."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:  # somebody has seen to it
        yield
        return

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def arguments(options: Options) -> list[str]:
    """Return pytest's command line: items are handed out one by one, in their order."""
    return [
        "--all",
        *(["--collect-only"] if options.collect_only else []),
        *(["-k", options.keyword] if options.keyword else []),
        *(["--waves"] if options.waves else []),
        *(["--timeout", str(options.timeout)] if options.timeout else []),
        *("-m", MARK, "-n", str(options.jobs), "--dist", "load", "--maxschedchunk", "1"),
        *("--rootdir", str(options.root), "--seed", str(options.seeds[0])),
        *("--seeds", str(len(options.seeds)), "--durations-file", str(options.durations)),
        *(
            "-p",
            "sim.verify.plugin",
            "-p",
            "no:terminal",
            "-p",
            "no:cacheprovider",
            "-o",
            "addopts=",
            "--",
        ),
        *options.targets,
    ]


class Collector:
    """Turns reports into items, as pytest's plugin in the process that leads the workers."""

    def __init__(self, listener: Listener, first_seed: int) -> None:
        self.listener = listener
        self.first_seed = first_seed  #: seed of an item whose name has none
        self.items: list[Item] = []
        self.trouble = ""
        self.phases: dict[str, list[pytest.TestReport]] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self.listener.collected(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.config.option.collectonly:
            self.listener.collected([item.nodeid for item in session.items])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.listener.started(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        phases = self.phases.setdefault(report.nodeid, [])
        phases.append(report)
        if report.when == "teardown" or report.when not in ("setup", "call"):
            self.finish(report.nodeid, item_of(self.phases.pop(report.nodeid), self.first_seed))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            text = report.longreprtext
            item = Item(
                test=report.nodeid,
                seed=self.first_seed,
                outcome="error",
                seconds=0,
                message=last_line(text),
                output=text,
            )
            self.finish(report.nodeid, item)

    def finish(self, nodeid: str, item: Item) -> None:
        """Keep an item that has ended, and tell the listener."""
        self.items.append(item)
        self.listener.finished(nodeid, item)

    def pytest_keyboard_interrupt(self) -> None:
        end_children()

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.trouble = last_line(str(excrepr))


def item_of(phases: Sequence[pytest.TestReport], first_seed: int) -> Item:
    """Make an item from the reports of its set-up, call and tear-down, or of a worker's crash."""
    last = phases[-1]
    record = next((value for name, value in last.user_properties if name == PROPERTY), None)
    known: Mapping[str, Any] = record if isinstance(record, dict) else {}
    runs = tuple(known.get("runs", ()))
    wrong = next((report for report in phases if report.failed), None)
    seed = seed_in(last.nodeid)
    return Item(
        test=name_of(last.nodeid),
        seed=first_seed if seed is None else seed,
        outcome=outcome_of(phases, wrong),
        seconds=sum(report.duration for report in phases),
        message=message_of(wrong, runs) if wrong else reason_of(phases),
        runs=runs,
        output=output_of(wrong) if wrong else "",
        failed=known.get("failed", ""),
    )


def outcome_of(phases: Sequence[pytest.TestReport], wrong: pytest.TestReport | None) -> str:
    """Return one of OUTCOMES: a failure outside of the test itself is an error."""
    if wrong is None:
        return "skipped" if any(report.skipped for report in phases) else "passed"
    if crash_of(wrong).startswith(f"Failed: {TIMED_OUT}"):
        return "timeout"
    return "failed" if wrong.when == "call" else "error"


def crash_of(report: pytest.TestReport) -> str:
    """Return in words the exception that ended an item."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return crash.message
    lines = str(report.longrepr).splitlines()
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    return "\n".join(marked or lines)


def reason_of(phases: Sequence[pytest.TestReport]) -> str:
    """Say why an item was skipped; nothing if it was not."""
    reported = [report.longrepr for report in phases if report.skipped]
    return (
        str(reported[0][2]).removeprefix("Skipped: ")
        if reported and isinstance(reported[0], tuple)
        else ""
    )


def message_of(wrong: pytest.TestReport, runs: Sequence[Mapping[str, Any]]) -> str:
    """Return in a line why it failed: what the first failed cocotb test says, or the exception."""
    for run in runs:
        for case in run["cases"]:
            if not case["passed"]:
                return f"{case['name']}: {case['message']}"
    return first_line(crash_of(wrong)).removeprefix("Failed: ")


def output_of(wrong: pytest.TestReport) -> str:
    """Return the traceback and everything that was printed, the simulator's log included."""
    parts = [wrong.longreprtext, *(f"-- {name} --\n{text}" for name, text in wrong.sections)]
    return "\n".join(part.rstrip() for part in parts) + "\n"


def first_line(text: str) -> str:
    """Return the first line that has something in it."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def last_line(text: str) -> str:
    """Return the last line that has something in it: where Python says what went wrong."""
    return first_line("\n".join(reversed(text.splitlines()))).removeprefix("E ").strip()


FORMAT = 1


def verify_json(
    options: Options, outcome: Outcome, started: datetime, seconds: float
) -> dict[str, Any]:
    """Return the content of verify.json: items by test, then by seed."""
    items: Sequence[Item] = outcome.items
    return {
        "format": FORMAT,
        "made_by": "ingather",
        "command": "verify",
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "jobs": options.jobs,
        "seeds": list(options.seeds),
        "targets": list(options.targets),
        "filter": options.keyword,
        "interrupted": outcome.interrupted,
        "simulation_seconds": round(sum(item.simulation_seconds for item in items), 3),
        "build_seconds": round(sum(item.build_seconds for item in items), 3),
        "items": [item.to_json() for item in sorted(items, key=lambda i: (i.test, i.seed))],
    }
