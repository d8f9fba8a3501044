"""Trains by mini-batch SGD in float64, which fixed-point training is compared with."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sim.golden.choices import Loss

Floats = NDArray[np.float64]
Features: TypeAlias = Any
"""float64 [S, D]: a NumPy array or a SciPy sparse matrix in CSR form."""


def derivative(loss: Loss, z: Floats, labels: Floats) -> Floats:
    """Return the loss derivative at predictions z[S]: labels are reals, 0/1 or -1/+1 by loss."""
    if loss is Loss.LINEAR:
        return z - labels
    if loss is Loss.LOGISTIC:
        return expit(z) - labels
    return np.where(labels * z < 1, -labels, 0.0)


def epoch(
    features: Features,
    labels: Floats,
    weights: Floats,
    *,
    loss: Loss,
    batch: int,
    step: float,
    l2_shift: int = 0,
    seen: Callable[[Features], Features] = lambda samples: samples,
) -> Floats:
    """Train one epoch on features[S, D] in order, as ``seen`` makes them of some samples' features,
    and return the new weights[D].

    The step is eta / batch, also for an incomplete last mini-batch. With l2_shift a mini-batch
    ends in weights * 2**-l2_shift being taken off, the weights being those of its start.
    """
    decay = 2.0**-l2_shift if l2_shift else 0.0
    for start in range(0, features.shape[0], batch):
        samples = seen(features[start : start + batch])
        slope = derivative(loss, samples @ weights, labels[start : start + batch])
        weights = weights * (1 - decay) - step * (samples.T @ slope)
    return weights


def evaluate(
    loss: Loss,
    features: Features,
    labels: Floats,
    weights: Floats,
    intercept: Floats | float = 0.0,
) -> tuple[float, float | None]:
    """Return mean loss and, for a classification loss, accuracy: z > 0 predicts the positive.

    Of weights [classes, D] and labels [classes, S], one against the rest, the largest z predicts
    the class, and the loss is the mean of all classes' losses.
    """
    z = np.transpose(features @ weights.T + intercept)
    if loss is Loss.LINEAR:
        return float(np.mean((z - labels) ** 2) / 2), None
    if loss is Loss.LOGISTIC:
        losses = np.logaddexp(0, z) - labels * z
    else:
        losses = np.maximum(0, 1 - labels * z)
    right = z.argmax(0) == labels.argmax(0) if z.ndim > 1 else (z > 0) == (labels > 0)
    return float(np.mean(losses)), float(np.mean(right))
