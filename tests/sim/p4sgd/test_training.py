"""Tests what a training run is made of, and what becomes of it, by the golden model alone."""

from dataclasses import replace

import numpy as np
import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.choices import EtaSchedule, Loss
from sim.p4sgd import training_text as text
from sim.p4sgd.training import TrainingRun, data_of
from sim.p4sgd.training_workload import TrainingWorkload
from sim.workloads.datasets import DataSet, load
from tests.sim.p4sgd.trained import HARDWARE, trained


def classes(rng):
    """Return 26 groups of samples about centres of their own, the first half negative, sorted."""
    groups = np.repeat(np.arange(26), 60)
    centres = rng.uniform(0, 2, (26, 40))
    values = centres[groups] + rng.normal(0, 0.3, (len(groups), 40))
    return {"X": values, "y": (groups >= 13).astype(int)}


def test_the_first_samples_are_taken(rng):
    """Of arrays as of data by name; of zeros there are as many."""
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    requested = TrainingWorkload(samples=20, shuffle=False, test="0.25")
    assert (data_of(requested, (X, y)).features == X[:15]).all()
    assert len(data_of(TrainingWorkload(samples=40), (X, y)).labels) == 30
    assert len(data_of(TrainingWorkload(samples=50)).labels) == 50
    sizes = [data_of(TrainingWorkload(data="zeros", samples=n)).features.shape for n in (None, 7)]
    assert sizes == [(512, 4096), (7, 4096)]


def test_a_sorted_file_is_learnt_once_it_is_shuffled(rng, tmp_path):
    np.savez(tmp_path / "sorted.npz", **classes(rng))
    options = {"loss": Loss.HINGE, "epochs": 8, "eta": None}
    accuracies = [
        trained(load(str(tmp_path / "sorted.npz"), loss=Loss.HINGE, order=order), **options)
        .rows[-1]
        .rtl_accuracy
        for order in (None, 1)
    ]
    assert accuracies[0] < 0.6
    assert accuracies[1] > 0.8


def wide(rng, kind):
    """Return data like madelon and arcene: many features, with large values that are alike."""
    labels = np.arange(400 if kind == "madelon" else 100) % 2
    if kind == "madelon":
        features = 480 + rng.normal(0, 25, (400, 500))
        features[:, :20] += 25 * labels[:, None]
    else:
        features = rng.gamma(1, 80, (100, 3000)) * (rng.random((100, 3000)) < 0.54)
        features[:, :200] += 60 * labels[:, None]
    return DataSet(kind, features.round().clip(0, 999), labels.astype(float), "1 against 0")


@pytest.mark.parametrize("kind", ["madelon", "arcene"])
@pytest.mark.parametrize("loss", Loss)
@pytest.mark.parametrize("center", [False, True])
def test_wide_data_do_not_diverge(rng, kind, loss, center):
    data = wide(rng, kind)
    if loss is not Loss.LOGISTIC:
        data = replace(data, labels=2 * data.labels - 1)
    result = trained(data, loss=loss, epochs=5, eta=None, center=center)
    assert result.warnings == []
    assert result.rows[-1].rtl_loss < result.training.chance
    assert result.details()["eta"] == result.training.eta
    if center and loss is not Loss.LINEAR:
        assert result.rows[-1].rtl_accuracy > 0.95


def test_a_step_that_is_rounded_much_is_said(rng):
    least = 32 * 2.0**-63
    for eta, said in ((0.1, []), (1e-5, []), (1e-300, [least]), (2.6 * least, [3 * least])):
        run = TrainingRun(wide(rng, "madelon"), HARDWARE, TrainingWorkload(eta=eta, batch=32))
        lines = [line for line in text.about(run) if " is taken as " in line]
        assert lines == [
            f"eta = {eta:.3g} is taken as {used:.3g}: the hardware's step, eta / B, is at least"
            " 2^-63, and a multiple of that"
            for used in said
        ]


def test_a_step_that_is_too_long_is_warned_of(rng):
    data = wide(rng, "madelon")
    for eta, saturates in ((1.0, False), (1e5, True)):
        result = trained(data, epochs=3, eta=eta)
        suits = result.training.smoothness.learning_rate(Loss.LOGISTIC)
        hint = f"; --eta {suits:.3g} suits the data, not {eta:.3g}"
        assert 0.005 < suits < 0.05
        assert "above the 0.69315 of no model" in result.warnings[0]
        assert all(warning.endswith(hint) for warning in result.warnings)
        assert [" saturations: numbers outgrew" in text for text in result.warnings[1:]] == (
            [True] * saturates
        )


