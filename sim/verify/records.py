"""Records, as pytest's plugin, what each item simulated; the item's last report carries it."""

import base64
import os
import pickle
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, Any

import psutil
import pytest

if TYPE_CHECKING:
    from sim.harness.verilator import Run, Simulation

PROPERTY = "ingather"  #: among a report's user_properties
TIMED_OUT = "stopped after"

_runs: "list[tuple[Simulation | None, Run]]" = []

_interruptible: list[bool] = []  #: not empty while a test or its set-up is under way


def observe(simulation: "Simulation | None", run: "Run") -> None:
    """Keep a run that ended until its item ends."""
    _runs.append((simulation, run))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to listen to simulations."""
    if session.items:  # a controller of workers has none, and need not load the simulator
        from sim.harness.verilator import observers

        observers.append(observe)
        session.config.add_cleanup(lambda: observers.remove(observe))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Forget the runs of the item before."""
    _runs.clear()
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Give the item's last report what it simulated."""
    if call.when == "teardown":
        item.user_properties.append((PROPERTY, record_of()))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Let a time-out interrupt the set-up."""
    with interruptible():
        return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call() -> Iterator[None]:
    """Let a time-out interrupt the test."""
    with interruptible():
        return (yield)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let a time-out raise its exception in here."""
    _interruptible.append(True)
    try:
        yield
    finally:
        _interruptible.pop()


def record_of() -> dict[str, Any]:
    """Return the item's runs, and the first of them that failed, pickled."""
    failed = next(((s, r) for s, r in _runs if not r.passed), None)
    return {
        "runs": [describe(simulation, run) for simulation, run in _runs],
        "failed": "" if failed is None else base64.b64encode(pickle.dumps(failed)).decode(),
    }


def describe(simulation: "Simulation | None", run: "Run") -> dict[str, Any]:
    """Return a run as JSON, with cycles of the clock that ``sim.harness.streams`` drives."""
    from sim.harness.clock import PERIOD_NS
    from sim.harness.verilate import class_path

    cases = [
        {
            "name": case.name,
            "passed": case.passed,
            "cycles": round(case.sim_ns / PERIOD_NS),
            "seconds": case.seconds,
            "message": case.message,
        }
        for case in run.tests
    ]
    return {
        "component": "" if simulation is None else class_path(simulation.component),
        "top": run.top,
        "test_module": "" if simulation is None else simulation.test_module,
        "seed": run.seed,
        "built": run.built,
        "build_seconds": round(run.build_seconds, 3),
        "seconds": round(run.seconds, 3),
        "cycles": sum(case["cycles"] for case in cases),
        "cases": cases,
    }


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    """End the simulator or compiler that an item waits for, at its time-out, then the item."""
    if settings.method != "signal" or current_thread() is not main_thread():
        return None

    def stop(_signal: int, _frame: FrameType | None) -> None:
        end_children()
        if not _interruptible:  # what pytest does between phases may not fail
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            return
        pytest.fail(f"{TIMED_OUT} {settings.timeout:g} s", pytrace=False)

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, settings.timeout)
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_cancel_timer() -> None:
    """Cancel the timer, as the item has ended in time."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def end_children() -> None:
    """Kill all processes that this one has started, and those that they have started."""
    for child in psutil.Process(os.getpid()).children(recursive=True):
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
