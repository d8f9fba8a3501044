"""Loads graphs by name: digits, a family, a Matrix Market file, or an .npz file of SciPy's."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gen.base.errors import UserError
from sim.switchgnn.graphs.families import FAMILIES, simple
from sim.workloads.arrays import Archive
from sim.workloads.files import InputError
from sim.workloads.matrices import load_matrix
from sim.workloads.sparse_arrays import sparse_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Vertices:
    """Holds what vertices bring for training, as far as there is anything."""

    features: NDArray[np.float64] | None = None  #: [V, features], finite
    labels: NDArray[np.int64] | None = None  #: [V]
    train: NDArray[np.bool_] | None = None  #: [V]: whether it is trained on

    @classmethod
    def of(cls, archive: Archive, vertices: int) -> "Vertices":
        """Read those of an .npz file; raise InputError for a wrong shape or type."""
        result: dict[str, Any] = {
            name: archive.take(name, kinds, vertices, *more).astype(kind)
            for name, kinds, kind, *more in (
                ("features", "biuf", np.float64, "features"),
                ("labels", "iu", np.int64),
                ("train", "b", np.bool_),
            )
            if name in archive
        }
        return cls(**result)


DIGITS = "digits"
ARCHIVE = ".npz"  #: end of the names of NumPy's archives
DIGITS_NEIGHBOURS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Graph:
    """Holds a graph, and what its vertices bring for training, if anything."""

    name: str
    adjacency: csr_array  #: int8 [V, V]: a one in row v, column u for each edge from u to v
    features: NDArray[np.float64] | None = None  #: [V, features], finite
    labels: NDArray[np.int64] | None = None  #: [V]
    train: NDArray[np.bool_] | None = None  #: [V]: whether it is trained on

    @property
    def vertices(self) -> int:
        """Return V, the number of vertices."""
        return self.adjacency.indptr.size - 1

    @property
    def edges(self) -> int:
        """Return the number of directed edges; an undirected one counts twice."""
        return int(self.adjacency.nnz)


def load_graph(text: str | Path, *, labelled: bool = False) -> Graph:
    """Load the graph of that name; raise UserError, in one line, for anything wrong.

    A name of a graph without labels is unknown if it is to be ``labelled``.

    "digits" is the graph of the ten nearest neighbours among scikit-learn's digits. "reddit",
    "yelp", "products" with options, such as "reddit:scale=0.1,degree=489", are the families. A
    Matrix Market file, packed or not, has an edge from u to v for each nonzero in row v, column u;
    its values are of no account. So has an .npz file that scipy.sparse.save_npz wrote. Arrays
    ``features`` [V, features], ``labels`` [V] and ``train`` [V], true or false, may be added to it;
    those of a Matrix Market file may be in an .npz file beside it: NAME.npz of NAME.mtx.gz.
    """
    name, colon, _ = str(text).partition(":")
    if name == DIGITS and colon:
        raise UserError(f"{DIGITS} has no options, found {text}")
    if name == DIGITS:
        return digits()
    try:
        if Path(text).suffix == ARCHIVE:
            return _archive(Path(text))
        families = {DIGITS: NAMES[DIGITS]} if labelled else NAMES
        matrix = load_matrix(text, families=families, others=[ARCHIVE])
        return _beside(Graph(name=str(text), adjacency=pattern(matrix)))
    except InputError as error:
        raise UserError(str(error)) from None


def digits() -> Graph:
    """Return the graph of the nearest neighbours of scikit-learn's digits: 1,797 vertices.

    Two digits are joined if one is among the ten nearest of the other. There are 24,680 directed
    edges. Features are the 64 pixels, 0 to 16, and labels the digits 0 to 9.
    """
    try:
        from sklearn.datasets import load_digits
        from sklearn.neighbors import NearestNeighbors
    except ImportError:
        raise UserError(
            "the graph digits needs scikit-learn: pip install 'ingather[data]'"
        ) from None
    features, labels = load_digits(return_X_y=True)
    nearest = NearestNeighbors(n_neighbors=DIGITS_NEIGHBOURS, algorithm="brute").fit(features)
    result = nearest.kneighbors(return_distance=False).astype(np.int64)
    of = np.repeat(np.arange(len(features)), DIGITS_NEIGHBOURS)
    return Graph(
        name=DIGITS,
        adjacency=simple(of, result.ravel(), len(features)),
        features=features,
        labels=labels.astype(np.int64),
    )


#: What a name may be, in messages too.
NAMES = {DIGITS: lambda: digits().adjacency, **FAMILIES}


def pattern(matrix: csr_array) -> csr_array:
    """Return a matrix of ones where a sparse matrix, which stores no zeros, has entries."""
    ones = np.ones(matrix.nnz, np.int8)
    return csr_array((ones, matrix.indices, matrix.indptr), matrix.shape)


def _beside(graph: Graph) -> Graph:
    """Return the graph of a Matrix Market file, with what is beside it."""
    stem, suffix, _ = graph.name.rpartition(".mtx")
    path = Path(f"{stem}.npz")
    if not suffix or not path.is_file():
        return graph
    return replace(graph, **vars(Vertices.of(Archive(path), graph.vertices)))


def _archive(path: Path) -> Graph:
    archive = Archive(path)
    adjacency = pattern(sparse_of(archive))
    vertices = Vertices.of(archive, adjacency.indptr.size - 1)
    return Graph(name=str(path), adjacency=adjacency, **vars(vertices))
