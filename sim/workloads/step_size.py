"""Chooses a learning rate that suits the data, and how it changes between epochs."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.golden.choices import EtaSchedule, Loss

CURVATURE = {Loss.LINEAR: 1.0, Loss.LOGISTIC: 0.25, Loss.HINGE: 1.0}
"""Bounds the second derivative of a loss in z; that of the hinge bounds its first derivative."""

ITERATIONS = 30
"""Of the power method. Five find the eigenvalue to within a fifth, thirty to within a percent."""


@dataclass(frozen=True)
class Smoothness:
    """Says how steeply the gradient of a mini-batch can change with the weights."""

    eigenvalue: float  # the largest of features.T @ features / S
    longest: float  # the largest squared norm of a sample
    expected: float  # for a mini-batch, before the loss's curvature

    @classmethod
    def of(
        cls, features: NDArray[np.floating], batch: int, *, center: bool = False
    ) -> "Smoothness":
        """Compute that of features[S, D], as the hardware sees them, in mini-batches of ``batch``.

        A mini-batch of b of n samples has, expected over all such choices, the smoothness

            n (b - 1) / (b (n - 1)) eigenvalue + (n - b) / (b (n - 1)) longest

        times the curvature of the loss: Gower, Loizou, Qian, Sailanbayev, Shulgin, Richtarik,
        "SGD: General Analysis and Improved Rates", ICML 2019, proposition 3.8. ``center`` asks for
        that of the features without their means.
        """
        count, batch = len(features), min(batch, len(features))
        mean = features.mean(axis=0) * center
        norms = np.einsum("ij,ij->i", features, features) - 2 * (features @ mean) + mean @ mean
        longest, eigenvalue = float(norms.max()), _largest_eigenvalue(features, mean)
        expected = eigenvalue
        if batch < count:
            whole = count * (batch - 1) / (batch * (count - 1))
            single = (count - batch) / (batch * (count - 1))
            expected = whole * eigenvalue + single * longest
        return cls(eigenvalue, longest, expected)

    def learning_rate(self, loss: Loss) -> float:
        """Return 1 / (curvature x expected): half of what could make a quadratic loss grow.

        The rate is 1 for data that are all zeros.
        """
        return 1 / (CURVATURE[loss] * self.expected) if self.expected else 1.0


def scheduled(schedule: EtaSchedule, eta: float, period: int, epoch: int) -> float:
    """Return the learning rate of an epoch, from 1 on: ``eta`` is that of the first.

    The inverse is of Robbins and Monro, "A Stochastic Approximation Method", 1951; the cosine with
    warm restarts of Loshchilov and Hutter, "SGDR", ICLR 2017, equation 5 with a rate of 0 as the
    least, which no epoch reaches.
    """
    done = epoch - 1
    if schedule is EtaSchedule.INVERSE:
        return eta / (1 + done / period)
    if schedule is EtaSchedule.RESTARTS:
        return eta * (1 + math.cos(math.pi * (done % period) / period)) / 2
    return eta


def _largest_eigenvalue(features: NDArray[np.floating], mean: NDArray[np.floating]) -> float:
    """Return that of X.T @ X / S for X = features - mean, by the power method."""
    vector, eigenvalue = np.random.default_rng(1).random(features.shape[1]) + 0.5, 0.0
    for _ in range(ITERATIONS):
        vector = vector / np.linalg.norm(vector)
        along = features @ vector - mean @ vector
        vector = (features.T @ along - mean * along.sum()) / len(features)
        eigenvalue = float(np.linalg.norm(vector))
        if not eigenvalue:
            break
    return eigenvalue
