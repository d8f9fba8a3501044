"""Loads graphs by name: digits, a family, a Matrix Market file, or an .npz file of SciPy's."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from gen.errors import UserError
from sim.switchgnn.graphs.families import FAMILIES, simple
from sim.switchgnn.graphs.vertices import Vertices
from sim.workloads.files import UnreadableError, read_unpacked
from sim.workloads.matrices import MatrixError, load_matrix

DIGITS = "digits"
DIGITS_NEIGHBOURS = 10
ARCHIVE_MARK = b"PK"


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


def load_graph(text: str | Path) -> Graph:
    """Load the graph of that name; raise UserError, in one line, for anything wrong.

    "digits" is the graph of the ten nearest neighbours among scikit-learn's digits. "reddit",
    "yelp", "products" with options, such as "reddit:scale=0.1,seed=3", are the families. A Matrix
    Market file, packed or not, has an edge from u to v for each nonzero in row v, column u; its
    values are of no account. So has an .npz file that scipy.sparse.save_npz wrote. Arrays
    ``features`` [V, features], ``labels`` [V] and ``train`` [V], true or false, may be added to it;
    those of a Matrix Market file may be in an .npz file beside it: NAME.npz of NAME.mtx.gz.
    """
    name, colon, _ = str(text).partition(":")
    if name == DIGITS and colon:
        raise UserError(f"{DIGITS} has no options, found {text}")
    try:
        if name == DIGITS:
            return digits()
        if Path(text).suffix == ".npz":
            return _archive(Path(text))
        matrix = load_matrix(text, families=NAMES)
        return _beside(Graph(name=str(text), adjacency=pattern(matrix)))
    except (MatrixError, UnreadableError) as error:
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
    found = nearest.kneighbors(return_distance=False).astype(np.int64)
    of = np.repeat(np.arange(len(features)), DIGITS_NEIGHBOURS)
    return Graph(
        name=DIGITS,
        adjacency=simple(of, found.ravel(), len(features)),
        features=features,
        labels=labels.astype(np.int64),
    )


#: What a name may be, in messages too.
NAMES = {DIGITS: lambda: digits().adjacency, **FAMILIES}


def pattern(matrix: Any) -> csr_array:
    """Return a matrix of ones where a sparse matrix is not zero."""
    made = csr_array(matrix)
    made.sum_duplicates()
    made.eliminate_zeros()
    return csr_array((np.ones(made.nnz, np.int8), made.indices, made.indptr), made.shape)


def _beside(graph: Graph) -> Graph:
    """Return the graph of a Matrix Market file, with what is beside it."""
    stem, suffix, _ = graph.name.rpartition(".mtx")
    path = Path(f"{stem}.npz")
    if not suffix or not path.is_file():
        return graph
    with _opened(path, _content(path), "an .npz file of vertices") as archive:
        return replace(graph, **vars(Vertices.of(path, archive, graph.vertices)))


def _archive(path: Path) -> Graph:
    content = _content(path)
    with _opened(path, content, "a graph that scipy.sparse.save_npz wrote") as archive:
        if "format" not in archive:
            raise UserError(f"{path}: has no adjacency, which scipy.sparse.save_npz writes")
        matrix = csr_array(load_npz(BytesIO(content)))
        rows, columns = (int(size) for size in matrix.shape or ())
        if rows != columns or not matrix.nnz:
            raise UserError(
                f"{path}: must be square and have edges, is {rows} x {columns} with {matrix.nnz}"
            )
        if not np.isfinite(matrix.data).all():
            raise UserError(f"{path}: has values that are not finite")
        vertices = Vertices.of(path, archive, rows)
    return Graph(name=str(path), adjacency=pattern(matrix), **vars(vertices))


def _content(path: Path) -> bytes:
    content = read_unpacked(path)
    if not content.startswith(ARCHIVE_MARK):
        raise UserError(f"{path}: not an .npz file")
    return content


@contextmanager
def _opened(path: Path, content: bytes, expected: str) -> Iterator[Any]:
    """Yield the arrays of an .npz file; raise UserError if it, or one of them, cannot be read."""
    try:
        with np.load(BytesIO(content), allow_pickle=False) as archive:
            yield archive
    except (
        ValueError,
        KeyError,
        OSError,
        EOFError,
        NotImplementedError,
        zipfile.BadZipFile,
    ) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"{path}: not {expected} ({reason})") from None
