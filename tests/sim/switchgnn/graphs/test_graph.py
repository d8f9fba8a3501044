"""Reads graphs by name, and tells what is wrong with files."""

import gzip

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array, save_npz

from gen.base.errors import UserError
from sim.switchgnn.graphs.graph import load_graph
from tests.rejects import refuses
from tests.sim.switchgnn.cases import cut_of, graph


def test_digits_are_the_pages():
    digits = graph("digits")
    assert (digits.vertices, digits.edges) == (1797, 24_680)
    assert digits.features.shape == (1797, 64)
    assert set(digits.labels) == set(range(10))
    cut = cut_of("digits", 4)
    assert (cut.n, cut.edges) == (394, 900)


def test_yelp_is_cut_as_the_page_says():
    cut = cut_of("yelp", 128)
    whole = graph("yelp")
    assert whole.vertices == 40_000
    assert round(whole.edges / whole.vertices) == 16
    assert cut.n / whole.vertices == pytest.approx(0.77, abs=0.01)
    assert cut.copies.size / cut.n == pytest.approx(5.5, abs=0.1)
    assert cut.edges / cut.n == pytest.approx(6.9, abs=0.2)


@pytest.mark.parametrize("family", ["reddit", "yelp", "products"])
def test_a_family_is_simple_symmetric_and_the_same_again(family):
    name = f"{family}:scale=0.02,seed=4"
    item, same = load_graph(name).adjacency, load_graph(name).adjacency
    other = load_graph(f"{family}:scale=0.02,seed=5").adjacency
    assert (item != same).nnz == 0
    assert (item != other).nnz > 0
    assert (item != item.T).nnz == 0
    assert not item.diagonal().any()
    assert set(item.data.tolist()) == {1}


@pytest.mark.parametrize("family", ["reddit", "yelp", "products"])
def test_a_family_has_the_mean_degree_that_is_requested(family):
    for degree in (3, 41.5):
        item = load_graph(f"{family}:scale=0.02,degree={degree}").adjacency
        assert item.nnz == 2 * round(item.shape[0] * degree / 2)
        assert (item != item.T).nnz == 0
        assert not item.diagonal().any()
    vertices = item.shape[0]
    for degree in (-1, vertices / 4, "nan"):
        said = f"{family}: degree must be at least 0 and below a quarter of the {vertices}"
        with pytest.raises(UserError, match=said):
            load_graph(f"{family}:scale=0.02,degree={degree}")


def test_a_matrix_market_file_has_an_edge_from_column_to_row(tmp_path):
    path = tmp_path / "graph.mtx"
    mmwrite(path, coo_array(([2.5, -1.0], ([0, 2], [1, 2])), (3, 3)))
    assert load_graph(path).adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 1]]


def archived(path, matrix, **more):
    save_npz(path, matrix)
    if more:
        with np.load(path) as archive:
            np.savez(path, **dict(archive), **more)
    return path


VERTICES = {
    "features": np.eye(3, 2, dtype=np.float32),
    "labels": np.arange(3),
    "train": np.array([True, False, True]),
}


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_an_archive_of_scipys_may_bring_features_and_labels(tmp_path, form):
    matrix = csr_array(np.array([[0, 3, 0], [0, 0, 0], [1, 0, 0]])).asformat(form)
    result = load_graph(archived(tmp_path / "graph.npz", matrix, **VERTICES))
    assert result.adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    assert result.features.tolist() == np.eye(3, 2).tolist()
    assert result.labels.tolist() == [0, 1, 2]
    assert result.train.tolist() == [True, False, True]


