import numpy as np
import pytest
from scipy.sparse import csr_array

from gen.base.errors import UserError
from sim.switchgnn.planning.cut import cut_graph
from sim.switchgnn.planning.workers import provided_workers
from tests.sim.switchgnn.cases import cut_of, directed, graph


def test_the_cut_has_the_edges_between_workers_and_no_other():
    adjacency, partition = directed()
    cut = cut_graph(adjacency, partition)
    rows, columns = adjacency.tocoo().coords
    between = partition.owner[rows] != partition.owner[columns]
    expected = set(zip(columns[between].tolist(), rows[between].tolist(), strict=True))
    ends = cut.vertices[cut.sources].tolist(), cut.vertices[cut.destinations].tolist()
    assert set(zip(*ends, strict=True)) == expected
    assert len(expected) == cut.edges
    assert (cut.worker == partition.owner[cut.vertices]).all()
    pairs = {(source, partition.owner[destination]) for source, destination in expected}
    assert cut.copies.size == len(pairs)


def test_a_cut_of_nothing_and_of_another_graph():
    adjacency, _ = directed()
    with pytest.raises(UserError, match="the partition cuts no edge"):
        cut_graph(adjacency, provided_workers(np.zeros(60, int), 60, 2))
    with pytest.raises(UserError, match="the partition is of 59 vertices, the graph has 60"):
        cut_graph(adjacency, provided_workers(np.zeros(59, int), 59, 2))


def hub(neighbours):
    ones = np.ones(neighbours, np.int8)
    into = (np.zeros(neighbours, int), np.arange(1, neighbours + 1))
    adjacency = csr_array((ones, into), (neighbours + 1, neighbours + 1))
    return adjacency, provided_workers(
        (np.arange(neighbours + 1) > 0).astype(int), neighbours + 1, 2
    )


def test_a_sum_holds_65535_features():
    assert cut_graph(*hub(65_535)).in_degrees.max() == 65_535
    with pytest.raises(UserError, match="vertex 0 has 65536 neighbours at other workers"):
        cut_graph(*hub(65_536))


def test_a_whole_graph_may_be_cut_into_vertices():
    adjacency = graph("digits").adjacency
    assert cut_graph(adjacency, provided_workers(np.arange(1797), 1797, 1797)).edges == 24_680
    assert cut_of("digits", 4).in_degrees.sum() == 900
