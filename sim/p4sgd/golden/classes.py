"""Specifies the training of several classes: a model for each, trained by itself on all samples."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.golden.arithmetic import Integers
from sim.golden.choices import Loss
from sim.p4sgd.golden.sgd import Saturations


def one_against_the_rest(labels: NDArray, classes: int, loss: Loss) -> NDArray[np.float64]:
    """Return the labels [classes, S] of class numbers [S]: 1 for its own samples, else 0 or -1."""
    own = np.asarray(labels) == np.arange(classes)[:, np.newaxis]
    return np.where(own, 1.0, -1.0 if loss is Loss.HINGE else 0.0)


def train_classes(
    train: Callable[[Integers, Integers], tuple[Integers, Saturations]],
    labels: ArrayLike,
    weights: ArrayLike,
) -> tuple[Integers, Saturations]:
    """Return the weights [classes, D] of all classes, and the sum of their saturations.

    ``train`` trains one on labels [S] and weights [D]. With labels [S] there is a single class.
    """
    labels, weights = np.asarray(labels), np.asarray(weights)
    if labels.ndim == 1:
        return train(labels, weights)
    results = [train(*own) for own in zip(labels, weights, strict=True)]
    return np.stack([own for own, _ in results]), sum((n for _, n in results), Saturations())
