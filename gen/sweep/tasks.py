"""Does the work of the cluster's workers: build a simulator, synthesise, measure a point.

Nothing is raised: what went wrong comes back as text, with what was printed.
"""

import contextlib
import json
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen.designs.design import Design
from gen.sweep.subject import Subject
from gen.sweep.synthesis import estimate
from sim.harness.cache import cache_root, cached_folder, unfinished_name
from sim.harness.errors import HarnessError

LOG_LINES = 200  #: lines that are kept of the end of a log
RESULT = "result.json"


@dataclass(frozen=True)
class Outcome:
    """Holds the result of a task, or its error."""

    value: Any = None
    error: str = ""  #: why the task failed, in a line; nothing if all went well
    log: str = ""  #: last lines of the log, if the task failed
    seconds: float = 0.0


def log_file(key: str) -> Path:
    """Return the file into which a task prints; it remains if the task's process dies."""
    return cache_root() / "sweep" / "logs" / f"{key}.txt"


def last_words(key: str) -> str:
    """Return the end of a task's log, if this machine has it."""
    try:
        lines = log_file(key).read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-LOG_LINES:])


def attempt(key: str, work: Callable[[], Any]) -> Outcome:
    """Do ``work``, with all that it prints in the task's log."""
    start = time.monotonic()
    with logged(key) as log:
        try:
            value, error = work(), ""
        except (HarnessError, ValueError, OSError, AssertionError) as failure:
            value, error = None, first_line(failure)
            traceback.print_exc(file=log)
        except Exception as failure:
            value, error = None, f"{type(failure).__name__}: {first_line(failure)}"
            traceback.print_exc(file=log)
    seconds = time.monotonic() - start
    text = last_words(key) if error else ""
    log_file(key).unlink(missing_ok=True)
    return Outcome(value, error, text, seconds)


def first_line(failure: BaseException) -> str:
    """Return in a line what a failure says."""
    lines = str(failure).strip().splitlines()
    text = lines[0].rstrip(":") if lines else type(failure).__name__
    if len(lines) > 1 and lines[1].startswith(" "):  # the first of the tests that failed
        text += f": {lines[1].strip()}"
    return text


@contextlib.contextmanager
def logged(key: str) -> Iterator[Any]:
    """Send standard output and error to the task's log."""
    path = log_file(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        path.open("w", buffering=1) as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        yield log


def remembered(kind: str, key: str, work: Callable[[], Any]) -> Any:
    """Return the JSON that ``work`` gives; from the cache if it was done before."""

    def make(folder: Path) -> None:
        (folder / RESULT).write_text(json.dumps(work()))

    folder, _ = cached_folder(f"sweep/{kind}", key, make)
    return json.loads((folder / RESULT).read_text())


def build(key: str, subject: Subject, hardware: Any) -> Outcome:
    """Build the simulator of some hardware; return its place and its top."""

    def work() -> dict[str, Any]:
        result = remembered("builds", key, lambda: describe(subject.build(hardware)))
        if all(Path(each["folder"]).is_dir() for each in [result, *result["parts"]]):
            return result
        return describe(subject.build(hardware))  # the cache has been cleared

    return attempt(key, work)


def describe(built: Any) -> dict[str, Any]:
    """Return a build as an object of JSON, with those of its parts if it is cut."""
    parts = [describe(part) for part in getattr(built, "parts", ())]
    return {"folder": str(built.folder), "top": built.top, "parts": parts}


def described(built: dict[str, Any]) -> Any:
    """Return the build that :func:`describe` has described."""
    from sim.harness.part_builds import PartBuilds
    from sim.harness.verilator import Build

    folder, top, parts = Path(built["folder"]), built["top"], map(described, built["parts"])
    return PartBuilds(folder, top, parts=tuple(parts)) if built["parts"] else Build(folder, top)


def synthesise(key: str, design: Design, params: Any) -> Outcome:
    """Estimate the metrics of a design by synthesis."""
    return attempt(key, lambda: remembered("synthesis", key, lambda: estimate(design.make(params))))


def measure(
    key: str,
    subject: Subject,
    params: Any,
    workload: Any,
    built: dict[str, Any],
    clock_mhz: float,
) -> Outcome:
    """Measure a point: the metrics that the hardware counts."""

    def work() -> dict[str, float]:
        build = described(built)
        if not all(each.program.exists() for each in getattr(build, "parts", [build])):
            # it was made on another machine
            build = subject.build(subject.hardware(params, workload))
        root = cache_root() / "runs"
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=unfinished_name("sweep-"), dir=root) as folder:
            return subject.measure(params, workload, build, Path(folder), clock_mhz)

    return attempt(key, work)
