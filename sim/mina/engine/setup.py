"""Describes what the compiled scheduler is told and what it leaves: the fields of ``setup.h``."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.harness.native import INT, POINTER
from sim.mina.cluster import FatTree
from sim.mina.jobs import JobList
from sim.mina.workload import Lock, Placement, ScheduleWorkload, Sharing, Trees, Unit

REAL = ctypes.c_double
SOLVER = ctypes.CFUNCTYPE(
    None, INT, ctypes.POINTER(INT), ctypes.POINTER(INT), ctypes.POINTER(INT), ctypes.POINTER(INT)
)
MAX_SHARED = 30  #: most jobs of a sharing group that was merged
SHARED_STEPS = 3  #: number of longest steps that a group is simulated for, before it is merged

#: Describes an operation that has ended: ``LoggedOp``.
LOGGED = np.dtype(
    [("job", "i8"), ("op", "i8"), ("ina", "i8"), ("start", "f8"), ("end", "f8")], align=True
)

#: Maps a choice to its number in the enumerations of setup.h, which have the same order.
NUMBER = {each: i for kind in (Placement, Trees, Sharing) for i, each in enumerate(kind)}


def fields(kind: Any, names: str) -> list[tuple[str, Any]]:
    """Return fields of one kind, with these names."""
    return [(name, kind) for name in names.split()]


class Setup(ctypes.Structure):
    """Lays out ``struct Setup`` of ``setup.h``."""

    _fields_ = [
        *fields(INT, "layers ports capacity"),
        *fields(POINTER, "down up"),
        *fields(INT, "models"),
        *fields(POINTER, "begin period start size"),
        *fields(REAL, "bandwidth ratio latency"),
        *fields(INT, "jobs"),
        *fields(POINTER, "model hosts steps arrival"),
        *fields(INT, "placement trees sharing tree_lock candidates ties"),
        *fields(INT, "max_shared shared_steps"),
        *fields(REAL, "alpha"),
        *fields(SOLVER, "solver"),
        *fields(POINTER, "begun finished in_ina taken root migrations conflicts busy"),
        *fields(INT, "log_room"),
        *fields(POINTER, "log"),
        *fields(INT, "logged events simulated_groups simulated_events"),
        *fields(REAL, "placement_seconds trees_seconds seconds"),
    ]


class Run:
    """Holds a setup with the arrays that it points to: what it reads, and room for results."""

    def __init__(
        self,
        requested: ScheduleWorkload,
        provided: JobList,
        solver: Callable[..., None] | None = None,
        logged: int = 0,
    ) -> None:
        cluster = requested.cluster
        self.arrays: dict[str, NDArray[Any]] = {
            **numbers_of_cluster(cluster),
            **numbers_of_models(provided, requested.gpu_speed),
            **numbers_of_jobs(provided),
            **room(provided, cluster, logged),
        }
        self.setup = Setup(
            layers=cluster.layers,
            ports=requested.unit is Unit.PORT,
            capacity=requested.capacity,
            models=len(provided.models),
            bandwidth=requested.bandwidth,
            ratio=requested.ratio,
            latency=requested.latency,
            jobs=len(provided.jobs),
            placement=NUMBER[requested.placement],
            trees=NUMBER[requested.trees],
            sharing=NUMBER[requested.sharing],
            tree_lock=requested.lock is Lock.TREE,
            candidates=requested.candidates,
            ties=requested.ties,
            max_shared=MAX_SHARED,
            shared_steps=SHARED_STEPS,
            alpha=requested.alpha,
            solver=SOLVER(solver or no_solver),
            log_room=logged,
            **{name: array.ctypes.data for name, array in self.arrays.items()},
        )

    @property
    def pointer(self) -> Any:
        """Return the setup's pointer for a function of the library."""
        return ctypes.byref(self.setup)


def no_solver(*_: Any) -> None:
    """Do nothing: trees that need no solver call none."""
    raise AssertionError("there is no solver")


def ints(values: Sequence[int]) -> NDArray[np.int64]:
    """Return an array of integers."""
    return np.array(values, np.int64)


def reals(values: Sequence[float]) -> NDArray[np.float64]:
    """Return an array of floating-point numbers."""
    return np.array(values, np.float64)


def numbers_of_cluster(cluster: FatTree) -> dict[str, NDArray[Any]]:
    """Return the arrays that describe the fat tree."""
    return {"down": ints(cluster.down), "up": ints(cluster.up)}


def numbers_of_models(provided: JobList, speed: float) -> dict[str, NDArray[Any]]:
    """Return the operations of all models in a row; a fast GPU shortens all times of computing."""
    return {
        "begin": ints(np.cumsum([0, *(len(model.starts) for model in provided.models)]).tolist()),
        "period": reals([model.period / speed for model in provided.models]),
        "start": reals([start / speed for model in provided.models for start in model.starts]),
        "size": reals([size for model in provided.models for size in model.sizes]),
    }


def numbers_of_jobs(provided: JobList) -> dict[str, NDArray[Any]]:
    """Return the arrays of the jobs, in which a model is its place in the list."""
    place = {model.name: i for i, model in enumerate(provided.models)}
    return {
        "model": ints([place[job.model] for job in provided.jobs]),
        "hosts": ints([job.hosts for job in provided.jobs]),
        "steps": ints([job.steps for job in provided.jobs]),
        "arrival": reals([job.arrival for job in provided.jobs]),
    }


def room(provided: JobList, cluster: FatTree, logged: int) -> dict[str, NDArray[Any]]:
    """Return arrays of zeros, which are the room for what a run leaves."""
    jobs = len(provided.jobs)
    return {
        **{name: np.zeros(jobs) for name in ("begun", "finished", "in_ina")},
        **{name: np.zeros(jobs, np.int64) for name in ("root", "migrations", "conflicts")},
        "taken": np.zeros(sum(job.hosts for job in provided.jobs), np.int64),
        "busy": np.zeros(cluster.switches),
        "log": np.zeros(max(logged, 1), LOGGED),
    }
