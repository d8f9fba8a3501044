"""Trains on the RTL: builds the simulator, runs it, and follows it epoch by epoch."""

import json
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
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
from sim.harness.clusters import Cluster
from sim.harness.part_builds import PartBuilds, build_each
from sim.harness.parts import Link, Workers
from sim.harness.session import RunFailed
from sim.harness.verilator import Build, build, emission_of
from sim.p4sgd.surroundings.cluster import ClusterParams, ClusterSystem
from sim.p4sgd.surroundings.cluster_parts import SwitchPart, WorkerPart, WorkerPartParams
from sim.p4sgd.surroundings.network import NetworkParams
from sim.p4sgd.surroundings.worker_system import WorkerSystem
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_job import (
    JOB_FILE,
    MODELS,
    PROGRESS,
    STOP,
    Job,
    Members,
    MemorySettings,
    NetworkSettings,
    combined,
    parts_of,
)
from sim.surroundings.axi_ram import RAM_ARRAY, ram_file
from sim.surroundings.exchange import FUNCTIONS, MODULE, epoch_of
from sim.surroundings.link import Link as SimulatedLink


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
    seconds: float  #: of CPU, from the start of the simulation, of all parts
    part_seconds: Sequence[float] = ()  #: of each part


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
        blocks = [*blocks, Worker(worker), SimulatedLink(params.network.link)]
    return build_system(ClusterSystem(params), blocks, **options)


def part_of(params: ClusterParams, members: Members) -> Component:
    """Return the hardware of a worker or the switch with its ends of links."""
    if members.has_switch:
        return SwitchPart(params.network)
    return WorkerPart(WorkerPartParams(worker=params.worker, link=params.network.link))


def build_parts(
    worker: WorkerParams, workers: int, *, waves_worker: int = 0, **options: Any
) -> PartBuilds:
    """Build the simulators of all parts of a cluster, workers first, which share one.

    If simulators can write waves, only that of ``waves_worker`` does.
    """
    work = partial(build_some, cluster_params(worker, workers), waves_worker, options)
    return build_each(work, links_of(workers), workers + 1, waves_worker)


def build_some(
    params: ClusterParams, waves_worker: int, options: Mapping[str, Any], numbers: Sequence[int]
) -> list[Build]:
    """Build the simulators of parts of these numbers; like ones share one.

    Only engines are blocks: at the edges of each, wide values are converted in every cycle.
    """
    units = [engine_of(params.worker)] if params.worker.engines > 1 else []

    @cache
    def built(has_switch: bool, waves: bool | None) -> Build:
        part = part_of(params, Members([] if has_switch else [0], has_switch))
        blocks = [] if has_switch else units
        return build_system(part, blocks, MODULE, functions=FUNCTIONS, waves=waves, **options)

    switch = params.workers
    return [built(k == switch, None if k == waves_worker else False) for k in numbers]


def links_of(workers: int) -> list[Link]:
    """Return the two ends of each cut: a worker's, and one of the switch, which is the last."""
    return [((k, 0), (workers, k)) for k in range(workers)]


def build_system(
    system: Component, blocks: Sequence[Component], *sources: Path, **options: Any
) -> Build:
    """Build the simulator of ``system``, in which each of ``blocks`` is translated once.

    ``sources`` are Verilog that it needs besides that of memories.
    """
    emission = emission_of(system)
    return build(
        emission,
        extra_sources=[RAM_ARRAY, *sources],
        hier_blocks=[module_name(block) for block in blocks],
        optimise=True,
        **options,
    )


