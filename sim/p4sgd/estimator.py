"""Makes scikit-learn's estimator of trained weights, for new data in their original units."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.golden.choices import Loss
from sim.workloads.arrays import Archive
from sim.workloads.files import InputError


def load_estimator(path: str | Path) -> Any:
    """Return the estimator of a ``weights.npz`` that a training has written; see `estimator_of`.

    Raises InputError for another file.
    """
    archive = Archive(Path(path))
    needed = ("original", "intercept", "has_bias", "loss", "classes")
    if lacking := [name for name in needed if name not in archive]:
        raise InputError(f"{path}: not the weights of a training, without {', '.join(lacking)}")
    return estimator_of({name: archive[name] for name in needed})


def estimator_of(weights: Mapping[str, NDArray[Any]]) -> Any:
    """Return scikit-learn's LogisticRegression, LinearSVC or Ridge with these weights, by the loss.

    It is fitted, and takes samples as those that were trained on came, without the constant feature
    of a bias. ``classes_`` are the labels that were negative and positive, or 0 and 1 where several
    labels were one class. Of weights [classes, features], the largest activation predicts the
    class, and the probabilities of LogisticRegression are its own, the softmax of activations. To
    fit it again trains scikit-learn's own model.
    """
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC

    loss, has_bias = list(Loss)[int(weights["loss"])], bool(weights["has_bias"])
    original, intercept = weights["original"], weights["intercept"]
    if has_bias:
        original, intercept = original[..., :-1], intercept + original[..., -1]
    kinds = {Loss.LINEAR: Ridge, Loss.LOGISTIC: LogisticRegression, Loss.HINGE: LinearSVC}
    result = kinds[loss](fit_intercept=has_bias)
    result.n_features_in_ = original.shape[-1]
    if loss is Loss.LINEAR:
        result.coef_, result.intercept_ = original, float(intercept)
    else:
        result.coef_, result.intercept_ = np.atleast_2d(original), np.atleast_1d(intercept)
        result.classes_ = weights["classes"]
    return result
