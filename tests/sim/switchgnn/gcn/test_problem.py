"""Tests how a graph becomes a problem, and what is wrong with graphs."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gen.base.errors import UserError
from sim.switchgnn.gcn.problem import problem_of
from sim.switchgnn.graphs.graph import Graph, load_graph
from tests.sim.switchgnn.cases import graph

PATH = csr_array(np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]], np.int8))
FEATURES = np.array([[1.0, 5.0], [3.0, 5.0], [1.0, 5.0], [3.0, 5.0]])
LABELS = np.array([0, 1, 0, 1])


def built(count=1, **changes):
    fields = {"name": "path", "adjacency": PATH, "features": FEATURES, "labels": LABELS}
    return problem_of(Graph(**fields | changes), count, seed=1)


def test_digits_have_ten_labels_a_class():
    result = problem_of(graph("digits"), 10, seed=1)
    assert (result.vertices, result.edges, result.classes) == (1797, 24_680, 10)
    assert np.bincount(result.labels[result.train]).tolist() == [10] * 10
    assert result.test.sum() == 1797 - 100
    assert not result.directed
    assert np.abs(result.features).max() == 1
    np.testing.assert_allclose(result.features.mean(0), 0, atol=1e-12)
    other = problem_of(graph("digits"), 10, seed=2)
    assert (other.train != result.train).any()


def test_edges_to_oneself_are_left_out_and_features_centred():
    result = built()
    assert result.adjacency.toarray().tolist() == (PATH.toarray() * (1 - np.eye(4))).tolist()
    assert result.features.tolist() == [[-1, 0], [1, 0], [-1, 0], [1, 0]]
    assert built(adjacency=csr_array(np.triu(PATH.toarray()))).directed
    assert result.without_edges().edges == 0


def test_vertices_without_a_label_are_neither_trained_nor_tested_on():
    labels = np.array([0, 1, -1, 1])
    result = built(labels=labels, train=np.array([True, True, False, False]))
    assert result.train.tolist() == [True, True, False, False]
    assert result.test.tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": None}, r"has no features \[4, features\]"),
        ({"labels": None}, r"has no labels \[4\]"),
        ({"features": np.ones((4, 2))}, "the features of all vertices are the same"),
        ({"features": FEATURES * 3e307}, "the features of all vertices are the same, or beyond"),
        ({"labels": np.array([0, 1, -2, 1])}, "labels are 0 to 3, or -1 .* not -2"),
        ({"labels": np.array([0, 1, 4, 1])}, "labels are 0 to 3, or -1 .* not 4"),
        ({"labels": np.zeros(4, int)}, "labels must tell at least 2 classes apart"),
        ({"labels": np.full(4, -1)}, "labels must tell at least 2 classes apart"),
        ({"adjacency": csr_array(np.eye(4, dtype=np.int8))}, "has no edges between vertices"),
        ({"count": 3}, "class 0 has 2 vertices, but labels asks for 3"),
        ({"count": 2}, "no vertex with a label is left to test on"),
        ({"train": np.zeros(4, bool)}, "there is no vertex to train on"),
        (
            {"labels": np.array([0, 1, -1, 1]), "train": np.array([True, True, True, False])},
            "a vertex to train on has no label",
        ),
    ],
)
def test_a_graph_that_is_no_problem(changes, message):
    with pytest.raises(UserError, match=f"^path: {message}") as caught:
        built(**changes)
    assert "\n" not in str(caught.value)


def test_a_family_has_no_features():
    with pytest.raises(UserError, match="has no features"):
        problem_of(load_graph("yelp:scale=0.001"), 10, 1)