def memory_arguments(training: TrainingRun, folder: Path) -> list[str]:
    """Write the memories' files; return the arguments that name them."""
    arguments = []
    for index, image in enumerate(training.images):
        path = folder / memory_file(index)
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
    processes: int | None = None,
    workers: Workers | None = None,
) -> None:
    """Train on the RTL in ``folder``; ``on_epoch`` is called after each epoch as it ends.

    If ``enough`` then returns True, no further epoch is reported: the simulator, which may be some
    epochs ahead, ends too.
    ``simulator`` is of a worker, or with ``network`` of a cluster. With the simulators of all parts
    (:func:`build_parts`) each worker and the switch is a process of its own, of which at most
    ``processes`` work at a time; nothing else differs. On ``workers`` of a Dask cluster, if there
    are any, epochs are reported when all have ended. Weights start at zero or ``initial``. Raises
    :class:`TrainingStopped` if a worker stops.
    """
    folder = folder.absolute()  # the simulator works in it, and is told the files of its memories
    folder.mkdir(parents=True, exist_ok=True)
    params = write_job(training, folder, initial, memory, network)
    cluster = Cluster(
        simulator=simulator,
        test_module="sim.p4sgd.train_in_simulator",
        folder=folder,
        plusargs=memory_arguments(training, folder),
        everything=Members(range(training.workers), has_switch=True),
        parts=parts_of(training.workers),
        links=links_of(training.workers),
        epoch=epoch_of(network.latency if network else 0),
        component=partial(hardware_of, params),
        files=partial(files_read_by, len(training.images) // training.workers),
    )
    for each in {folder, *cluster.folders}:
        for name in (PROGRESS, STOP):
            (each / name).unlink(missing_ok=True)
    epochs = Epochs(training, cluster.folders, folder / STOP, on_epoch, enough)
    follow(partial(cluster.run, seed=seed, processes=processes, workers=workers), epochs.look)


def files_read_by(memories: int, members: Members) -> list[str]:
    """Return the names of the files that a part reads: the job, and memories of each worker."""
    return [
        JOB_FILE,
        *(memory_file(k * memories + each) for k in members.workers for each in range(memories)),
    ]


def memory_file(index: int) -> str:
    """Return the name of the file that fills a memory."""
    return f"memory_{index}.bin"


def write_job(
    training: TrainingRun,
    folder: Path,
    initial: NDArray[np.int64] | None,
    memory: MemorySettings | None,
    network: NetworkSettings | None,
) -> WorkerParams | ClusterParams:
    """Write the file of a job with its hardware's parameters, and return these."""
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
    params = cluster_params(training.params, training.workers) if network else training.params
    (folder / JOB_FILE).write_bytes(pickle.dumps((job, params)))
    return params


def hardware_of(params: WorkerParams | ClusterParams, members: Members) -> Component:
    """Return the hardware of a worker, of a cluster, or of one of a cluster's parts."""
    if isinstance(params, WorkerParams):
        return WorkerSystem(params)
    everything = members.workers and members.has_switch
    return ClusterSystem(params) if everything else part_of(params, members)


@dataclass
class Epochs:
    """Reads what simulators write of each epoch, and hands epochs on that all have ended."""

    training: TrainingRun
    folders: Sequence[Path]  #: those of the simulators
    stop: Path  #: file that is made when no further epoch is needed
    on_epoch: Callable[[Epoch], object]
    enough: Callable[[], bool]
    seen: int = 0

    def look(self) -> None:
        """Hand on epochs that have ended since; TrainingStopped if a worker has stopped."""
        if self.stop.exists():
            return
        lines = [[*map(json.loads, read_lines(each / PROGRESS))] for each in self.folders]
        failures = [each.pop()["failure"] for each in lines if each and "failure" in each[-1]]
        for of_epoch in [*zip(*lines, strict=False)][self.seen :]:
            self.seen += 1
            self.on_epoch(read_epoch(self.training, self.folders, of_epoch))
            if self.enough():
                self.stop.touch()
                return
        if failures:
            raise TrainingStopped(failures[0])


def read_lines(path: Path) -> list[str]:
    """Return the whole lines of a file that is being written."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


def read_models(training: TrainingRun, folder: Path, epoch: int, workers: int) -> NDArray[np.int32]:
    """Return weights [workers, engines, chunks, lanes] of a part after an epoch, from 1."""
    engine = training.params.engine
    shape = (workers, training.params.engines, training.chunks, engine.lanes)
    count = math.prod(shape)
    place = (epoch - 1) * count * np.dtype("<i4").itemsize
    return np.fromfile(folder / MODELS, "<i4", count, offset=place).reshape(shape)


def read_epoch(
    training: TrainingRun, folders: Sequence[Path], lines: Sequence[Mapping[str, Any]]
) -> Epoch:
    """Read what the simulators of all parts wrote of an epoch."""
    number = lines[0]["epoch"]
    workers = [counters for line in lines for counters in line["workers"]]
    models = [
        model
        for folder, line in zip(folders, lines, strict=True)
        for model in read_models(training, folder, number, len(line["workers"]))
    ]
    return Epoch(
        number=number,
        weights=training.weights(models),
        counters=combined(workers, training.shares_samples),
        workers=workers,
        network={
            name: sum(line["network"][name] for line in lines) for name in lines[0]["network"]
        },
        simulated_cycles=max(line["cycle"] for line in lines),
        seconds=sum(line["seconds"] for line in lines),
        part_seconds=[line["seconds"] for line in lines],
    )
