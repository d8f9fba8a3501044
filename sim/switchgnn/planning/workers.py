"""Assigns vertices to workers: by METIS, or by a vector that is given."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from gen.base.errors import UserError
from sim.switchgnn.planning.saved import Int32s, Saved, refuse
from sim.workloads.files import InputError
from sim.workloads.metis import metis, undirected
from sim.workloads.owners import Names, check_range, read_owners, whole_owners

NAMES = Names("vertex", "vertices", "worker")


@contextmanager
def as_user_error() -> Iterator[None]:
    """Report data that cannot be used as what a user can mend."""
    try:
        yield
    except InputError as error:
        raise UserError(str(error)) from None


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkerPartition(Saved):
    """Holds the worker of each vertex."""

    schema = "switchgnn.workers/1"

    workers: int  #: M
    owner: Int32s  #: [V], 0..M-1

    def check(self) -> None:
        refuse(self.workers < 2, f"at least 2 workers share a graph, not {self.workers}")
        with as_user_error():
            check_range(self.owner, self.workers, NAMES)


def metis_workers(adjacency: csr_array, workers: int, seed: int = 1) -> WorkerPartition:
    """Partition by METIS the graph whose edges are taken as undirected.

    UserError for fewer than 2 workers, and for more workers than vertices.
    """
    vertices = adjacency.indptr.size - 1
    refuse(
        not 2 <= workers <= vertices,
        f"{vertices} vertices have 2 to {vertices} workers, not {workers}",
    )
    with as_user_error():
        owner = metis(undirected(adjacency), workers, seed)
    return WorkerPartition(workers=workers, owner=owner)


def provided_workers(owner: ArrayLike, vertices: int, workers: int) -> WorkerPartition:
    """Check and return the partition ``owner``, an integer for each vertex."""
    with as_user_error():
        return WorkerPartition(workers=workers, owner=whole_owners(owner, vertices, NAMES))


def read_workers(path: Path, vertices: int, workers: int) -> WorkerPartition:
    """Read a partition: .npz of ``WorkerPartition.save``, .npy, or a number a line."""
    with as_user_error():
        owner = WorkerPartition.load(path).owner if path.suffix == ".npz" else read_owners(path)
    try:
        return provided_workers(owner, vertices, workers)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
