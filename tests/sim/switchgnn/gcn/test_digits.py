"""Checks that the digits' graph network is as accurate as it should be."""

import pytest

from sim.switchgnn.gcn.evaluation import fixed_quality, quality
from sim.switchgnn.gcn.run import GcnRun
from sim.switchgnn.gcn.workload import GcnWorkload


def accuracy(run, training):
    """Return the accuracy on the test vertices, after all epochs."""
    for _ in range(run.requested.epochs):
        training.look()
        training.learn()
    return fixed_quality(run.problem, training.look()).test_accuracy


@pytest.mark.parametrize(("seed", "least"), [(1, 0.955), (5, 0.95), (6, 0.95)])
def test_the_graph_helps(seed, least):
    run = GcnRun(GcnWorkload(workers=1, seed=seed))
    with_graph, without = accuracy(run, run.alone), accuracy(run, run.without_edges)
    assert with_graph >= least
    assert 0.895 <= without <= with_graph - 0.03


def test_bits_of_features_do_not_matter():
    runs = [GcnRun(GcnWorkload(workers=1, bits=bits)) for bits in (8, 12, 16)]
    result = [accuracy(run, run.alone) for run in runs]
    assert min(result) >= 0.955
    assert max(result) - min(result) < 0.005


def test_float64_is_no_better():
    run = GcnRun(GcnWorkload(workers=1))
    floats = run.in_float
    for _ in range(run.requested.epochs):
        floats.look()
        floats.learn()
    result = quality(run.problem, floats.look())
    assert result.test_accuracy == pytest.approx(accuracy(run, run.alone), abs=0.003)
