"""Assigns vertices to workers: by METIS, or by a vector that is given."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from gen.base.errors import UserError
from sim.switchgnn.planning.metis import metis, undirected
from sim.switchgnn.planning.saved import Int32s, Saved, refuse
from sim.workloads.arrays import read_array
from sim.workloads.files import InputError
from sim.workloads.lines import read_numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkerPartition(Saved):
    """Holds the worker of each vertex."""

    schema = "switchgnn.workers/1"

    workers: int  #: M
    owner: Int32s  #: [V], 0..M-1

    def check(self) -> None:
        refuse(self.workers < 2, f"at least 2 workers share a graph, not {self.workers}")
        outside = np.flatnonzero((self.owner < 0) | (self.owner >= self.workers))
        if outside.size:
            raise UserError(
                f"the partition gives vertex {outside[0]} to worker {self.owner[outside[0]]},"
                f" workers are 0 to {self.workers - 1}"
            )


def metis_workers(adjacency: csr_array, workers: int, seed: int = 1) -> WorkerPartition:
    """Partition by METIS the graph whose edges are taken as undirected.

    UserError for fewer than 2 workers, and for more workers than vertices.
    """
    vertices = adjacency.indptr.size - 1
    refuse(
        not 2 <= workers <= vertices,
        f"{vertices} vertices have 2 to {vertices} workers, not {workers}",
    )
    return WorkerPartition(workers=workers, owner=metis(undirected(adjacency), workers, seed))


def provided_workers(owner: ArrayLike, vertices: int, workers: int) -> WorkerPartition:
    """Check and return the partition ``owner``, an integer for each vertex."""
    result: NDArray[Any] = np.asarray(owner)
    refuse(
        result.shape != (vertices,),
        f"the partition must have a worker for each of {vertices} vertices, has"
        f" {' x '.join(map(str, result.shape)) or 'one'}",
    )
    refuse(
        result.dtype.kind not in "iu" and not _whole(result),
        "the partition must be whole numbers, the workers",
    )
    limit = np.iinfo(np.int32)
    return WorkerPartition(
        workers=workers, owner=np.clip(result, limit.min, limit.max).astype(np.int32)
    )


def _whole(result: NDArray[Any]) -> bool:
    if result.dtype.kind != "f" or not np.isfinite(result).all():
        return False
    return bool((result == np.floor(result)).all())


def read_workers(path: Path, vertices: int, workers: int) -> WorkerPartition:
    """Read a partition: .npz of ``WorkerPartition.save``, .npy, or a number a line."""
    try:
        if path.suffix == ".npz":
            owner: ArrayLike = WorkerPartition.load(path).owner
        else:
            owner = read_array(path) if path.suffix == ".npy" else read_numbers(path)
    except InputError as error:
        raise UserError(str(error)) from None
    try:
        return provided_workers(owner, vertices, workers)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
