import gzip
from pathlib import Path

import numpy as np
import pytest

from sim.workloads.matrices import FAMILIES, MatrixError, load_matrix, with_integer_values

GENERAL = "%%MatrixMarket matrix coordinate real general\n% a comment\n"


def save(folder: Path, text: str, name: str = "a.mtx") -> Path:
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz", "no_suffix", "A.MTX"])
def test_first_index_is_the_row(tmp_path: Path, name: str) -> None:
    path = save(tmp_path, GENERAL + "3 3 4\n1 3 2.5\n3 1 -1\n1 2 4\n2 2 0\n", name)
    matrix = load_matrix(path)
    assert matrix.todense().tolist() == [[0, 4, 2.5], [0, 0, 0], [-1, 0, 0]]
    assert matrix.indices.tolist() == [1, 2, 1, 0]  # columns ascend, a stored zero stays


def test_repeated_entries_are_summed(tmp_path: Path) -> None:
    matrix = load_matrix(save(tmp_path, GENERAL + "2 2 3\n2 1 3\n1 2 1\n2 1 4\n"))
    assert matrix.todense().tolist() == [[0, 1], [7, 0]]
    assert matrix.nnz == 2


@pytest.mark.parametrize(
    ("kind", "entries", "dense"),
    [
        ("real symmetric", "2 2 2\n1 1 5\n2 1 3\n", [[5, 3], [3, 0]]),
        ("integer skew-symmetric", "2 2 1\n2 1 3\n", [[0, -3], [3, 0]]),
        ("pattern symmetric", "2 2 1\n2 1\n", [[0, 1], [1, 0]]),
        ("pattern general", "2 2 1\n2 1\n", [[0, 0], [1, 0]]),
    ],
)
def test_kinds(tmp_path: Path, kind: str, entries: str, dense: list[list[int]]) -> None:
    text = f"%%MatrixMarket matrix coordinate {kind}\n{entries}"
    assert load_matrix(save(tmp_path, text)).todense().tolist() == dense


def test_not_square(tmp_path: Path) -> None:
    path = save(tmp_path, GENERAL + "2 3 1\n1 3 1\n")
    with pytest.raises(MatrixError, match=r"a\.mtx: must be square, not 2 x 3$"):
        load_matrix(path)
    assert load_matrix(path, square=False).todense().tolist() == [[0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a Matrix Market file"),
        ("1 2 3\n", "not a Matrix Market file"),
        ("%%MatrixMarket matrix rubbish\n", "malformed Matrix Market file"),
        (GENERAL + "2 2 2\n1 1 5\n", "malformed Matrix Market file"),
        (GENERAL + "2 2 1\n3 1 5\n", "malformed Matrix Market file"),
        (GENERAL + "2 2 0\n", "empty, 2 x 2 without nonzeros"),
        (GENERAL + "0 0 0\n", "empty, 0 x 0 without nonzeros"),
        ("%%MatrixMarket matrix array real general\n1 1\n5\n", "a dense matrix"),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 5 6\n", "complex values"),
    ],
)
@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz"])
def test_bad_files(tmp_path: Path, text: str, message: str, name: str) -> None:
    with pytest.raises(MatrixError, match=message) as caught:
        load_matrix(save(tmp_path, text, name))
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_not_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx.gz"
    path.write_text(GENERAL)
    with pytest.raises(MatrixError, match="malformed Matrix Market file"):
        load_matrix(path)


@pytest.mark.parametrize("path", ["missing.mtx", "folder/missing", "x.mtx.gz"])
def test_no_such_file(path: str) -> None:
    with pytest.raises(MatrixError, match="no such file"):
        load_matrix(path)


def test_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match="no such file"):
        load_matrix(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("quen", "'quen' is no family, did you mean 'queen'"),
        ("Stoke:nodes=3", "'Stoke' is no family, did you mean 'stokes'"),
        ("uk-2002", "did you mean 'uk'"),
        ("", "is no family"),
        ("queen:node=3", "queen has no option 'node', only nodes, rows, unknowns, seed"),
        ("queen:", "option '' is not key=value"),
        ("queen:nodes", "option 'nodes' is not key=value"),
        ("queen:nodes=2,nodes=3", "option 'nodes=3' is given twice"),
        ("queen:nodes=2.5", "queen: nodes must be an integer, not '2.5'"),
        ("europe:kept=all", "europe: kept must be a number, not 'all'"),
        ("europe:kept=1.5", "europe: kept must be between 0 and 1, not 1.5"),
        ("europe:kept=nan", "europe: kept must be between 0 and 1, not nan"),
        ("europe:chain=inf", "europe: "),
        ("uk:nodes=0", "uk: nodes must be at least 1, not 0"),
        ("stokes:rows=-1", "stokes: rows must be at least 1, not -1"),
        ("arabic:seed=-1", "arabic: seed must be at least 0, not -1"),
    ],
)
def test_bad_names(name: str, message: str) -> None:
    with pytest.raises(MatrixError, match=message) as caught:
        load_matrix(name)
    assert "\n" not in str(caught.value)


def test_options_are_for_families(tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match="a file has no options, found nodes"):
        load_matrix(save(tmp_path, GENERAL + "1 1 1\n1 1 1\n"), nodes=3)


@pytest.mark.parametrize("family", FAMILIES)
def test_families_by_name(family: str) -> None:
    matrix = load_matrix(f"{family}:nodes=4, rows=900, seed=3")
    rows = matrix.indptr.size - 1
    assert 0.8 * 900 < rows < 1.2 * 900
    assert matrix.has_canonical_format
    assert set(matrix.data.tolist()) == set(range(1, 10))
    same = load_matrix(family, nodes=4, rows=900, seed=3)
    other = load_matrix(f"{family}:nodes=4", rows=900, seed=4)
    assert (matrix != same).nnz == 0
    assert matrix.shape != other.shape or (matrix != other).nnz


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("nodes", "rows"), [(1, 30), (2, 5), (5, 30), (200, 40)])
def test_tiny_sizes(family: str, nodes: int, rows: int) -> None:
    matrix = load_matrix(family, nodes=nodes, rows=rows)
    assert matrix.nnz > 0
    assert matrix.has_canonical_format


def test_integer_values() -> None:
    matrix = load_matrix("queen:nodes=2,rows=300")
    other = with_integer_values(matrix, seed=7)
    assert np.array_equal(matrix.indices, other.indices)
    assert np.array_equal(matrix.indptr, other.indptr)
    assert (matrix.data != other.data).any()
    assert (other.data.min(), other.data.max()) == (1, 9)
