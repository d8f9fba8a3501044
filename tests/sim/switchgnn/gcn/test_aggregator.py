"""Compares A X by scipy with others' results, and checks how a wrong one is told."""

from collections import Counter

import numpy as np

from sim.switchgnn.gcn.aggregator import CheckedAggregator, ExactAggregator
from sim.switchgnn.planning.workers import WorkerPartition
from tests.sim.switchgnn.gcn.cases import VERTICES, owner, problem

PARTITION = WorkerPartition(workers=4, owner=owner())


def test_edges_inside_workers_are_left_out(rng):
    adjacency = problem(is_directed=True).adjacency
    features = rng.integers(-(1 << 15), 1 << 15, (VERTICES, 3)).astype(np.int16)
    right = np.zeros((VERTICES, 3), np.int64)
    for v, u in np.argwhere(adjacency.toarray()):
        if owner()[u] != owner()[v]:
            right[v] += features[u]
    assert (ExactAggregator(adjacency, PARTITION).aggregate(features) == right).all()


class Wrong:
    """Errs in its second aggregation and in all that follow."""

    def __init__(self, exact):
        self.exact, self.counts = exact, Counter(turns=0)

    def aggregate(self, features):
        self.counts["turns"] += 1
        result = self.exact.aggregate(features)
        result[7, 1] += self.counts["turns"] - 1
        return result


def test_the_first_wrong_sum_is_named():
    exact = ExactAggregator(problem().adjacency, PARTITION)
    checked = CheckedAggregator(Wrong(exact), exact)
    features = np.ones((VERTICES, 2), np.int16)
    right = exact.aggregate(features)
    assert (checked.aggregate(features) == right).all()
    assert checked.difference == ""
    for _ in range(2):
        assert checked.aggregate(features)[7, 1] > right[7, 1]
        assert checked.difference == (
            f"aggregation 2: the sum of vertex 7, feature 1 is {right[7, 1] + 1}, must be"
            f" {right[7, 1]}"
        )
    assert checked.counts == {"turns": 3}
