"""Compares mini-batches with the definition: who is drawn, and of whom."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sim.workloads.matrices import load_matrix
from sim.workloads.mini_batch import mini_batch, neighbours


def rng():
    return np.random.default_rng(1)


def test_all_neighbours_of_a_path():
    """Vertex k has the neighbour k + 1, so that each layer brings one more."""
    path = csr_array(np.eye(6, k=1))
    assert mini_batch(path, np.array([1]), [3, 3], rng()).tolist() == [1, 2, 3]
    assert mini_batch(path, np.array([4]), [1, 1, 1], rng()).tolist() == [4, 5]


@pytest.mark.parametrize("most", [1, 3, 7, 100])
def test_neighbours_are_drawn_once(most):
    graph = load_matrix("uk:rows=200")
    degrees = np.diff(graph.indptr)
    vertex = int(degrees.argmax())
    result = neighbours(graph, vertex, most, rng())
    assert len(result) == len(set(result.tolist())) == min(most, degrees[vertex])
    assert set(result.tolist()) <= set(graph.indices[graph.indptr[vertex] :][: degrees[vertex]])


def test_no_more_than_fan_outs_allow():
    graph = load_matrix("uk:rows=500")
    result = mini_batch(graph, np.array([3, 7]), [4, 2], rng())
    assert result[:2].tolist() == [3, 7]
    assert len(result) == len(set(result.tolist())) <= 2 + 2 * 4 + 2 * 4 * 2
