import numpy as np
import pytest

from sim.golden.choices import EtaSchedule, Loss
from sim.p4sgd.golden import float_sgd
from sim.workloads.step_size import CURVATURE, Smoothness, scheduled

KINDS = {
    "dense": lambda rng: rng.random((300, 40)),
    "signed": lambda rng: rng.uniform(-1, 1, (300, 40)),
    "wide": lambda rng: rng.random((60, 3000)),
    "sparse": lambda rng: (rng.random((400, 900)) < 0.01) * rng.random((400, 900)),
    "one long sample": lambda rng: np.vstack([rng.random((299, 30)) / 20, np.ones((1, 30))]),
    "one feature": lambda rng: rng.random((100, 1)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("center", [False, True])
def test_the_eigenvalue_is_the_largest(rng, kind, center):
    features = KINDS[kind](rng)
    result = Smoothness.of(features, 64, center=center)
    shifted = features - features.mean(axis=0) * center
    assert result.longest == pytest.approx((shifted**2).sum(axis=1).max())
    exact = np.linalg.norm(shifted, ord=2) ** 2 / len(features)
    assert 0.9 * exact < result.eigenvalue < exact * (1 + 1e-9)


def test_by_hand():
    """Four samples on two axes have the mean, over all six pairs, of each pair's smoothness."""
    features = np.array([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    result = Smoothness.of(features, 2)
    assert result.eigenvalue == pytest.approx(3)
    assert result.longest == 4
    assert result.expected == pytest.approx(4 * 1 / (2 * 3) * 3 + 2 / (2 * 3) * 4)
    assert Smoothness.of(features, 1).expected == result.longest
    assert (
        Smoothness.of(features, 4).expected
        == Smoothness.of(features, 99).expected
        == (pytest.approx(3))
    )
    assert result.learning_rate(Loss.LINEAR) == pytest.approx(1 / result.expected)
    assert result.learning_rate(Loss.LOGISTIC) == pytest.approx(4 / result.expected)


def test_data_that_are_zeros_have_a_rate():
    for features in (np.zeros((5, 3)), np.zeros((1, 1))):
        assert Smoothness.of(features, 8).learning_rate(Loss.HINGE) == 1
    assert Smoothness.of(np.ones((1, 4)), 8).learning_rate(Loss.LINEAR) == pytest.approx(1 / 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", Loss)
def test_training_comes_down(rng, kind, loss):
    """It falls from no model's loss, on labels that a model can learn and on any."""
    features = KINDS[kind](rng)
    truth = features @ rng.normal(size=features.shape[1])
    eta = Smoothness.of(features, 64).learning_rate(loss)
    for positive in (truth > np.median(truth), rng.random(len(truth)) < 0.5):
        labels = np.where(positive, 1.0, -1.0 if loss is Loss.HINGE else 0.0)
        weights = np.zeros(features.shape[1])
        before, _ = float_sgd.evaluate(loss, features, labels, weights)
        for _ in range(20):
            weights = float_sgd.epoch(features, labels, weights, loss=loss, batch=64, step=eta / 64)
        assert float_sgd.evaluate(loss, features, labels, weights)[0] < before


def test_four_times_the_rate_is_too_much(rng):
    """The rule is no needless caution: a quadratic loss grows from twice the rate on."""
    features = rng.random((300, 40))
    labels, weights = rng.normal(size=300), np.zeros(40)
    eta = 4 * Smoothness.of(features, 300).learning_rate(Loss.LINEAR)
    for _ in range(20):
        weights = float_sgd.epoch(
            features, labels, weights, loss=Loss.LINEAR, batch=300, step=eta / 300
        )
    assert float_sgd.evaluate(Loss.LINEAR, features, labels, weights)[0] > 1e6
    assert CURVATURE[Loss.LINEAR] == 1


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (EtaSchedule.CONSTANT, [8] * 6),
        (EtaSchedule.INVERSE, [8, 32 / 5, 32 / 6, 32 / 7, 4, 32 / 9]),
        (EtaSchedule.RESTARTS, [8, 4 + 8**0.5, 4, 4 - 8**0.5, 8, 4 + 8**0.5]),
    ],
)
def test_schedules_begin_at_the_rate(schedule, rates):
    shown = [scheduled(schedule, 8, 4, epoch) for epoch in range(1, 7)]
    assert shown == pytest.approx(rates)
