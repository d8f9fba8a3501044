"""Trains on the RTL: builds the simulator, runs it, and follows it epoch by epoch."""

import json
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen.base.emission.emit import module_name
from hdl.common.component import Component
from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.engine.tile_engine import TileEngine
from hdl.p4sgd.worker import Worker
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.background import follow
from sim.harness.session import RunFailed
from sim.harness.verilator import Build, Simulation, build, emission_of, run
from sim.p4sgd.surroundings.cluster import ClusterParams, ClusterSystem
from sim.p4sgd.surroundings.network import NetworkParams
from sim.p4sgd.surroundings.worker_system import WorkerSystem
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_job import (
    JOB,
    JOB_FILE,
    MODELS,
    PROGRESS,
    STOP,
    Job,
    MemorySettings,
    NetworkSettings,
    combined,
)
from sim.surroundings.axi_ram import RAM_ARRAY, ram_file
from sim.surroundings.link import Link


class TrainingStopped(RunFailed):
    """Says that a worker stopped, or that none makes progress; the text says why."""


@dataclass
class Epoch:
    """Holds what the hardware reports after an epoch."""

    number: int  #: number of the epoch, from 1
    weights: NDArray[np.int64]  #: weights [D], or [classes, D], after the epoch
    counters: Mapping[str, int]  #: counters of this epoch alone, of all workers together
    workers: Sequence[Mapping[str, int]]  #: counters of this epoch of each worker
    network: Mapping[str, int]  #: packets on all links, of this epoch alone
    simulated_cycles: int  #: cycles from the start of the simulation, host accesses included
    seconds: float  #: of CPU, from the start of the simulation


def build_worker(params: WorkerParams, **options: Any) -> Build:
    """Build the simulator of a worker and its memories, or take it from the cache."""
    blocks = [engine_of(params)] if params.engines > 1 else []
    return build_system(WorkerSystem(params), blocks, **options)


def engine_of(params: WorkerParams) -> Component:
    """Return one of a worker's engines."""
    return TileEngine(params.engine) if params.movers else Engine(params.engine)


def cluster_params(worker: WorkerParams, workers: int) -> ClusterParams:
    """Return the cluster that trains on ``workers`` workers."""
    return ClusterParams(
        worker=worker, network=NetworkParams(workers=workers, shadow=worker.shadow)
    )


def build_cluster(worker: WorkerParams, workers: int, **options: Any) -> Build:
    """Build the simulator of a cluster, or take it from the cache."""
    params = cluster_params(worker, workers)
    blocks = [engine_of(worker)] if workers * worker.engines > 1 else []
    if workers > 1:
        blocks = [*blocks, Worker(worker), Link(params.network.link)]
    return build_system(ClusterSystem(params), blocks, **options)


def build_system(system: Component, blocks: Sequence[Component], **options: Any) -> Build:
    """Build the simulator of ``system``, in which each of ``blocks`` is translated once."""
    emission = emission_of(system)
    return build(
        emission,
        extra_sources=[RAM_ARRAY],
        hier_blocks=[module_name(block) for block in blocks],
        optimise=True,
        **options,
    )


def memory_arguments(training: TrainingRun, folder: Path) -> list[str]:
    """Write the memories' files; return the arguments that name them."""
    arguments = []
    for index, image in enumerate(training.images):
        path = folder / f"memory_{index}.bin"
        path.write_bytes(image)
        arguments.append(ram_file(index, path))
    return arguments


def simulate_training(
    training: TrainingRun,
    simulator: Build,
    folder: Path,
    on_epoch: Callable[[Epoch], object],
    *,
    enough: Callable[[], bool] = lambda: False,
    initial: NDArray[np.int64] | None = None,
    memory: MemorySettings | None = None,
    network: NetworkSettings | None = None,
    seed: int | None = None,
) -> None:
    """Train on the RTL in ``folder``; ``on_epoch`` is called after each epoch as it ends.

    If ``enough`` then returns True, no further epoch is reported: the simulator, which may be some
    epochs ahead, ends too.
    ``simulator`` is of a worker, or with ``network`` of a cluster. Weights start at zero or
    ``initial``. Raises :class:`TrainingStopped` if a worker stops.
    """
    folder = folder.absolute()  # the simulator works in it, and is told the files of its memories
    folder.mkdir(parents=True, exist_ok=True)
    for name in (PROGRESS, STOP):
        (folder / name).unlink(missing_ok=True)
    start = np.zeros(training.shape, dtype=np.int64) if initial is None else initial
    job = Job(
        settings=[training.settings(1, worker) for worker in range(training.workers)],
        models=training.models(start),
        chunks=training.chunks,
        epochs=training.requested.epochs,
        memory=memory or MemorySettings(),
        network=network,
        under_way=training.under_way,
        steps=training.steps,
    )
    system: tuple[Any, type[Component]] = (training.params, WorkerSystem)
    if network is not None:
        system = (cluster_params(training.params, training.workers), ClusterSystem)
    (folder / JOB_FILE).write_bytes(pickle.dumps(job))

    def work() -> None:
        run(
            simulator,
            Simulation(
                test_module="sim.p4sgd.train_in_simulator",
                params=system[0],
                component=system[1],
                plusargs=memory_arguments(training, folder),
                env={JOB: str(folder)},
            ),
            seed=seed,
            folder=folder,
        )

    seen = 0

    def look() -> None:
        nonlocal seen
        if (folder / STOP).exists():
            return
        lines = read_lines(folder / PROGRESS)
        for line in map(json.loads, lines[seen:]):
            seen += 1
            if "failure" in line:
                raise TrainingStopped(line["failure"])
            on_epoch(read_epoch(training, folder, line))
            if enough():
                (folder / STOP).touch()
                return

    follow(work, look)


def read_lines(path: Path) -> list[str]:
    """Return the whole lines of a file that is being written."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


def read_models(training: TrainingRun, path: Path, epoch: int) -> NDArray[np.int32]:
    """Return weights [workers, engines, chunks, lanes] after an epoch, from 1."""
    engine = training.params.engine
    shape = (training.workers, training.params.engines, training.chunks, engine.lanes)
    count = math.prod(shape)
    place = (epoch - 1) * count * np.dtype("<i4").itemsize
    return np.fromfile(path, "<i4", count, offset=place).reshape(shape)


def read_epoch(training: TrainingRun, folder: Path, line: Mapping[str, Any]) -> Epoch:
    """Read what the simulator wrote of an epoch."""
    return Epoch(
        number=line["epoch"],
        weights=training.weights([*read_models(training, folder / MODELS, line["epoch"])]),
        counters=combined(line["workers"], training.shares_samples),
        workers=line["workers"],
        network=line["network"],
        simulated_cycles=line["cycle"],
        seconds=line["seconds"],
    )
