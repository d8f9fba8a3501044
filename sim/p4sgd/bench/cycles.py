"""Compares the cycles of an epoch, by the hardware's counters, with the ideal ones."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from hdl.p4sgd.worker_params import WorkerParams
from sim.bench.limits import Limit, Row
from sim.harness.verilate import Build
from sim.p4sgd.bench.replay import FREE_RUNNING, replay
from sim.p4sgd.golden.formula import PAPER_DATA
from sim.p4sgd.train import build_worker
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_job import MemorySettings
from sim.p4sgd.training_workload import TrainingWorkload
from sim.workloads.datasets import DataSet

MAX_DEVIATION = Limit(0.03)
MAX_TURNAROUND = {1: Limit(40), 3: Limit(50)}  #: by dies: of one engine, and of all
SAMPLES, BATCH, BITS = 512, 64, 4
FEATURES = (64, 1 << 10, 1 << 14)
WORD_BITS, BANKS = 128, (1, 2, 4, 8, 16)  #: of engines that differ in their banks alone
CLASSES, CLASS_CHUNKS = (2, 5, 10), (1, 256)  #: words of a chunk, fewer than ten classes, and many


@dataclass(frozen=True)
class Epoch:
    """Holds the measured and the ideal cycles of an epoch in the steady state."""

    measured: float
    ideal: int

    @property
    def deviation(self) -> float:
        """Return how far the measured cycles are from the ideal ones, as a share of these."""
        return abs(self.measured / self.ideal - 1)


def ideal_cycles(
    *, micro_batches: int, batches: int, words: int, turnaround: int, pace: int
) -> int:
    """Return the cycles of an epoch in the steady state: ``(B / K) C s + T`` for each mini-batch.

    ``words`` is C s. Where it is less than ``pace``, the cycles of the update loop or of all
    classes, micro-batches but the last take these. The formula's ``C s`` once, the last
    micro-batch's way backward, belongs to a run and not to its epochs: the next epoch's words
    follow the model's update as any next mini-batch's do.
    """
    return (micro_batches - batches) * max(words, pace) + batches * (words + turnaround)


def workload(
    params: WorkerParams,
    features: int,
    *,
    samples: int,
    batch: int,
    epochs: int,
    bits: int = BITS,
    tile: int = 0,
) -> TrainingRun:
    """Draw random data, and make it ready for ``params``."""
    rng, classes = np.random.default_rng(features), max(2, params.classes)
    labels = rng.integers(0, classes, size=samples).astype(float)
    X = rng.random((samples, features))
    data = DataSet("random", X, labels, "", label_values=tuple(range(classes)))
    how = TrainingWorkload(eta=1.0, bits=bits, batch=batch, epochs=epochs, tile=tile)
    return TrainingRun(data, params, how)


def epoch_cycles(
    params: WorkerParams,
    simulator: Build,
    features: int,
    *,
    samples: int,
    batch: int,
    bits: int = BITS,
    tile: int = 0,
    memory: MemorySettings | None = None,
) -> float:
    """Return half the difference of runs of three epochs and of one: starts and ends cancel."""
    counts = []
    for epochs in (1, 3):
        sizes = {"samples": samples, "batch": batch, "bits": bits, "tile": tile}
        training = workload(params, features, epochs=epochs, **sizes)
        with tempfile.TemporaryDirectory() as folder:
            counts.append(replay(training, simulator, Path(folder), memory).counters["cycles"])
    return (counts[1] - counts[0]) / 2


def turnaround(params: WorkerParams, simulator: Build) -> int:
    """Measure T: from a micro-batch's last word in to the first word of the next mini-batch.

    It is measured where it stands alone: mini-batches of one micro-batch take ``C s + T``.
    """
    banks, lanes = params.engine.banks, params.engine.lanes
    features, batches = 2 * params.sets * lanes, 16  # two chunks: more than the update loop
    batch = max(banks, 8)
    cycles = epoch_cycles(params, simulator, features, samples=batches * batch, batch=batch)
    each, rest = divmod(cycles, batches)
    assert rest == 0, f"{cycles} cycles for {batches} mini-batches"
    return int(each) - batch // banks * 2 * BITS


def compare(
    params: WorkerParams, simulator: Build, features: int, turnaround: int, samples: int = SAMPLES
) -> Epoch:
    """Measure an epoch of random data with ``features`` features."""
    measured = epoch_cycles(params, simulator, features, samples=samples, batch=BATCH)
    training = workload(params, features, samples=samples, batch=BATCH, epochs=1)
    ideal = ideal_cycles(
        micro_batches=training.micro_batches,
        batches=-(-samples // BATCH),
        words=training.chunks * BITS,
        turnaround=turnaround,
        pace=max(params.engine.update_loop, params.packets),
    )
    return Epoch(measured, ideal)


def rows(progress: Callable[[str], None], worker: WorkerParams) -> list[Row]:
    """Measure data of all sizes, on one engine of ``worker`` and on all."""
    result = []
    count = f"{worker.engines} engines"
    hardware = {"1 engine": replace(worker, engines=1), count: worker}
    if worker.engines > 8:
        hardware[f"{count}, 3 dies"] = replace(worker, slrs=3)
    for name, params in hardware.items():
        progress(f"building the simulator of {name}")
        simulator = build_worker(params, second_main=FREE_RUNNING)
        progress(f"{name}: turnaround")
        result += hardware_rows(name, params, simulator, progress)
    return result


def bank_rows(progress: Callable[[str], None], worker: WorkerParams) -> list[Row]:
    """Measure engines of ``worker`` whose word is always as wide, and has more or fewer banks."""
    result = []
    for banks in BANKS:
        engine = replace(worker.engine, banks=banks, lanes=WORD_BITS // banks)
        name = f"{banks} x {engine.lanes}"
        progress(f"building the simulator of {name}")
        params = replace(worker, engines=1, engine=engine)
        simulator = build_worker(params, second_main=FREE_RUNNING)
        cycles = turnaround(params, simulator)
        epoch = compare(params, simulator, max(FEATURES), cycles)
        result.append(epoch_row(f"{name}: D = {max(FEATURES)}, T = {cycles}", epoch, limited=True))
    return result


def class_rows(progress: Callable[[str], None], worker: WorkerParams) -> list[Row]:
    """Measure several classes in one pass, with engines of 8 and of 16 banks and equal words.

    The last row is all of ``worker`` on a mini-batch of data of amazon_fashion's shape.
    """
    result = []
    for classes, banks in product(CLASSES, (8, 16)):
        engine = replace(worker.engine, banks=banks, lanes=worker.engine.word_bits // banks)
        params = replace(worker, engines=classes, classes=classes, engine=engine)
        name = f"{classes} classes, {banks} banks"
        progress(f"building the simulator of {name}")
        simulator = build_worker(params, second_main=FREE_RUNNING)
        cycles = turnaround(params, simulator)
        for chunks in CLASS_CHUNKS:
            epoch = compare(params, simulator, chunks * engine.lanes, cycles)
            what = f"{name}: C s = {chunks * BITS}, T = {cycles}"
            result.append(epoch_row(what, epoch, limited=True))
    data = next(data for data in PAPER_DATA if data.name == "amazon_fashion")
    progress(f"building the simulator of {worker.engines} engines")
    simulator = build_worker(worker, second_main=FREE_RUNNING)
    cycles = turnaround(worker, simulator)
    progress(f"a mini-batch of {data.features} features")
    epoch = compare(worker, simulator, data.features, cycles, samples=BATCH)
    what = f"{worker.classes} classes, {data.name}'s features: T = {cycles}"
    return [*result, epoch_row(what, epoch, limited=True)]


def hardware_rows(
    name: str,
    params: WorkerParams,
    simulator: Build,
    progress: Callable[[str], None],
    features: Sequence[int] = FEATURES,
) -> list[Row]:
    """Measure the turnaround, and an epoch of each number of features; the largest has a limit."""
    cycles = turnaround(params, simulator)
    limit = MAX_TURNAROUND[params.slrs] if params.engines == 1 or params.slrs > 1 else None
    note = "s = 4, logistic, no network"
    result = [Row(what=f"{name}: T", value=cycles, unit="cycles", limit=limit, note=note)]
    for count in features:
        progress(f"{name}: {count} features")
        epoch = compare(params, simulator, count, cycles)
        result.append(epoch_row(f"{name}: D = {count}", epoch, limited=count == max(features)))
    return result


def epoch_row(what: str, epoch: Epoch, *, limited: bool) -> Row:
    """Return how far an epoch is from the formula, as a row."""
    return Row(
        what=what,
        value=100 * epoch.deviation,
        unit="%",
        limit=Limit(100 * MAX_DEVIATION.bound) if limited else None,
        note=f"{epoch.measured:,.0f} cycles an epoch, {epoch.ideal:,} by the formula",
    )
