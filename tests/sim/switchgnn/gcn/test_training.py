"""Trains in whole numbers: each sum is exact, weights depend on no cut, gradients are float64's."""

from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sim.switchgnn.gcn.aggregator import ExactAggregator
from sim.switchgnn.gcn.evaluation import fixed_quality, quality
from sim.switchgnn.gcn.fixed_point import VALUE_FRACTION, WEIGHT_FRACTION
from sim.switchgnn.gcn.float_training import FloatTraining
from sim.switchgnn.gcn.golden_aggregator import GoldenAggregator, Planner, SwitchSetup
from sim.switchgnn.gcn.training import Training
from sim.switchgnn.gcn.workload import Norm
from sim.switchgnn.golden.aggregation import aggregate, edges_inside
from sim.switchgnn.links import Faults
from sim.switchgnn.planning.preparation import PLANS
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.workers import WorkerPartition
from tests.sim.switchgnn.gcn.cases import SCHEDULE, VERTICES, WORKERS, network, owner, problem

BAD = Faults(drop=0.2, duplicate=0.2, reorder=0.3, corrupt=0.02)


class Compared:
    """An aggregator whose sums are compared with the scalar definition, all edges included."""

    def __init__(self, built, adjacency):
        self.built, self.edges, self.widths = built, adjacency.toarray(), []
        self.inside = edges_inside(adjacency, owner())

    @property
    def counts(self):
        return self.built.counts

    def aggregate(self, features):
        result = self.built.aggregate(features)
        whole = result + aggregate(self.inside, features)
        assert (whole == self.edges.astype(np.int64) @ features.astype(np.int64)).all()
        self.widths.append(features.shape[1])
        return result


def trained(small, epochs, count=2, workers=WORKERS, make=ExactAggregator, schedule=SCHEDULE):
    """Return a training that has ended, and its aggregators."""
    net, aggregators = network(count), []
    parts = owner(workers) if workers > 1 else None
    if workers > 1:
        partition = WorkerPartition(workers=workers, owner=parts)
        for adjacency in [small.adjacency, small.adjacency.T.tocsr()][: 1 + small.directed]:
            built = make(adjacency, partition, sorted(set(net.aggregations)))
            aggregators.append(Compared(built, adjacency) if workers == WORKERS else built)
    training = Training(
        small,
        net,
        schedule,
        net.first_weights(4),
        owner=parts,
        forward=aggregators[0] if aggregators else None,
        backward=aggregators[-1] if aggregators else None,
    )
    for _ in range(epochs):
        training.look()
        training.learn()
    training.look()
    return training, aggregators


@pytest.mark.parametrize("is_directed", [False, True])
@pytest.mark.parametrize("plan", PLANS)
def test_every_sum_of_every_layer_is_exact_on_bad_links(seed, plan, is_directed):
    """Both ways are; weights are those of a single worker, which sends nothing."""
    shape = SwitchShape(ports=4, banks=2, depth=8, lanes=4)
    setup = SwitchSetup(shape=shape, window=4, plan=plan, faults=BAD, seed=seed)
    small, epochs = problem(is_directed), 3
    training, built = trained(
        small, epochs, count=3, make=partial(GoldenAggregator, planner=Planner(setup))
    )
    alone, _ = trained(small, epochs, count=3, workers=1)
    for own, other in zip(training.weights, alone.weights, strict=True):
        assert (own == other).all()
    assert (training.logits == alone.logits).all()
    forward, backward = [5, 5, 3], [3, 5, 5]
    if is_directed:
        assert built[0].widths == forward * (epochs + 1)
        assert built[1].widths == backward * epochs
    else:
        assert built[0].widths == (forward + backward) * epochs + forward
    assert sum((each.counts for each in built), Counter())["repeats"] > 0


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize(("bits", "norm"), [(8, "symmetric"), (16, "symmetric"), (16, "mean")])
def test_weights_are_the_same_for_any_number_of_workers(count, bits, norm):
    """The graph is directed, and the first layer has A (X W) or (A X) W."""
    schedule = replace(SCHEDULE, bits=bits, norm=Norm(norm))
    alone, _ = trained(problem(is_directed=True), 5, count, 1, schedule=schedule)
    for workers in (2, 4, 9):
        training, _ = trained(problem(is_directed=True), 5, count, workers, schedule=schedule)
        assert len(training.shares) == workers
        for own, other in zip(training.weights, alone.weights, strict=True):
            assert (own == other).all()
        assert training.saturations == alone.saturations


@pytest.mark.parametrize("is_directed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("hidden", [5, 9])  # 9: the first layer is (A X) W
@pytest.mark.parametrize("norm", Norm)
def test_weights_follow_those_of_float64(is_directed, count, hidden, norm):
    small, net = problem(is_directed), network(count, hidden)
    weights, schedule = net.first_weights(4), replace(SCHEDULE, norm=norm)
    training = Training(small, net, schedule, weights)
    floats = FloatTraining(small, schedule, weights)
    for _ in range(10):
        logits, real = training.look() * 2.0**-VALUE_FRACTION, floats.look()
        np.testing.assert_allclose(logits, real, atol=2e-3)
        training.learn()
        floats.learn()
    for fixed, real in zip(training.weights, floats.weights, strict=True):
        # an activation may be just above zero in one of them and not in the other
        np.testing.assert_allclose(fixed * 2.0**-WEIGHT_FRACTION, real, atol=4e-3)
    result = fixed_quality(small, training.look()), quality(small, floats.look())
    assert result[0].loss == pytest.approx(result[1].loss, abs=1e-3)


@pytest.mark.parametrize("norm", Norm)
def test_float64s_gradients_are_those_of_its_loss(norm):
    """They are compared by differences, without momentum, in one step from the first weights."""
    small, net = problem(is_directed=True), network(2)
    schedule = replace(SCHEDULE, l2_shift=0, norm=norm)
    floats = FloatTraining(small, schedule, net.first_weights(4))
    floats.look()
    floats.learn()
    floats.weights = [each * 2.0**-WEIGHT_FRACTION for each in net.first_weights(4)]
    for number, place in ((0, (2, 3)), (0, (5, 0)), (1, (1, 2)), (1, (4, 0))):
        losses = []
        for change in (1e-5, -2e-5):
            floats.weights[number][place] += change
            losses.append(quality(small, floats.look()).loss)
        floats.weights[number][place] += 1e-5
        slope = (losses[0] - losses[1]) / 2e-5
        assert floats.momentum[number][place] == pytest.approx(slope, abs=1e-6)


def test_features_that_grow_too_fast_saturate_and_are_counted():
    training, _ = trained(problem(), 1, workers=1)
    assert training.saturations == 0
    training.weights[0] = training.weights[0] * 16
    training.look()
    result = training.saturations
    assert 0 < result <= VERTICES * network().aggregations[0] * 2
    training.look()  # the scale suits them now
    assert training.saturations == result


def test_a_worker_may_own_nothing():
    small, net = problem(), network()
    parts = np.where(owner() == 1, 3, owner())
    partition = WorkerPartition(workers=5, owner=parts)
    exact = ExactAggregator(small.adjacency, partition)
    shared = Training(
        small, net, SCHEDULE, net.first_weights(4), owner=parts, forward=exact, backward=exact
    )
    alone, _ = trained(small, 1, workers=1)
    shared.look()
    shared.learn()
    assert all(
        (own == other).all() for own, other in zip(shared.weights, alone.weights, strict=True)
    )
