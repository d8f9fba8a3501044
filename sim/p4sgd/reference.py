"""Fits scikit-learn's model of a training's loss to the same samples: a line to compare with."""

import math
import warnings
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from sim.golden.choices import Loss
from sim.p4sgd.training import TrainingRun

MISSING = "there is no reference, which needs scikit-learn: pip install 'ingather[data]'"
WORK = 1 << 34  #: features that all iterations of a fit may read, which takes about a minute
FEWEST = 20  #: iterations that a fit may take whatever the data are
MOST = {Loss.LINEAR: 1000, Loss.LOGISTIC: 1000, Loss.HINGE: 10_000}
"""Iterations that a fit may take. Those of the hinge loss are passes of coordinate descent."""


def shown_loss(loss: float) -> str:
    """Return a loss as text that keeps its digits, be it tiny or huge."""
    return f"{loss:.2e}" if 0 < loss < 1e-4 else f"{loss:.6g}" if loss >= 100 else f"{loss:.5f}"


def is_there() -> bool:
    """Return whether scikit-learn is installed, without importing it."""
    return find_spec("sklearn") is not None


def model_of(run: TrainingRun, limit: int) -> Any:
    """Return scikit-learn's unfitted model of the run's loss and L2 term.

    It takes features as they are scaled for the hardware, with the constant one of a bias, whose
    weight the L2 term shrinks as the hardware's does. LinearSVC cannot be without an L2 term: if
    the hardware has none, it has its default.
    """
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC

    ridge = run.l2 * run.samples  # of a sum of losses, where ``l2`` is that of their mean
    alike: dict[str, Any] = {"fit_intercept": False, "max_iter": limit}
    if run.requested.loss is Loss.LINEAR:
        return Ridge(alpha=ridge, solver="lsqr", tol=1e-6, **alike)
    if run.requested.loss is Loss.LOGISTIC:
        return LogisticRegression(C=1 / ridge if ridge else np.inf, **alike)
    return LinearSVC(loss="hinge", C=1 / ridge if ridge else 1.0, random_state=1, **alike)


@dataclass(frozen=True)
class Reference:
    """Describes a fitted model by its losses and accuracies, which are None where a row's are."""

    model: str  #: scikit-learn's name of it, with its strength of L2
    iterations: int
    converged: bool
    loss: float
    accuracy: float | None
    test_loss: float | None
    test_accuracy: float | None

    @classmethod
    def fit(cls, run: TrainingRun) -> "Reference":
        """Fit the model to the run's training samples, and evaluate it as the run's weights are."""
        from sklearn.exceptions import ConvergenceWarning

        limit = min(MOST[run.requested.loss], max(FEWEST, WORK // run.data.features.size))
        model = model_of(run, limit)
        features, several = run.quantiser.scaled(run.data.features), run.classes > 1
        iterations, coefficients = 0, np.zeros((run.classes, run.features))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for own, labels in zip(coefficients, np.atleast_2d(run.targets), strict=True):
                if several and np.all(labels == labels[0]):
                    continue  # it has no samples, or all
                own[:] = model.fit(features, labels).coef_.ravel()
                iterations = max(iterations, int(np.max(model.n_iter_)))
        failed = any(issubclass(each.category, ConvergenceWarning) for each in said)
        original = coefficients.reshape(run.shape) / run.quantiser.scale
        strength = next(name for name in ("C", "alpha") if hasattr(model, name))
        return cls(
            f"{type(model).__name__}({strength}={getattr(model, strength):.3g})"
            + ", one against the rest" * several,
            iterations,
            iterations < limit and not failed,
            *run.evaluate(original),
            *run.evaluate_test(original),
        )

    @property
    def sentence(self) -> str:
        """Return in a sentence which model was fitted, and how good it is."""
        result = f"scikit-learn's {self.model}, fitted to the same samples, has"
        for samples, kind in (("training", ""), ("test", "test_")):
            loss = getattr(self, f"{kind}loss")
            accuracy = getattr(self, f"{kind}accuracy")
            if loss is not None:
                result += ";" * (samples == "test") + f" {samples} loss {shown_loss(loss)}"
                result += "" if accuracy is None else f", {samples} accuracy {accuracy:.2%}"
        if not self.converged:
            result += f"; it had not converged after {self.iterations:,} iterations"
        return result

    def as_json(self) -> dict[str, Any]:
        """Return all fields and the sentence, with None for what is not finite."""
        fields = asdict(self) | {"sentence": self.sentence}
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in fields.items()
        }
