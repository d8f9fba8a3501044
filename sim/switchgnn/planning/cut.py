"""Cuts a graph between workers: the edges between workers concern the switch."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gen.base.errors import UserError
from sim.switchgnn.planning.saved import Int32s, Int64s, Saved, refuse
from sim.switchgnn.planning.workers import WorkerPartition

MAX_IN_DEGREE = (1 << 16) - 1  #: features of 16 bits whose sum is exact in 32 bits


@dataclass(frozen=True, kw_only=True, eq=False)
class CutGraph(Saved):
    """Holds vertices with a neighbour at another worker, and the edges between workers.

    Everything else of the preprocessing names a vertex by its place in ``vertices``. Edges ascend
    by source, then by destination; there is none twice.
    """

    schema = "switchgnn.cut/1"

    workers: int  #: M
    vertices: Int64s  #: [n], ascending: numbers in the whole graph
    worker: Int32s  #: [n]
    sources: Int32s  #: [E]
    destinations: Int32s  #: [E]

    def check(self) -> None:
        n = self.n
        ends = np.concatenate([self.sources, self.destinations])
        refuse(
            self.worker.size != n
            or self.sources.size != self.destinations.size
            or (n and (np.diff(self.vertices, prepend=-1) <= 0).any())
            or ((self.worker < 0) | (self.worker >= self.workers)).any()
            or ((ends < 0) | (ends >= n)).any(),
            "the cut graph's vertices, workers and edges do not fit together",
        )
        refuse(
            (np.diff(self.sources.astype(np.int64) * n + self.destinations) <= 0).any()
            or (self.worker[self.sources] == self.worker[self.destinations]).any(),
            "the cut graph's edges must ascend and be between workers",
        )
        if self.edges and (most := int(self.in_degrees.max())) > MAX_IN_DEGREE:
            vertex = self.vertices[self.in_degrees.argmax()]
            raise UserError(
                f"vertex {vertex} has {most} neighbours at other workers, a sum of 32 bits holds"
                f" {MAX_IN_DEGREE}"
            )

    @property
    def n(self) -> int:
        """Return the number of vertices with an edge to or from another worker."""
        return self.vertices.size

    @property
    def edges(self) -> int:
        """Return E, the number of directed edges."""
        return self.sources.size

    @cached_property
    def in_degrees(self) -> NDArray[np.int64]:
        """Return the number of edges into each vertex: [n]."""
        return np.bincount(self.destinations, minlength=self.n)

    @cached_property
    def copies(self) -> NDArray[np.int64]:
        """Return the distinct pairs of a source and a worker with a neighbour of it, ascending.

        A pair is source x M + worker; there are ``copies.size / n`` for each vertex.
        """
        return np.unique(
            self.sources.astype(np.int64) * self.workers + self.worker[self.destinations]
        )

    def undirected(self, edges: NDArray[np.int64] | None = None) -> csr_array:
        """Return the edges, or those at ``edges``, in both directions: ones [n, n]."""
        rows = self.sources if edges is None else self.sources[edges]
        columns = self.destinations if edges is None else self.destinations[edges]
        both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        built = csr_array((np.ones(2 * rows.size, np.int32), both), (self.n, self.n))
        built.sum_duplicates()
        built.data[:] = 1
        return built


def cut_graph(adjacency: csr_array, partition: WorkerPartition) -> CutGraph:
    """Return what ``partition`` cuts of a graph (row: destination, column: source).

    UserError if the partition is of another number of vertices, if it cuts nothing, and for a
    vertex with over 65,535 neighbours at other workers.
    """
    vertices = adjacency.indptr.size - 1
    refuse(
        partition.owner.size != vertices,
        f"the partition is of {partition.owner.size} vertices, the graph has {vertices}",
    )
    by_source = adjacency.T.tocsr().tocoo()
    sources, destinations = by_source.coords
    cut = partition.owner[sources] != partition.owner[destinations]
    refuse(not cut.any(), "the partition cuts no edge: there is nothing for the switch to do")
    sources, destinations = sources[cut], destinations[cut]
    stored = np.zeros(vertices, bool)
    stored[sources] = stored[destinations] = True
    place = np.cumsum(stored, dtype=np.int32) - 1
    return CutGraph(
        workers=partition.workers,
        vertices=np.flatnonzero(stored).astype(np.int64),
        worker=partition.owner[stored],
        **_ascending(place[sources].astype(np.int32), place[destinations].astype(np.int32)),
    )


def _ascending(
    sources: NDArray[np.int32], destinations: NDArray[np.int32]
) -> dict[str, NDArray[np.int32]]:
    order = np.lexsort((destinations, sources))
    return {"sources": sources[order], "destinations": destinations[order]}
