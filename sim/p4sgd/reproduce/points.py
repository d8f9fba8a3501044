"""Measures cycles of a mini-batch by the hardware's counters, for many sizes of training.

Hardware that trains spends the same cycles whatever the data are. So nothing is loaded here: the
memories are empty and read as zeros, and one simulation measures point after point.
"""

import json
import pickle
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.cluster.dispatch import each
from sim.golden.choices import Schedule
from sim.harness.verilator import Build, Simulation, run
from sim.p4sgd.golden.formula import Machine
from sim.p4sgd.surroundings.cluster import ClusterSystem
from sim.p4sgd.train import build_cluster, cluster_params
from sim.p4sgd.training import TrainingRun, check_fit
from sim.p4sgd.training_job import NetworkSettings
from sim.p4sgd.training_workload import TrainingWorkload
from sim.reproduce.outcomes import CLIENT
from sim.workloads.datasets import DataSet

JOB, JOB_FILE, RESULTS = "INGATHER_POINTS_JOB", "points.pickle", "points.jsonl"
PASS_SAMPLES = 128  #: samples of a pass, or one mini-batch if that has more
PASSES = (1, 2)  #: passes of the two runs whose difference is measured
WHOLE = (1,)  #: passes of the run that measures a whole epoch
PARALLEL = 2  #: number of simulations at a time
POLL_SECONDS = 0.2

BITS = 4
PACKET_CYCLES = 20  #: cycles of a packet in both transports and the switch: measured, to and fro
SLOT_CYCLES = 34  #: cycles of a slot in use, beside four times a link: measured
SCALING = EngineParams(lanes=32, max_bits=BITS, chunks=512, fifo_words=4096)


def linked(latency: int) -> dict[str, int]:
    """Return what a :class:`Machine` has of links of ``latency`` cycles, one way."""
    return {"network": 2 * latency + PACKET_CYCLES, "round_trip": 4 * latency + SLOT_CYCLES}


