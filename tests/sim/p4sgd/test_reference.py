"""Tests the reference that scikit-learn fits, and what is said beside it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from sim.golden.choices import Loss
from sim.p4sgd import training_report
from sim.p4sgd import training_text as text
from sim.p4sgd.reference import MISSING, Reference, shown_loss
from sim.p4sgd.training import TrainingRun
from sim.p4sgd.training_workload import TrainingWorkload
from sim.workloads.datasets import DataSet
from tests.sim.p4sgd.trained import HARDWARE, trained

L2 = replace(HARDWARE, engine=replace(HARDWARE.engine, l2=True))


def noisy(rng, loss, count=400):
    """Return samples, a fourth of them held out, whose classes overlap."""
    features = np.hstack([rng.normal(3, [1, 20, 0.1], (count, 3)), np.ones((count, 1))])
    z = (features - 3) @ [1, 0.1, 5, 0] + rng.normal(0, 1, count)
    labels = z if loss is Loss.LINEAR else np.where(z > 0, 1.0, -1.0 * (loss is Loss.HINGE))
    return DataSet("noisy", features, labels, "" if loss is Loss.LINEAR else "a").held_out(0.25)


@pytest.mark.parametrize("l2_shift", [0, 7])
@pytest.mark.parametrize("loss", Loss)
def test_the_hardwares_own_objective_is_minimised(rng, loss, l2_shift):
    """Without an L2 term LinearSVC has its default, C = 1."""
    run = TrainingRun(noisy(rng, loss), L2, TrainingWorkload(loss=loss, l2_shift=l2_shift, bits=8))
    assert bool(run.l2) == bool(l2_shift)
    term = run.l2 or (loss is Loss.HINGE) / run.samples

    def objective(weights):
        return run.evaluate(weights / run.quantiser.scale)[0] + term / 2 * weights @ weights

    best = np.zeros(4)
    for _ in range(4):  # from where it has stopped it begins with a simplex that is large again
        best = minimize(objective, best, method="Nelder-Mead", options={"maxiter": 2000}).x
    loss_, accuracy = run.evaluate(best / run.quantiser.scale)
    reference = Reference.fit(run)
    assert reference.converged
    assert reference.loss == pytest.approx(loss_, rel=0.01)
    assert reference.accuracy == pytest.approx(accuracy, abs=0.01)
    total = term * run.samples
    strength = total if loss is Loss.LINEAR else 1 / total if total else np.inf
    assert reference.model.endswith(f"={strength:.3g})")


@pytest.mark.parametrize("loss", [Loss.LINEAR, Loss.LOGISTIC])
def test_l2_is_what_shrinks_the_hardwares_weights(rng, loss):
    """Gradient descent on all samples at a time ends where the reference is."""
    requested = TrainingWorkload(loss=loss, l2_shift=7, bits=8, batch=312)
    run, weights = TrainingRun(noisy(rng, loss, 416), L2, requested), np.zeros(4)
    for _ in range(3000):
        weights = run.float_epoch(weights)
    fitted = Reference.fit(run)
    assert run.samples == 312
    assert fitted.loss == pytest.approx(run.evaluate(weights / run.quantiser.scale)[0], rel=1e-3)


@pytest.mark.parametrize("eta", [0.25, None])
def test_l2_is_the_nearest_lambda_that_hardware_has(rng, eta):
    data = noisy(rng, Loss.LOGISTIC)

    def run(**settings):
        return TrainingRun(data, L2, TrainingWorkload(eta=eta, bits=8, **settings))

    rate = run().eta
    for shift, factor in ((4, 1.4), (8, 0.75), (23, 1.0)):
        of_l2 = run(l2=factor * 2.0**-shift / rate)
        assert of_l2.l2_shift == of_l2.settings(1)["l2_shift"] == of_l2.training.l2_shift == shift
        assert of_l2.l2 == 2.0**-shift / rate
        said = next(line for line in text.about(of_l2) if line.startswith("L2"))
        assert said.startswith(f"L2: lambda = {of_l2.l2:.3g} for the {of_l2.requested.l2:g} req")
        alike = run(l2_shift=shift)
        weights = np.full(4, 1 << 20)
        assert (of_l2.golden(weights)[0] == alike.golden(weights)[0]).all()
        assert (of_l2.float_epoch(np.ones(4)) == alike.float_epoch(np.ones(4))).all()
    assert run(l2=0).l2_shift == run().l2_shift == 0
    for factor in (1.5 * 2.0**-4, 0.7 * 2.0**-23):
        with pytest.raises(ValueError, match=r"l2 must be from \S+ to \S+ with eta = "):
            run(l2=factor / rate)


def test_a_fit_that_does_not_converge_says_so(rng, monkeypatch):
    monkeypatch.setattr("sim.p4sgd.reference.WORK", 1)
    monkeypatch.setattr("sim.p4sgd.reference.FEWEST", 2)
    for loss in Loss:
        reference = Reference.fit(TrainingRun(noisy(rng, loss), L2, TrainingWorkload(loss=loss)))
        assert not reference.converged
        assert reference.sentence.endswith("; it had not converged after 2 iterations")


def test_what_an_accuracy_is_compared_with_is_said(rng, monkeypatch):
    data = noisy(rng, Loss.LOGISTIC)
    comparison = trained(data, epochs=1)
    assert comparison.larger_class["accuracy"] < text.UNEQUAL
    assert list(text.references(comparison)) == []
    comparison.reference = Reference.fit(comparison.training)
    (line,) = text.references(comparison)
    fitted = comparison.reference
    assert line == (
        "scikit-learn's LogisticRegression(C=inf), fitted to the same samples, has training loss"
        f" {shown_loss(fitted.loss)}, training accuracy {fitted.accuracy:.2%}; test loss"
        f" {shown_loss(fitted.test_loss)}, test accuracy {fitted.test_accuracy:.2%}"
    )
    assert comparison.details()["reference"]["sentence"] == line
    comparison.reference = None
    monkeypatch.setattr(text, "is_there", lambda: False)
    assert list(text.references(comparison)) == [MISSING]


def test_losses_keep_their_digits():
    shown = [shown_loss(loss) for loss in (0, 1.234e-12, 0.35426, 1.46467, 1798.534)]
    assert shown == ["0.00000", "1.23e-12", "0.35426", "1.46467", "1798.53"]


@pytest.mark.parametrize("positive", [False, True])
def test_classes_of_unequal_size_are_said(rng, positive):
    labels = np.arange(100) % 5 == 0
    test = DataSet("few", rng.random((10, 3)), ((np.arange(10) == 1) ^ positive) * 1.0, "a")
    few = DataSet("few", rng.random((100, 3)), (labels ^ positive) * 1.0, "a", test=test)
    comparison = trained(few, epochs=1, reference=False)
    assert comparison.details()["data"]["larger_class"] == {
        "positive": positive,
        "accuracy": 0.8,
        "test_accuracy": 0.9,
    }
    (line,) = text.references(comparison)
    assert line == (
        f"80.00% of the training samples are {'positive' if positive else 'negative'}: always"
        " guessing so has training accuracy 80.00%, test accuracy 90.00%"
    )


def test_the_picture_reaches_no_farther_than_the_curves(rng, tmp_path, monkeypatch):
    comparison, drawn = trained(noisy(rng, Loss.LOGISTIC), epochs=2), []
    monkeypatch.setattr(training_report, "over_epochs", lambda axis, *_: drawn.append(axis))
    fitted = Reference.fit(comparison.training)
    for reference in (fitted, replace(fitted, loss=9.0, test_loss=0.5)):
        comparison.reference = reference
        training_report.plot(comparison, "it", tmp_path / "training.png")
        loss, accuracy = drawn[-2:]
        low, high = loss.get_ylim()
        assert 0 < low < high < 1.5
        levels = {line.get_label(): [*line.get_ydata()] for line in loss.lines[6:]}
        assert levels == {
            f"scikit-learn: {reference.loss:.4g}": [reference.loss] * 2 * (reference.loss < 9),
            f"scikit-learn, test: {reference.test_loss:.4g}": [reference.test_loss] * 2,
        }
        assert accuracy.lines[6].get_ydata()[0] == reference.accuracy
