"""Compares a simulated cluster as a whole with one whose workers and switch are processes."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from hdl.p4sgd.worker_params import WorkerParams
from sim.bench.limits import Limit, Row
from sim.bench.speed_up import speed_up_row
from sim.harness.verilate import Build
from sim.p4sgd.train import Epoch, build_cluster, build_parts, simulate_training
from sim.p4sgd.training_session import TrainingSession
from sim.p4sgd.training_workload import TrainingWorkload

WORKERS = 8
#: of the speed of the whole, what two free cores reach at least
LEAST_SPEED_UP = Limit(1.7, at_least=True)


def rows(progress: Callable[[str], None], worker: WorkerParams) -> list[Row]:
    """Measure CPU seconds of the same epochs, with long and with short links."""
    return [row(progress, worker, latency) for latency in (990, 100)]


def row(progress: Callable[[str], None], worker: WorkerParams, latency: int) -> Row:
    """Return the speed-up on two free cores, which other programs on the machine do not change."""
    requested = TrainingWorkload(
        data="digits", eta=1.0, epochs=10, workers=WORKERS, link_latency=latency, processes=2
    )
    training = TrainingSession(worker, requested).training

    def epochs(name: str, simulator: Build) -> list[Epoch]:
        progress(f"{WORKERS} workers, links of {latency} cycles: {name}")
        seen: list[Epoch] = []
        with tempfile.TemporaryDirectory() as folder:
            settings = {"network": requested.network, "processes": requested.at_a_time}
            simulate_training(training, simulator, Path(folder), seen.append, **settings)
        return seen

    whole = epochs("whole", build_cluster(worker, WORKERS))
    parts = epochs("parts, two at a time", build_parts(worker, WORKERS))
    for epoch, other in zip(parts, whole, strict=True):
        if epoch.workers != other.workers or epoch.simulated_cycles != other.simulated_cycles:
            raise AssertionError(f"epoch {epoch.number}: parts differ from the whole")
    return speed_up_row(
        f"{latency} cycles",
        whole[-1].seconds,
        parts[-1].part_seconds,
        limit=LEAST_SPEED_UP,
        note=f"the same {whole[-1].simulated_cycles:,} cycles",
    )