@dataclass(frozen=True, kw_only=True)
class Point:
    """Describes a size of training, and the hardware that does it."""

    workers: int = 1  #: M, number of workers
    hardware: WorkerParams
    features: int  #: D, number of features
    batch: int = 64  #: B, number of samples of a mini-batch
    schedule: Schedule = Schedule.PIPELINED
    link_latency: int = 0  #: cycles of a link, one way
    samples: int = 0  #: samples of a pass; the fewest mini-batches that have PASS_SAMPLES, if 0
    whole: bool = False  #: whether a pass is measured from its start to its end, as an epoch

    @property
    def machine(self) -> Machine:
        """Return the hardware's sizes for the formulas."""
        engine = self.hardware.engine
        return Machine(
            workers=self.workers,
            engines=self.hardware.engines,
            banks=engine.banks,
            lanes=engine.lanes,
            bits=BITS,
            slots=self.hardware.slots,
            fifo_words=engine.fifo_words,
            **(linked(self.link_latency) if self.workers > 1 else {}),
        )

    @property
    def passes(self) -> tuple[int, ...]:
        """Return the passes of each run."""
        return WHOLE if self.whole else PASSES

    @property
    def pass_samples(self) -> int:
        """Return the number of samples of a pass."""
        return self.samples or -(-PASS_SAMPLES // self.batch) * self.batch

    @property
    def batches(self) -> float:
        """Return the number of mini-batches of a pass; the last one may be a part of one."""
        return self.pass_samples / self.batch

    @property
    def turnaround(self) -> "Point":
        """Return a point like this one whose mini-batch shows T: the fewest samples, two chunks."""
        engine, data_parallel = self.hardware.engine, self.schedule is Schedule.DATA_PARALLEL
        holders = 1 if data_parallel else self.workers  # workers that share the features
        samples = max(8, engine.banks * (self.workers if data_parallel else 1))
        features = 2 * holders * self.hardware.engines * engine.lanes
        count = samples if self.samples else 0
        return replace(self, features=features, batch=samples, samples=count, whole=False)

    def ideal(self, turnaround: float) -> float:
        """Return the cycles of a mini-batch by the formula; of an epoch's mean one, if whole."""
        formula = {
            Schedule.PIPELINED: self.machine.pipelined,
            Schedule.VANILLA: self.machine.vanilla,
            Schedule.DATA_PARALLEL: self.machine.data_parallel,
        }[self.schedule]
        cycles = formula(self.features, self.batch, turnaround)
        if not self.whole:
            return cycles
        batches, rest = divmod(self.samples, self.batch)
        cycles *= batches
        if rest:
            cycles += formula(self.features, rest, turnaround)
        return (cycles + self.machine.words(self.features)) / self.batches

    def training(self) -> TrainingRun:
        """Return a pass over data of this size, for its settings; ``DoesNotFit`` may be raised."""
        return Pass(self)


class Pass(TrainingRun):
    """A pass over samples that are all zero, of which one is held."""

    def __init__(self, point: Point) -> None:
        self.point = point
        options = TrainingWorkload(
            eta=1.0, bits=BITS, batch=point.batch, schedule=point.schedule, workers=point.workers
        )
        check_fit(point.hardware, options, point.pass_samples, point.features)
        sample = DataSet("zeros", np.zeros((1, point.features)), np.zeros(1), "")
        super().__init__(sample, point.hardware, options)

    @property
    def samples(self) -> int:
        """Return the number of samples of the pass."""
        return self.point.pass_samples


@dataclass(frozen=True)
class Measurement:
    """Holds what the hardware counted."""

    batch_cycles: float  #: cycles of a mini-batch in the steady state, or the mean of an epoch's
    workers: Sequence[Mapping[str, int]]  #: counters of each worker in the longest run
    cycles: int = 0  #: cycles that were simulated
    seconds: float = 0.0  #: seconds that this took


Measurements = dict[Point, Measurement]
Progress = Callable[[str, int, int], None]  #: takes what is going on, points done, points in all


@dataclass(frozen=True)
class Order:
    """Holds the settings of a point that the simulator gets."""

    settings: list[list[dict[str, int]]]  #: registers of each run and worker
    micro_batches: list[int]  #: number of micro-batches of each run
    network: NetworkSettings


def order(point: Point) -> Order:
    """Return the runs that measure a point."""
    training = point.training()
    return Order(
        [[training.settings(count, k) for k in range(point.workers)] for count in point.passes],
        [training.micro_batches * count for count in point.passes],
        NetworkSettings(latency=point.link_latency),
    )


def measure(points: Iterable[Point], progress: Progress) -> Measurements:
    """Build each cluster there is, and measure its points; two simulations run at a time.

    Every schedule has a simulation of its own.
    """
    groups: dict[tuple[WorkerParams, int, Schedule], list[Point]] = {}
    for point in dict.fromkeys(points):
        groups.setdefault((point.hardware, point.workers, point.schedule), []).append(point)
    total, result = sum(map(len, groups.values())), {}
    # The largest first: it simulates slowest, while others are still being built.
    ordered = sorted(groups, key=cost, reverse=True)
    if (client := CLIENT.get()) is not None:
        progress("measuring", 0, total)
        for _, measured in each(client, built, [groups[group] for group in ordered]):
            result |= measured
            progress("measuring", len(result), total)
        return result
    with (
        tempfile.TemporaryDirectory() as scratch,
        ThreadPoolExecutor(PARALLEL) as pool,
    ):
        futures: dict[Future[Measurements], Path] = {}

        def report(text: str) -> None:
            progress(text, sum(len(read(folder)) for folder in futures.values()), total)

        for index, group in enumerate(ordered):
            hardware, workers, _ = group
            report(f"building the simulator of {workers} x {hardware.engines} engines")
            simulator = build_cluster(hardware, workers)
            folder = Path(scratch, str(index))
            future = pool.submit(simulate, simulator, groups[group], folder)
            futures[future] = folder
        waiting = set(futures)
        while waiting:
            report("measuring")
            done, waiting = wait(waiting, POLL_SECONDS, FIRST_COMPLETED)
            for future in done:
                result |= future.result()
    return result


def cost(group: tuple[WorkerParams, int, Schedule]) -> tuple[bool, int]:
    """Rank a group by how long it simulates: data parallelism longest, else by its hardware."""
    hardware, workers, schedule = group
    return schedule is Schedule.DATA_PARALLEL, workers * hardware.engines


def built(points: Sequence[Point]) -> Measurements:
    """Build one cluster, and measure points of it."""
    with tempfile.TemporaryDirectory() as folder:
        simulator = build_cluster(points[0].hardware, points[0].workers)
        return simulate(simulator, points, Path(folder))


def simulate(simulator: Build, points: Sequence[Point], folder: Path) -> Measurements:
    """Measure points of one cluster, in one simulation."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JOB_FILE).write_bytes(pickle.dumps([order(point) for point in points]))
    run(
        simulator,
        Simulation(
            test_module="sim.p4sgd.reproduce.points_in_simulator",
            params=cluster_params(points[0].hardware, points[0].workers),
            component=ClusterSystem,
            env={JOB: str(folder)},
        ),
        seed=1,
        folder=folder,
    )
    return {
        point: measurement(point, runs) for point, runs in zip(points, read(folder), strict=True)
    }


def measurement(point: Point, runs: Sequence[Mapping[str, Any]]) -> Measurement:
    """Return what the runs of a point show: the last one, less the one before if there is one."""
    cycles = [run["cycles"] for run in runs]
    return Measurement(
        (cycles[-1] - sum(cycles[:-1])) / point.batches,
        runs[-1]["all"],
        sum(cycles),
        sum(run["seconds"] for run in runs),
    )


def read(folder: Path) -> list[list[dict]]:
    """Read what a simulation has written so far: the time and all counters of points and runs."""
    path = folder / RESULTS
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def turnaround(point: Point, measurements: Measurements) -> float:
    """Return T of the hardware, network and schedule of ``point``, from what was measured."""
    small = point.turnaround
    alone = point.schedule is Schedule.DATA_PARALLEL
    own = small.ideal(0) if alone else small.machine.forward(small.features, small.batch)
    return measurements[small].batch_cycles - own
