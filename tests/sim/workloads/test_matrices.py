import bz2
import gzip
import lzma
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest

from sim.workloads.files import InputError
from sim.workloads.matrices import FAMILIES, load_matrix, with_integer_values

GENERAL = "%%MatrixMarket matrix coordinate real general\n% a comment\n"


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def save(folder: Path, text: str, name: str = "a.mtx") -> Path:
    path = folder / name
    path.write_bytes(PACKERS.get(path.suffix, bytes)(text.encode()))
    return path


@pytest.mark.parametrize(
    "name", ["a.mtx", "a.mtx.gz", "a.mtx.bz2", "a.mtx.xz", "no_suffix", "a.txt", "A.MTX"]
)
def test_first_index_is_the_row(tmp_path: Path, name: str) -> None:
    path = save(tmp_path, GENERAL + "3 3 4\n1 3 2.5\n3 1 -1\n1 2 4\n2 2 0\n", name)
    matrix = load_matrix(path)
    assert matrix.todense().tolist() == [[0, 4, 2.5], [0, 0, 0], [-1, 0, 0]]
    assert matrix.indices.tolist() == [1, 2, 0]  # columns ascend, a stored zero is left out


LONG = 3000  #: entries, of which each is longer than the banner of a short header

SUITESPARSE = (
    "%" + "-" * 79 + "\n% UF Sparse Matrix Collection, Tim Davis\n% name: Boeing/example\n"
    "% kind: structural problem\n" + "%" + "-" * 79 + "\n"
)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("header", ["", "% a comment\n\n", SUITESPARSE, "%\n" * 4000])
@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz"])
def test_long_bodies(tmp_path: Path, header: str, newline: str, name: str) -> None:
    """The header may be long or short beside the body, and beside a reader's buffers."""
    entries = "".join(f"{i % 100 + 1} {i // 100 + 1} {i}.25\n" for i in range(LONG))
    text = GENERAL.splitlines(keepends=True)[0] + header + f"100 100 {LONG}\n" + entries
    matrix = load_matrix(save(tmp_path, text.replace("\n", newline), name))
    assert matrix.nnz == LONG
    assert matrix[[99], [29]] == 2999.25


FIELDS = {  # an entry of the lower half as text, its value, and that of the conjugate
    "real": ("2.5", 2.5, 2.5),
    "double": ("-1e2", -100, -100),
    "integer": ("-7", -7, -7),
    "unsigned-integer": ("18446744073709551615", 2**64 - 1, 2**64 - 1),
    "complex": ("3 -4", 3 - 4j, 3 + 4j),
    "pattern": ("", 1, 1),
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("kind", ["general", "symmetric", "skew-symmetric", "hermitian"])
@pytest.mark.parametrize("many", [1, LONG])
def test_kinds(tmp_path: Path, field: str, kind: str, many: int) -> None:
    """Every field occurs with every symmetry, both of the pattern and of the values."""
    text, value, conjugate = FIELDS[field]
    entries = "".join(f"{row} 1 {text}\n" for row in range(2, many + 2))
    rows = many + 1
    header = f"%%MatrixMarket matrix coordinate {field} {kind}\n{rows} {rows} {many}\n"
    matrix = load_matrix(save(tmp_path, header + entries))
    above = {"general": 0, "symmetric": value, "skew-symmetric": -value, "hermitian": conjugate}
    assert matrix[[1], [0]] == value
    assert matrix[[0], [1]] == above[kind]
    assert matrix.nnz == (many if kind == "general" else 2 * many)
    assert with_integer_values(matrix, seed=1).data.min() >= 1


@pytest.mark.parametrize("value", ["18446744073709551615", "-99999999999999999999"])
def test_integers_that_64_bits_cannot_hold(tmp_path: Path, value: str) -> None:
    text = f"%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 {value}\n2 1 3\n"
    matrix = load_matrix(save(tmp_path, text))
    assert matrix.todense().tolist() == [[0, float(value)], [3, 0]]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *[("real", value) for value in ("nan", "inf", "-Infinity", "1e999", "1.5D+03", "0x10")],
        *[("real", value) for value in ("", "1_0", "1 1", "1, 1")],
        *[("integer", value) for value in ("0.5", "1e3", "")],
        *[("pattern", "1"), ("complex", "1")],
    ],
)
def test_a_value_is_taken_whole_or_refused_with_its_line(
    tmp_path: Path, kind: str, value: str
) -> None:
    text = f"%%MatrixMarket matrix coordinate {kind} general\n2 2 1\n\n2 1 {value}\n"
    says = rf"a\.mtx: line 4: '2 1 ?{re.escape(value)}' (is not a row, a column and|has a number)"
    with pytest.raises(InputError, match=says):
        load_matrix(save(tmp_path, text))


