"""Has small graphs to train on."""

from dataclasses import replace
from functools import cache

import numpy as np
from scipy.sparse import csr_array, save_npz

from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.switchgnn.gcn.network import Network
from sim.switchgnn.gcn.problem import problem_of, without_loops
from sim.switchgnn.gcn.training import Schedule
from sim.switchgnn.graphs.graph import Graph
from sim.switchgnn.planning.workers import WorkerPartition
from tests.sim.switchgnn.cases import directed

VERTICES = 40
WORKERS = 4
SCHEDULE = Schedule(eta=0.4, l2_shift=5, bits=16)
SMALL = GnnSwitchParams(
    ports=4, slots=512, banks=4, lanes=32, window=32, rows=4096, descriptor_rows=4096
)
TINY = replace(SMALL, banks=2, slots=16, lanes=4, window=4, rows=512, descriptor_rows=512)


@cache
def problem(is_directed=False, seed=3):
    """Return vertices that noisy features tell apart, with neighbours of any class."""
    rng = np.random.default_rng(seed)
    adjacency, _ = directed(vertices=VERTICES, edges=160)
    if not is_directed:
        adjacency = csr_array(adjacency + adjacency.T)
    labels = rng.integers(0, 3, VERTICES)
    features = np.eye(3, 6)[labels] + rng.normal(0, 0.4, (VERTICES, 6))
    graph = Graph(
        name="small", adjacency=without_loops(adjacency), features=features, labels=labels
    )
    return problem_of(graph, 5, seed)


def network(count=2, hidden=5):
    return Network(inputs=6, hidden=hidden, classes=3, count=count)


@cache
def owner(workers=WORKERS):
    return np.random.default_rng(8).integers(0, workers, VERTICES).astype(np.int32)


def saved(folder, small, name="graph.npz", **more):
    """Return a problem as a file."""
    path = folder / name
    save_npz(path, small.adjacency)
    content = {"features": small.features, "labels": small.labels} | more
    with np.load(path) as archive:
        np.savez(path, **dict(archive), **content)
    return path


PARTITION = WorkerPartition(workers=4, owner=owner())
