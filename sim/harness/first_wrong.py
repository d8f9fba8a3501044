"""Finds, inside the simulator, which beat was the first wrong one when a cocotb test fails.

cocotb lets pytest rewrite assertions, and asks a function of pytest's when one that compares does
not hold: ours notes the two sides. When cocotb then logs that the test has failed, the sides of the
assertion that ended it are searched (:mod:`sim.harness.mismatch`), and ``wrong.json`` in the
working directory gets a record of the test. A test that waits for ever names the stream it waits
for.
"""

import json
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import cocotb
from _pytest.assertion import util
from cocotb.triggers import SimTimeoutError

from sim.harness.beats import Beats
from sim.harness.clock import cycle
from sim.harness.failed_assertion import failed_assertion
from sim.harness.history import on_port, search
from sim.harness.mismatch import Mismatch, Pair, Wrong, decoded, differ, difference, wrong_of
from sim.harness.stimulus import clocks

__all__ = ["FILE", "histories", "install", "watch"]

FILE = "wrong.json"

streams: list[Any] = []  #: every Source and Monitor of the test that runs
histories: list[Callable[[], list[Beats]]] = []  #: what else was watched, asked if a test fails
_compared: list[tuple[FrameType, str, Any, Any]] = []  #: assertions that did not hold


def watch(stream: Any) -> None:
    """Take a Source or a Monitor into account if the test fails."""
    install()
    streams.append(stream)


def install() -> None:
    """Look at every assertion that fails from now on, and at every test that does."""
    log = logging.getLogger("cocotb.regression")
    if recorder not in log.handlers:
        log.addHandler(recorder)
        log.setLevel(logging.INFO)  # whatever is shown: else what a test began would outlive it
        util._reprcompare = note


def note(operator: str, left: Any, right: Any) -> None:
    """Keep the sides of a comparison that an assertion found not to hold."""
    frame = sys._getframe(2)  # past pytest's helper, to the assertion
    _compared.append((frame, operator, left, right))
    del _compared[:-8]


class Recorder(logging.Handler):
    """Listens to the log of cocotb's regression for tests that begin or fail."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write down why a test failed; forget all when another begins."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and record.levelno >= logging.WARNING:
            try:
                report(name_of(record), error)
            except Exception as problem:  # the test's own failure is what counts
                logging.getLogger(__name__).warning("no first wrong beat: %r", problem)
        elif "running" in record.getMessage():
            clocks.forget()
            streams.clear()
            histories.clear()
            _compared.clear()


recorder = Recorder()


def name_of(record: logging.LogRecord) -> str:
    """Return the name of the test that cocotb logs about, without its module."""
    full = next((word for word in map(str, record.args or ()) if "." in word), "?")
    function, slash, parameters = full.partition("/")
    return function.rpartition(".")[2] + slash + parameters


def report(test: str, error: BaseException) -> None:
    """Add a record of ``test`` to the file, and say it in the log."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    wrong = find(error)
    record = {
        "case": test,
        "error": f"{type(error).__name__}: {error}".partition("\n")[0],
        "first_wrong": None if wrong is None else asdict(wrong),
        "streams": [state_of(stream) for stream in streams],
    }
    path = Path(FILE)
    known = json.loads(path.read_text()) if path.exists() else []
    path.write_text(json.dumps([*known, record], indent=1) + "\n")
    if wrong is not None:
        logging.getLogger("cocotb.test").warning("first wrong beat: %s", wrong)


def find(error: BaseException) -> Wrong | None:
    """Return the first wrong beat; None if it cannot be told."""
    if isinstance(error, Mismatch):
        return error.wrong
    if isinstance(error, SimTimeoutError):
        return awaited()
    frames = list(frames_of(error.__traceback__))
    own = [entry for entry in _compared if any(entry[0] is frame for frame, _ in frames)]
    for _, operator, left, right in reversed(own):
        if (wrong := of_comparison(operator, left, right)) is not None:
            return wrong
    if not frames or not isinstance(error, AssertionError):
        return None
    assertion = failed_assertion(*frames[-1])
    if assertion is None:
        return None
    if (sides := assertion.equal_arrays()) is not None:
        return of_values(*sides)
    return assertion.mentioned(cycle())


def frames_of(trace: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    """Yield the frames that an error passed through, outermost first, and the line in each."""
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


def of_comparison(operator: str, left: Any, right: Any) -> Wrong | None:
    """Return the wrong beat of an assertion whose sides are known."""
    if operator == "==":
        return of_values(left, right)
    wrong = wrong_of([Pair(left, right)], cycle(), driven)
    return wrong and replace(wrong, expected=f"{decoded(left)} {operator} {decoded(right)}")


def of_values(left: Any, right: Any) -> Wrong | None:
    """Return the wrong beat of two values that should be equal; None if they are."""
    if not differ(left, right):
        return None
    wrong = wrong_of(difference(left, right), cycle(), driven)
    wrong = wrong or search(left, right, known(), cycle(), driven)
    return wrong or on_port(difference(left, right), ports(), cycle())


def ports() -> dict[str, int]:
    """Return what the ports of the component under test show."""
    top: Any = cocotb.top
    return {handle._name: int(handle.value) for handle in top if hasattr(handle, "value")}


def driven(name: str) -> bool:
    """Return whether the test itself sends on stream ``name``."""
    return any(stream.name == name and stream.drives for stream in streams)


def known() -> list[Beats]:
    """List all streams that were watched."""
    seen = [stream.beats for stream in streams if not stream.drives]
    return seen + [beats for history in histories for beats in history()]


def awaited() -> Wrong | None:
    """Return the beat that a test waited for in vain."""
    waits = [stream for stream in streams if not stream.drives and stream.missing]
    waits = waits or [stream for stream in streams if stream.drives and stream.missing]
    if not waits:
        return None
    stream = waits[0]
    last = max((moved[-1] for s in streams if (moved := list(s.cycles))), default=None)
    return Wrong(
        stream=stream.name,
        index=len(stream.cycles),
        cycle=last,
        expected=f"{stream.missing} more beats",
        got=f"none: {state_of(stream)['state']}; nothing moved after this cycle",
    )


def state_of(stream: Any) -> dict[str, Any]:
    """Return how far a stream has come, and which side waits for the other."""
    ports = [getattr(stream.bus, name, None) for name in ("valid", "ready")]
    valid, ready = (port is None or bool(port.value) for port in ports)
    states = {
        (True, True): "moves",
        (True, False): "valid waits for ready",
        (False, True): "ready waits for valid",
        (False, False): "neither valid nor ready",
    }
    moved = list(stream.cycles)
    return {
        "stream": stream.name,
        "driven": stream.drives,
        "beats": len(moved),
        "last_cycle": int(moved[-1]) if moved else None,
        "state": states[valid, ready],
    }
