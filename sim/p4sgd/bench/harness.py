"""Measures the harness: its time beside the simulations, and what visible ports alone save."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from hdl.common.fifo import Fifo, FifoParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.bench.limits import Limit, Row
from sim.harness.verilate import Build, build
from sim.harness.verilator import emission_of
from sim.p4sgd.bench.speed import empty_cache, train
from sim.p4sgd.train import build_worker
from sim.p4sgd.training_session import TrainingSession
from sim.p4sgd.training_workload import TrainingWorkload

MOST_OVERHEAD = Limit(1.10)
SUBSET = ("hdl.common",)  #: tests that are measured, some 60 quick and medium items
ROUNDS = 3


def rows(progress: Callable[[str], None], worker: WorkerParams) -> list[Row]:
    """Make both measurements, the second one on ``worker``."""
    return [*overhead_rows(progress), *visibility_rows(progress, worker)]


def overhead_rows(progress: Callable[[str], None]) -> list[Row]:
    """Verify the subset twice: the first time builds what is not in the cache."""
    for turn in ("to build", "to measure"):
        progress(f"verifying {', '.join(SUBSET)} {turn}")
        found = verify(*SUBSET)
    return judge_overhead(found)


def verify(*names: str) -> dict[str, Any]:
    """Run ``ingather verify``, and return the content of its verify.json."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "verify")
        command = [sys.executable, "-m", "gen", "verify", *names, "-o", str(output)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return json.loads((output / "verify.json").read_text())


def judge_overhead(found: Mapping[str, Any]) -> list[Row]:
    """Compare the time of all processes with the time that they spent in simulators."""
    simulated, jobs = found["simulation_seconds"], found["jobs"]
    built = sum(run["built"] for item in found["items"] for run in item["runs"])
    return [
        Row(
            what="verify overhead",
            value=found["seconds"] * jobs / simulated,
            unit="times",
            limit=MOST_OVERHEAD,
            note=f"{found['seconds']:.0f} s with {jobs} jobs, {simulated:.0f} s in simulators,"
            f" {len(found['items'])} items, {built} built",
        )
    ]


def visibility_rows(progress: Callable[[str], None], worker: WorkerParams) -> list[Row]:
    """Build a worker from nothing with its ports visible and with all its signals, and train."""
    asked = TrainingWorkload(data="digits", shuffle=False, eta=1.0, epochs=10)
    training = TrainingSession(worker, asked).training
    speeds: dict[bool, list[float]] = {False: [], True: []}
    builds: dict[bool, Build] = {}
    with empty_cache(), tempfile.TemporaryDirectory() as folder:
        build(emission_of(Fifo(FifoParams(width=8, depth=2))))  # Verilator's runtime, for all
        for whole in speeds:
            progress(f"building a worker with {'all signals' if whole else 'ports'} visible")
            builds[whole] = build_worker(worker, all_signals=whole)
        for turn in range(1, ROUNDS + 1):
            for whole, made in builds.items():
                progress(f"training, turn {turn} of {ROUNDS}")
                last = train(training, made, Path(folder))
                speeds[whole].append(last.simulated_cycles / last.seconds)
    seconds = {whole: made.seconds for whole, made in builds.items()}
    return judge_visibility(seconds, {whole: median(found) for whole, found in speeds.items()})


def judge_visibility(seconds: Mapping[bool, float], speeds: Mapping[bool, float]) -> list[Row]:
    """Return what is gained when ports alone are visible, in build time and in speed.

    ``seconds`` to build and ``speeds`` in cycles a second are by whether all signals are visible.
    """
    return [
        Row(
            what="ports only, build",
            value=seconds[True] / seconds[False],
            unit="times as fast",
            note=f"{seconds[False]:.1f} s; with all signals {seconds[True]:.1f} s",
        ),
        Row(
            what="ports only, simulation",
            value=speeds[False] / speeds[True],
            unit="times as fast",
            note=f"{speeds[False]:,.0f} cycles/s; with all signals {speeds[True]:,.0f}",
        ),
    ]
