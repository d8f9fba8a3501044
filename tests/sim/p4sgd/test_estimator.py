"""Checks that an estimator predicts as the run's own weights do."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor

from sim.golden.choices import Loss
from sim.p4sgd.estimator import estimator_of, load_estimator
from sim.workloads.datasets import from_arrays
from sim.workloads.files import InputError
from tests.sim.p4sgd.trained import trained


@pytest.mark.parametrize(
    ("labels", "positive", "classes"),
    [
        ([3, 7], None, [3, 7]),
        ([3, 7], "3", [7, 3]),
        ([0, 1, 2.5], ">=1", [0, 1]),
        ([-1, 0.5], None, [-1, 0.5]),
    ],
)
@pytest.mark.parametrize("options", [{}, {"bias": True}, {"center": True}])
@pytest.mark.parametrize("loss", [Loss.LOGISTIC, Loss.HINGE])
def test_accuracy_is_the_runs_own(rng, loss, options, labels, positive, classes, tmp_path):
    X, y = rng.normal(5, [1, 30, 0.01], (90, 3)), rng.choice(labels, 90)
    X[:, 0] += 2 * y
    bias = bool(options)
    data = from_arrays(X, y, loss=loss, positive=positive, bias=bias, order=2, test="0.3")
    comparison = trained(data, loss=loss, epochs=4, eta=None, positive=positive, **options)
    comparison.save_weights(tmp_path / "weights.npz")
    estimator, last = load_estimator(tmp_path / "weights.npz"), comparison.rows[-1]
    assert is_classifier(estimator)
    assert np.mean(comparison.training.data.test.labels > 0) not in (0, 1)
    assert estimator.classes_.tolist() == classes
    order = np.random.default_rng(2).permutation(90)
    if len(labels) > 2:
        y = (y >= 1) * 1
    for samples, accuracy in (
        (order[:63], last.rtl_accuracy),
        (order[63:], last.rtl_test_accuracy),
    ):
        assert np.mean(estimator.predict(X[samples]) == y[samples]) == accuracy
    z = estimator.decision_function(X)
    assert ((z > 0) == (estimator.predict(X) == classes[1])).all()
    if loss is Loss.LOGISTIC:
        assert estimator.predict_proba(X)[:, 1] == pytest.approx(1 / (1 + np.exp(-z)))
    else:
        assert not hasattr(estimator, "predict_proba")
    with pytest.raises(ValueError, match="expecting 3 features"):
        estimator.predict(X[:, :2])


@pytest.mark.parametrize("center", [False, True])
def test_a_regression_has_the_runs_own_loss(rng, center):
    X = rng.normal(5, [1, 30, 0.01], (90, 3))
    data = from_arrays(X, X[:, 0] - 5, loss=Loss.LINEAR, bias=center)
    comparison = trained(data, loss=Loss.LINEAR, epochs=4, eta=None, center=center)
    estimator = estimator_of(comparison.weights)
    assert is_regressor(estimator)
    error = np.mean((estimator.predict(X) - X[:, 0] + 5) ** 2) / 2
    assert error == pytest.approx(comparison.rows[-1].rtl_loss, rel=1e-9)
    assert estimator.fit(X, X[:, 0]).coef_.shape == (3,)


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "data.npz", original=np.ones(3))
    with pytest.raises(InputError, match="not the weights of a training, without intercept, has_b"):
        load_estimator(tmp_path / "data.npz")
    with pytest.raises(InputError, match="no such file"):
        load_estimator(tmp_path / "none.npz")
