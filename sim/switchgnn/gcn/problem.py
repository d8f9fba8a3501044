"""Describes what a network is trained on: a graph, features, training and test vertices."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gen.base.errors import UserError
from sim.golden.arithmetic import Integers
from sim.switchgnn.graphs.graph import Graph
from sim.switchgnn.planning.saved import refuse
from sim.workloads.files import leave_out

UNKNOWN = -1  #: the label of a vertex that is neither trained on nor tested on


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """Holds a graph without edges from a vertex to itself, and the classes to learn."""

    name: str
    adjacency: csr_array  #: ones [V, V]: row is destination, column source
    features: NDArray[np.float64]  #: [V, features], the mean of each is 0, the largest 1 or -1
    labels: Integers  #: [V], from 0; UNKNOWN
    train: NDArray[np.bool_]  #: [V]: whether it is trained on
    directed: bool

    @property
    def vertices(self) -> int:
        """Return V, the number of vertices."""
        return len(self.labels)

    @property
    def edges(self) -> int:
        """Return the number of directed edges."""
        return self.adjacency.nnz

    @property
    def classes(self) -> int:
        """Return the number of classes."""
        return int(self.labels.max()) + 1

    @property
    def test(self) -> NDArray[np.bool_]:
        """Return which vertices are tested on: those with a label that are not trained on."""
        return (self.labels != UNKNOWN) & ~self.train

    def without_edges(self) -> "Problem":
        """Return the same vertices without any edge."""
        nothing = csr_array(self.adjacency.shape, dtype=np.int8)
        return replace(self, adjacency=nothing, directed=False)


def problem_of(graph: Graph, labels: int, seed: int) -> Problem:
    """Make the problem of a graph that has features and labels.

    Vertices to train on are those that the graph says, or ``labels`` of each class that ``seed``
    draws. UserError for whatever is wrong or missing.
    """
    name, known = graph.name, graph.labels
    features = scaled(graph)
    if known is None:
        raise lacking(graph, f"labels [{graph.vertices}]")
    check_labels(name, known)
    edges = without_loops(graph.adjacency)
    if loops := graph.edges - edges.nnz:
        leave_out(f"{name}: {loops:,} edges from a vertex to itself")
    refuse(not edges.nnz, f"{name}: has no edges between vertices")
    train = drawn(name, known, labels, seed) if graph.train is None else graph.train
    refuse((train & (known == UNKNOWN)).any(), f"{name}: a vertex to train on has no label")
    refuse(not train.any(), f"{name}: there is no vertex to train on")
    result = Problem(
        name=name,
        adjacency=edges,
        features=features,
        labels=known,
        train=train,
        directed=bool((edges != edges.T).nnz),
    )
    refuse(not result.test.any(), f"{name}: no vertex with a label is left to test on")
    return result


def scaled(graph: Graph) -> NDArray[np.float64]:
    """Return the features less the mean of each, divided by the largest magnitude of all."""
    if graph.features is None:
        raise lacking(graph, f"features [{graph.vertices}, features]")
    with np.errstate(over="ignore", invalid="ignore"):  # what is beyond float64 is refused below
        centred = graph.features - graph.features.mean(0)
    largest = np.abs(centred).max(initial=0)
    refuse(
        not largest or not np.isfinite(largest),
        f"{graph.name}: the features of all vertices are the same, or beyond float64",
    )
    return centred / largest


def lacking(graph: Graph, what: str) -> UserError:
    """Return the error for a graph without an array; it names the file that could hold it."""
    stem, suffix, _ = graph.name.rpartition(".mtx")
    beside = Path(f"{stem}.npz")
    result = "has none" if beside.is_file() else "is not there, as numpy.savez writes it"
    place = f": {beside} beside it {result}" if suffix else ""
    return UserError(f"{graph.name}: has no {what}{place}")


def check_labels(name: str, labels: Integers) -> None:
    """Raise UserError for labels that no vertex can have."""
    least, most, vertices = int(labels.min()), int(labels.max()), len(labels)
    refuse(
        least < UNKNOWN or most >= vertices,
        f"{name}: labels are 0 to {vertices - 1}, or -1 where there is none, not"
        f" {least if least < UNKNOWN else most}",
    )
    refuse(most < 1, f"{name}: labels must tell at least 2 classes apart")


def drawn(name: str, labels: Integers, count: int, seed: int) -> NDArray[np.bool_]:
    """Draw ``count`` vertices of each class that there is."""
    rng = np.random.default_rng(seed)
    train = np.zeros(len(labels), bool)
    for label in np.unique(labels[labels != UNKNOWN]).tolist():
        present = np.flatnonzero(labels == label)
        refuse(
            present.size < count,
            f"{name}: class {label} has {present.size} vertices, but labels asks for {count}",
        )
        train[rng.permutation(present)[:count]] = True
    return train


def without_loops(adjacency: csr_array) -> csr_array:
    """Return the graph without edges from a vertex to itself, which a network adds itself."""
    edges = adjacency.tocoo()
    destinations, sources = edges.coords
    stored = destinations != sources
    ones = np.ones(int(stored.sum()), np.int8)
    return csr_array((ones, (destinations[stored], sources[stored])), adjacency.shape)