@pytest.mark.parametrize("loss", [Loss.LINEAR, Loss.LOGISTIC])
def test_weights_are_those_of_the_data_as_they_came(rng, loss, tmp_path):
    """This holds for centred features, too, and for the test samples."""
    labels = np.arange(120) % 2
    features = np.column_stack([50 + rng.normal(labels, 0.5), rng.random(120), np.full(120, 3.0)])
    np.savez(tmp_path / "data.npz", X=features, y=labels)
    data = load(str(tmp_path / "data.npz"), loss=loss, order=3, test="0.2")
    observed = trained(data, loss=loss, epochs=20, eta=None, center=True, bits=8)
    observed.save_weights(tmp_path / "weights.npz")
    weights, last = np.load(tmp_path / "weights.npz"), observed.rows[-1]
    assert weights["offset"] == pytest.approx([data.features[:, 0].mean(), 0.5, 0], abs=0.2)
    for samples, loss_, accuracy in (
        (data, last.rtl_loss, last.rtl_accuracy),
        (data.test, last.rtl_test_loss, last.rtl_test_accuracy),
    ):
        z = samples.features @ weights["original"] + weights["intercept"]
        scaled = (samples.features - weights["offset"]) / weights["scale"]
        assert z == pytest.approx(scaled @ (weights["fixed_point"] / 2.0**23), abs=1e-6)
        if loss is Loss.LINEAR:
            assert loss_ == pytest.approx(np.mean((z - samples.labels) ** 2) / 2)
        else:
            assert accuracy == np.mean((z > 0) == (samples.labels > 0))
            assert accuracy > 0.7
    result = observed.details()
    assert result["data"]["order"] == "shuffled with seed 3"
    assert result["data"]["test"] == {"name": "data.npz", "samples": 24}
    assert result["signed_features"]


def test_classes_of_unequal_size_need_a_constant_beside_centred_features(rng):
    """``train --center`` adds one: without it, predictions are zero on average."""
    values = (rng.random((800, 12)) < 0.3) * 1.0
    labels = (values[:, :4].sum(axis=1) >= 3).astype(float)
    assert labels.mean() < 0.2
    with_constant = np.column_stack([values, np.ones(800)])
    lone, helped = (
        trained(DataSet("few", features, labels, "a"), epochs=30, eta=None, center=True, bits=8)
        .rows[-1]
        .rtl_accuracy
        for features in (values, with_constant)
    )
    assert lone < 0.85
    assert helped > 0.93


def test_other_fraction_bits_are_understood(rng):
    """Weights come back in the units of the data for any number of fraction bits."""
    data = DataSet("two", rng.random((64, 2)), np.arange(64) % 2.0, "1 against 0")
    training = TrainingRun(
        data,
        WorkerParams(engines=1, engine=EngineParams(fraction_bits=20)),
        TrainingWorkload(
            eta=1.0,
        ),
    )
    assert training.original(np.array([1 << 20, 0])) * training.quantiser.scale == (
        pytest.approx([1, 0])
    )


def test_the_last_weights_are_kept_unless_training_may_stop_early(rng):
    """With patience the best ones are, also if training ends before patience does."""
    data = wide(rng, "madelon")
    data = replace(data, test=replace(data, labels=1 - data.labels))
    options = {"epochs": 4, "eta": None, "center": True}
    last = trained(data, **options)
    assert last.kept.number == last.details()["kept_epoch"] == 4
    assert not [*text.kept(last)]
    best = trained(data, patience=7, test="0.2", **options)
    assert best.kept.number == 1
    assert len(best.rows) == 4
    assert [*text.kept(best)] == ["the weights of epoch 1 are kept, whose test loss is the lowest"]


@pytest.mark.parametrize("schedule", EtaSchedule)
def test_golden_model_and_float_sgd_follow_the_schedule(rng, schedule):
    data = wide(rng, "madelon")
    options = {"eta": 0.01, "epochs": 4, "eta_schedule": schedule, "eta_period": 3}
    comparison = trained(data, **options)
    weights, double = np.zeros(500, dtype=np.int64), np.zeros(500)
    for rate in [epoch["eta"] for epoch in comparison.details()["epochs"]]:
        single = TrainingRun(data, HARDWARE, TrainingWorkload(eta=rate, epochs=1))
        weights, double = single.golden(weights)[0], single.float_epoch(double)
    assert (comparison.golden == weights).all()
    assert (comparison.float == double).all()
    steps = comparison.training.steps
    assert len(steps) == (0 if schedule is EtaSchedule.CONSTANT else 4)