def test_entries_that_hold_zero_are_left_out_and_said(tmp_path: Path) -> None:
    path = save(tmp_path, GENERAL + "2 2 4\n1 1 5\n1 2 0\n2 1 1\n2 1 -1\n")
    with pytest.warns(UserWarning, match=r"a\.mtx: 2 of 3 entries, which hold zero"):
        assert load_matrix(path).nnz == 1


@pytest.mark.parametrize(
    ("text", "dense"),
    [
        (GENERAL.upper() + "\n% more\n\n  2 2 2 \n\n1\t1  5\n\n 2 1 3 \n\n", [[5, 0], [3, 0]]),
        (GENERAL + "2 2 3\n2 1 3\n1 2 1\n2 1 4\n", [[0, 1], [7, 0]]),
        (GENERAL.replace("general", "symmetric") + "2 2 2\n1 1 5\n2 1 3\n", [[5, 3], [3, 0]]),
    ],
    ids=["blank lines and spelling", "repeated entries", "a diagonal"],
)
def test_entries(tmp_path: Path, text: str, dense: list[list[int]]) -> None:
    assert load_matrix(save(tmp_path, "\ufeff" + text)).todense().tolist() == dense


def test_not_square(tmp_path: Path) -> None:
    path = save(tmp_path, GENERAL + "2 3 1\n1 3 1\n")
    with pytest.raises(InputError, match=r"a\.mtx: must be square, not 2 x 3$"):
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
        ("%%MatrixMarket vector coordinate real general\n1 1\n1 5\n", "malformed Matrix Market"),
        (GENERAL + "2 2 2\n1 1 5\n% note\n2 1 3\n", "line 5: '% note' is not a row"),
        (GENERAL + "2 2 1\n1 1\n", "line 4: '1 1' is not a row, a column and a finite num"),
        (GENERAL + "2 2 1\n1 1 5\n2 2 5\n", "malformed Matrix Market file .Line 5"),
        (GENERAL + f"{9**16} {9**16} 1\n1 1 5\n", "declares .* with 1 entries: such a matrix"),
        (GENERAL + "100000000 100000000 1\n1 1 5\n", "declares 100,000,000 x .*: such a matrix"),
        (GENERAL + "9 9 99999999\n1 1 5\n", "malformed .*, declares 99,999,999 entries"),
        (GENERAL + "2 2 1\n1 1 0\n", "empty, every entry holds zero"),
    ],
)
@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz"])
def test_bad_files(tmp_path: Path, text: str, message: str, name: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_matrix(save(tmp_path, text, name))
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_packed_files_that_hold_no_matrix(tmp_path: Path) -> None:
    save(tmp_path, GENERAL + "1 1 1\n1 1 5\n")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a.mtx", "a/a.mtx")
    (tmp_path / "a.mtx.bz2").write_bytes(bz2.compress(b" " * 10_000_000))
    for name, says in (("a.tar.gz", "a tar archive; unpack it"), ("a.mtx.bz2", "1032-fold")):
        with pytest.raises(InputError, match=says):
            load_matrix(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("quen", "'quen' is no family, did you mean 'queen'"),
        ("Stoke:nodes=3", "'Stoke' is no family, did you mean 'stokes'"),
        ("uk-2002", "did you mean 'uk'"),
        ("", "is no family: arabic, "),
        ("nothere", "'nothere' is no family: arabic, "),
        ("queen:node=3", "queen has no option 'node', only nodes, rows, unknowns, seed"),
        ("queen:", "option '' is not key=value"),
        ("queen:nodes", "option 'nodes' is not key=value"),
        ("queen:nodes=2,nodes=3", "option 'nodes=3' is given twice"),
        ("uk:rows=100000000000000000", "uk: .*"),  # NumPy refuses such an array at once
        ("queen:nodes=2.5", "queen: nodes must be an integer, not '2.5'"),
        ("europe:kept=all", "europe: kept must be a number, not 'all'"),
        ("europe:kept=1.5", "europe: kept must be between 0 and 1, not 1.5"),
        ("europe:kept=nan", "europe: kept must be between 0 and 1, not nan"),
        ("europe:chain=inf", "europe: "),
        ("uk:nodes=0", "uk: nodes must be at least 1, not 0"),
        ("stokes:rows=-1", "stokes: rows must be at least 1, not -1"),
        ("arabic:seed=-1", "arabic: seed must be at least 0, not -1"),
        ("a/.", r"^a: no such file \(families: [a-z, ]+\)$"),
        ("./", r"^\.: is a folder, expected a file \(families: [a-z, ]+\)$"),
        *[(each, "no such file") for each in ("missing.mtx", "x.mtx.gz", "a/" + "b" * 300, "a/\0")],
    ],
)
def test_bad_names(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_matrix(name)
    assert "\n" not in str(caught.value)


def test_options_are_for_families(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a file has no options, found nodes"):
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
