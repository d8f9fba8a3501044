import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sim.golden.arithmetic import Step
from sim.golden.choices import Loss
from sim.p4sgd.golden import float_sgd
from sim.p4sgd.golden import sgd as p4sgd
from sim.p4sgd.golden.sgd import Training
from sim.workloads.datasets import load
from sim.workloads.quantise import Quantiser, from_fixed, to_fixed

EPOCHS = 30
BATCH = 64


@pytest.mark.parametrize("loss", Loss)
def test_derivative_is_the_slope_of_the_loss(loss: Loss) -> None:
    z = np.array([-2.0, -0.5, 0.3, 0.9, 3.0])
    labels = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    if loss is Loss.HINGE:
        labels = 2 * labels - 1
    for item, label in zip(z, labels, strict=True):
        around = [
            float_sgd.evaluate(loss, np.ones((1, 1)), np.array([label]), np.array([item + h]))[0]
            for h in (-1e-6, 1e-6)
        ]
        slope = float_sgd.derivative(loss, np.array([item]), np.array([label]))[0]
        assert slope == pytest.approx((around[1] - around[0]) / 2e-6, abs=1e-5)


def test_epoch_by_hand() -> None:
    features = np.array([[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]])
    labels = np.array([1.0, -1.0, 3.0])
    options = {"loss": Loss.LINEAR, "batch": 2, "step": 0.5}
    # First two samples: slopes -1 and 1 at weight 0; then slope -1 - 3 at [0, -1].
    weights = float_sgd.epoch(features, labels, np.zeros(2), **options)
    assert weights.tolist() == [0.0, 1.0]
    # Decay of 1/16 of [0, 0], then of [0, -1].
    decayed = float_sgd.epoch(features, labels, np.zeros(2), **options, l2_shift=4)
    assert decayed.tolist() == [0.0, 1.0 + 1 / 16]


def test_evaluate_by_hand() -> None:
    features = np.array([[1.0], [-2.0], [0.5]])
    weight = np.array([1.0])
    loss, accuracy = float_sgd.evaluate(Loss.HINGE, features, np.array([1.0, 1.0, -1.0]), weight)
    assert (loss, accuracy) == (4.5 / 3, 1 / 3)
    loss, _ = float_sgd.evaluate(Loss.HINGE, features, np.array([1.0, 1.0, -1.0]), weight, 0.5)
    assert loss == (0 + 2.5 + 2) / 3
    loss, accuracy = float_sgd.evaluate(Loss.LINEAR, features, np.array([0.0, 0.0, 0.5]), weight)
    assert (loss, accuracy) == (2.5 / 3, None)
    loss, accuracy = float_sgd.evaluate(Loss.LOGISTIC, features, np.array([1.0, 0, 0]), weight)
    assert loss == pytest.approx(np.log1p(np.exp([-1, -2, 0.5])).mean())
    assert accuracy == 2 / 3


@pytest.mark.parametrize("loss", Loss)
def test_sparse_equals_dense(loss: Loss) -> None:
    rng = np.random.default_rng(6)
    dense = rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.3)
    sparse, labels = csr_matrix(dense), np.where(rng.random(20) < 0.5, 1.0, 0.0)
    options = {"loss": loss, "batch": 8, "step": 0.1, "l2_shift": 5}
    weights = float_sgd.epoch(dense, labels, np.ones(6), **options)
    assert np.allclose(float_sgd.epoch(sparse, labels, np.ones(6), **options), weights)
    results = [float_sgd.evaluate(loss, x, labels, weights)[0] for x in (dense, sparse)]
    assert results[0] == pytest.approx(results[1])


@pytest.mark.parametrize("loss", Loss)
def test_fixed_point_follows_float_where_quantisation_is_exact(loss: Loss) -> None:
    rng = np.random.default_rng(7)
    codes = rng.integers(-128, 128, (203, 12))
    labels = (codes @ rng.normal(size=12) > 0) * 1.0
    if loss is not Loss.LOGISTIC:
        labels = 2 * labels - 1
    training = Training(
        loss=loss, bits=8, signed=True, batch=16, banks=8, step=Step.of(0.25 / 16), l2_shift=10
    )
    fixed, real = np.zeros(12, dtype=np.int64), np.zeros(12)
    for _ in range(3):
        fixed, counts = p4sgd.epoch(codes, to_fixed(labels), fixed, training)
        assert counts == p4sgd.Saturations()
        real = float_sgd.epoch(
            codes / 128, labels, real, loss=loss, batch=16, step=0.25 / 16, l2_shift=10
        )
    assert np.abs(real).max() > 0.1
    assert np.allclose(from_fixed(fixed), real, atol=1e-3)


@pytest.mark.parametrize(
    ("source", "eta", "bits", "floor"), [("digits", 1.0, 4, 0.89), ("breast-cancer", 4.0, 8, 0.92)]
)
def test_real_data_trains_as_well_as_float(
    source: str, eta: float, bits: int, floor: float
) -> None:
    data = load(source, loss=Loss.LOGISTIC)
    quantiser = Quantiser.fit(data.features, bits)
    codes, scaled = quantiser.encode(data.features), quantiser.scaled(data.features)
    training = Training(
        loss=Loss.LOGISTIC,
        bits=bits,
        signed=quantiser.signed,
        batch=BATCH,
        banks=8,
        step=Step.of(eta / BATCH),
    )
    fixed, real = np.zeros(data.feature_count, dtype=np.int64), np.zeros(data.feature_count)
    for _ in range(EPOCHS):
        fixed, _ = p4sgd.epoch(codes, to_fixed(data.labels), fixed, training)
        real = float_sgd.epoch(
            scaled, data.labels, real, loss=Loss.LOGISTIC, batch=BATCH, step=eta / BATCH
        )
    golden = float_sgd.evaluate(
        Loss.LOGISTIC, data.features, data.labels, quantiser.to_original(fixed)
    )
    reference = float_sgd.evaluate(Loss.LOGISTIC, scaled, data.labels, real)
    print(f"{source}: golden {golden}, float {reference}")
    assert golden[1] is not None
    assert reference[1] is not None
    assert golden[0] == pytest.approx(reference[0], rel=0.02)
    assert golden[1] == pytest.approx(reference[1], abs=0.01)
    assert reference[1] >= floor
