"""Measures the build of a simulator, and the speed of ``train`` beside the bare model."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from hdl.p4sgd.worker_params import WorkerParams
from sim.bench.limits import CPU, Limit, Row, cpu_seconds
from sim.harness.verilate import Build
from sim.p4sgd.bench.replay import FREE_RUNNING, replay
from sim.p4sgd.train import Epoch, build_worker, simulate_training
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_session import TrainingSession
from sim.p4sgd.training_workload import TrainingWorkload

MAX_BUILD_SECONDS = Limit(240)
LEAST_SHARE = Limit(0.8, at_least=True)
EPOCHS = 20
ROUNDS = 5


@contextmanager
def empty_cache() -> Iterator[None]:
    """Let nothing be found that was built before."""
    before = os.environ.get("INGATHER_CACHE")
    with tempfile.TemporaryDirectory(prefix="ingather-bench-") as folder:
        os.environ["INGATHER_CACHE"] = folder
        try:
            yield
        finally:
            del os.environ["INGATHER_CACHE"]
            if before is not None:
                os.environ["INGATHER_CACHE"] = before


def build_rows(progress: Callable[[str], None], worker: WorkerParams) -> list[Row]:
    """Build the u280 worker's simulator from nothing, emission included."""
    progress("building the simulator of the u280 worker from nothing")
    start = cpu_seconds()
    with empty_cache():
        build_worker(worker)
    seconds = cpu_seconds() - start
    note = "emission, Verilator, g++"
    what = "u280 worker system"
    return [Row(what=what, value=seconds, unit=CPU, limit=MAX_BUILD_SECONDS, note=note)]


def speed_rows(progress: Callable[[str], None], worker: WorkerParams) -> list[Row]:
    """Train on digits with Python and without, in turns."""
    requested = TrainingWorkload(data="digits", shuffle=False, eta=1.0, epochs=EPOCHS)
    training = TrainingSession(worker, requested).training
    progress("building the simulator, with a second main")
    simulator = build_worker(training.params, second_main=FREE_RUNNING)
    with_python, without = [], []
    for turn in range(1, ROUNDS + 1):
        with tempfile.TemporaryDirectory() as folder:
            progress(f"training on digits, turn {turn} of {ROUNDS}: without Python")
            bare = replay(training, simulator, Path(folder))
            without.append(bare.cycles / bare.seconds)
            progress(f"training on digits, turn {turn} of {ROUNDS}: train")
            last = train(training, simulator, Path(folder))
            with_python.append(last.simulated_cycles / last.seconds)
    return judge(with_python, without)


def train(training: TrainingRun, simulator: Build, folder: Path) -> Epoch:
    """Simulate as ``ingather train`` does; return the last epoch, which has the totals."""
    epochs: list[Epoch] = []
    simulate_training(training, simulator, folder, epochs.append)
    return epochs[-1]


def judge(with_python: list[float], without: list[float]) -> list[Row]:
    """Return the rows of these speeds in cycles per second of CPU, which were measured in turns."""
    middle, bare = median(with_python), median(without)
    turns = f"median of {len(without)} turns"
    return [
        Row(
            what="the Verilated model alone",
            value=bare,
            unit="cycles/s",
            note=f"{turns}, {min(without):,.0f} to {max(without):,.0f}; one start of all epochs",
        ),
        Row(
            what="train",
            value=middle,
            unit="cycles/s",
            note=f"{turns}, {min(with_python):,.0f} to {max(with_python):,.0f}; host accesses"
            " after each epoch included",
        ),
        Row(what="train / alone", value=middle / bare, limit=LEAST_SHARE),
    ]
