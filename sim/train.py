"""Training on the RTL: build the simulator, run it, and follow it epoch by epoch."""

import json
import pickle
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen.emit import module_name
from hdl.p4sgd.engine import Engine
from hdl.p4sgd.params import WorkerParams
from sim.surroundings.axi_memory import MEMORY_ARRAY, memory_file
from sim.surroundings.worker_system import WorkerSystem
from sim.training import TrainingRun
from sim.training_job import JOB, JOB_FILE, PROGRESS, Job, MemorySettings
from sim.verilator import Build, build, emission_of, run
from sim.workloads.layout import model_to_weights, weights_to_model

POLL_SECONDS = 0.1


@dataclass
class Epoch:
    """What the hardware reports after an epoch."""

    number: int  #: from 1
    weights: NDArray[np.int64]  #: [D]
    counters: Mapping[str, int]  #: of this epoch alone
    simulated_cycles: int  #: from the start of the simulation, host accesses included
    seconds: float  #: likewise


def build_worker(params: WorkerParams, **options: Any) -> Build:
    """The simulator of a worker and its memories, from the cache if it is there."""
    emission = emission_of(WorkerSystem(params))
    blocks = []
    if params.engines > 1:
        blocks = [module_name(Engine(params.engine))]
    return build(
        emission, extra_sources=[MEMORY_ARRAY], hier_blocks=blocks, optimise=True, **options
    )


def memory_arguments(training: TrainingRun, folder: Path) -> list[str]:
    """Write the memories' files; the arguments that name them."""
    arguments = []
    for index, image in enumerate(training.images):
        path = folder / f"memory_{index}.bin"
        path.write_bytes(image)
        arguments.append(memory_file(index, path))
    return arguments


def simulate_training(
    training: TrainingRun,
    simulator: Build,
    folder: Path,
    on_epoch: Callable[[Epoch], None],
    *,
    initial: NDArray[np.int64] | None = None,
    memory: MemorySettings | None = None,
    seed: int | None = None,
) -> None:
    """Train on the RTL in ``folder``; ``on_epoch`` is called after each epoch as it ends.

    Weights start at zero or ``initial`` [D]. Raises ``SimulationError`` with the simulator's log
    if the worker stops.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PROGRESS).unlink(missing_ok=True)
    start = np.zeros(training.features, dtype=np.int64) if initial is None else initial
    job = Job(
        settings=training.settings(epochs=1),
        model=weights_to_model(start, training.geometry, 0, training.chunks),
        chunks=training.chunks,
        epochs=training.options.epochs,
        memory=memory or MemorySettings(),
    )
    (folder / JOB_FILE).write_bytes(pickle.dumps(job))
    failures: list[BaseException] = []

    def work() -> None:
        try:
            run(
                simulator,
                "sim.train_in_simulator",
                params=training.params,
                component=WorkerSystem,
                seed=seed,
                plusargs=memory_arguments(training, folder),
                env={JOB: str(folder)},
                folder=folder,
            )
        except BaseException as failure:  # handed on to the caller's thread
            failures.append(failure)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    seen = 0
    while True:
        alive = thread.is_alive()
        lines = read_lines(folder / PROGRESS)
        for line in lines[seen:]:
            on_epoch(read_epoch(training, folder, json.loads(line)))
        seen = len(lines)
        if not alive:
            break
        time.sleep(POLL_SECONDS)
    if failures:
        raise failures[0]


def read_lines(path: Path) -> list[str]:
    """Whole lines of a file that is being written."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


def read_epoch(training: TrainingRun, folder: Path, line: Mapping[str, Any]) -> Epoch:
    """What the simulator wrote of an epoch."""
    model = np.load(folder / f"model_{line['epoch']}.npy")
    return Epoch(
        number=line["epoch"],
        weights=model_to_weights([model], training.geometry, training.features),
        counters=line["counters"],
        simulated_cycles=line["cycle"],
        seconds=line["seconds"],
    )