@pytest.mark.parametrize("suffix", [".mtx", ".mtx.gz"])
def test_an_archive_beside_a_matrix_market_file_brings_them_too(tmp_path, suffix):
    mmwrite(tmp_path / "a.mtx", coo_array(([1], ([0], [1])), (3, 3)))
    if suffix == ".mtx.gz":
        (tmp_path / "a.mtx.gz").write_bytes(gzip.compress((tmp_path / "a.mtx").read_bytes()))
    assert load_graph(tmp_path / f"a{suffix}").features is None
    np.savez(tmp_path / "a.npz", **VERTICES)
    result = load_graph(tmp_path / f"a{suffix}")
    assert result.adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert result.features.tolist() == np.eye(3, 2).tolist()
    assert (result.labels.tolist(), result.train.tolist()) == ([0, 1, 2], [True, False, True])
    np.savez(tmp_path / "a.npz", labels=np.arange(4))
    with pytest.raises(UserError, match=r"a.npz: labels must be integers \[3\]"):
        load_graph(tmp_path / f"a{suffix}")
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(UserError, match=r"a.npz: not an .npz file \("):
        load_graph(tmp_path / f"a{suffix}")


@pytest.mark.parametrize(
    ("name", "at", "value", "message"),
    [
        *[("indptr", 3, value, "indices, indptr do") for value in (100_000, 2**31 - 1, 1, -5)],
        *[("indices", 0, value, "indices, indptr do not fit .*must be") for value in (8, -1)],
        ("indptr", 8, 7, "indices, indptr do not fit .indptr ends at 7 of 8 indices"),
        ("indices", None, np.ones(8), r"indices must be integers \[size\], not float64 \[8\]"),
        ("data", None, np.array(["a"] * 8), r"data must be numbers \[size\], not <U1 \[8\]"),
        ("format", None, np.array(7), r"format must be text \[\], not int64"),
        ("format", None, np.array("ell"), "format must be one of csr, .* not 'ell'"),
        ("shape", slice(None), 10**9, "1,000,000,000 x 1,000,000,000 with 8 entries: such"),
    ],
)
def test_indices_are_checked_before_any_kernel_sees_them(tmp_path, name, at, value, message):
    path = archived(tmp_path / "graph.npz", csr_array(np.roll(np.eye(8), 1, 0)))
    with np.load(path) as archive:
        arrays = dict(archive)
    if at is not None:
        arrays[name][at] = value
    np.savez(path, **arrays | ({name: value} if at is None else {}))
    with pytest.raises(UserError, match=f"graph.npz: {message}"):
        load_graph(path)


SQUARE = csr_array(np.eye(3))


@pytest.mark.parametrize(
    ("matrix", "more", "message"),
    [
        (csr_array(np.ones((2, 3))), {}, "must be square and have edges, is 2 x 3 with 6"),
        (csr_array((3, 3)), {}, "must be square and have edges, is 3 x 3 with 0"),
        (
            csr_array(np.diag([1, np.nan, 1])),
            {},
            r"data must be finite, .* at \[1\]",
        ),
        (SQUARE, {"features": np.full((3, 1), np.inf)}, "features must be finite"),
        (SQUARE, {"features": np.ones((2, 1))}, "features must be real numbers .3, features., not"),
        (SQUARE, {"labels": np.ones(3)}, r"labels must be integers \[3\], not float64"),
        (SQUARE, {"train": np.ones(3)}, r"train must be bool \[3\], not"),
        (SQUARE, {"train": np.ones(2, bool)}, r"train must be bool \[3\], not bool \[2\]"),
    ],
)
def test_an_archive_that_is_no_graph(tmp_path, matrix, more, message):
    path = archived(tmp_path / "graph.npz", matrix, **more)
    with pytest.raises(UserError, match=f"graph.npz: {message}"):
        load_graph(path)


test_a_name_of_no_graph = refuses(
    load_graph,
    ("reddit:scale=0", "scale must leave at least 16 of 20000 vertices"),
    ("reddit:scale=nan", "scale must leave at least 16"),
    ("reddit:size=2", "reddit has no option 'size', only scale, seed"),
    ("redit", "'redit' is no family, did you mean 'reddit'. Families: digits, reddit, yelp"),
    ("nowhere", r"or the path of a \.mtx, .*, \.mtx\.xz, \.npz file$"),
    ("digits:seed=3", "digits has no options, found digits:seed=3"),
    ("missing.npz", "missing.npz: no such file"),
    ("missing.mtx", r"missing.mtx: no such file \(families: digits, reddit, yelp, products\)"),
    (".", r"^\.: is a folder, expected a file \(families: digits, reddit, yelp, products\)"),
    error=UserError,
)
