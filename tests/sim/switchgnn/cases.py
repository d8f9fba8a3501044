"""Has small graphs that several tests plan."""

from functools import cache

import numpy as np
from scipy.sparse import csr_array

from hdl.switchgnn.protocol import Kind, frame_bytes
from sim.switchgnn.graphs.graph import load_graph
from sim.switchgnn.planning.cut import cut_graph
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.senders import senders_of
from sim.switchgnn.planning.tables import FEATURE
from sim.switchgnn.planning.workers import WorkerPartition, metis_workers, provided_workers


@cache
def graph(name):
    return load_graph(name)


@cache
def cut_of(name, workers):
    adjacency = graph(name).adjacency
    return cut_graph(adjacency, metis_workers(adjacency, workers))


@cache
def directed(vertices=60, edges=400, workers=3, seed=5):
    """Return a directed graph with vertices that only send, only receive, or do neither, and
    owners.
    """
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, vertices - 5, edges), rng.integers(5, vertices, edges)
    built = csr_array((np.ones(edges, np.int8), (rows, columns)), (vertices, vertices))
    built.sum_duplicates()
    built.data[:] = 1
    return built, provided_workers(rng.integers(0, workers, vertices), vertices, workers)


def undirected_graph(pairs, vertices):
    """Return the adjacency of an undirected graph, each vertex at a worker of its own."""
    first, second = np.array(pairs).T
    both = np.concatenate([first, second]), np.concatenate([second, first])
    adjacency = csr_array((np.ones(both[0].size, np.int8), both), (vertices, vertices))
    owner = np.arange(vertices, dtype=np.int32)
    return cut_graph(adjacency, WorkerPartition(workers=vertices, owner=owner))


def star(vertices):
    return undirected_graph([(0, leaf) for leaf in range(1, vertices)], vertices)


def ring(vertices):
    return undirected_graph([(each, (each + 1) % vertices) for each in range(vertices)], vertices)


def one_block(cut, theta=0):
    return senders_of(cut, destination_plan(cut, max(cut.n, 2)), theta)


def bytes_of_slice(tables):
    """Return the bytes of a slice's frames with contributions and with sums, each once."""
    features = (tables.packet_kind == FEATURE).sum()
    sums = tables.packet_kind.size - features + (tables.result_vertex >= 0).sum()
    count = {Kind.FEATURE: features, Kind.RESULT: sums}
    return sum(number * frame_bytes(kind, tables.lanes) for kind, number in count.items())
