"""Evaluates how good logits are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sim.golden.arithmetic import Integers
from sim.switchgnn.gcn.fixed_point import VALUE_FRACTION
from sim.switchgnn.gcn.problem import Problem


@dataclass(frozen=True)
class Quality:
    """Holds cross entropy and accuracy of the training vertices and of the test vertices."""

    loss: float
    accuracy: float
    test_loss: float
    test_accuracy: float


def quality(problem: Problem, logits: NDArray[np.float64]) -> Quality:
    """Return the quality of logits [vertices, classes]."""
    return Quality(*judged(problem, logits, problem.train), *judged(problem, logits, problem.test))


def fixed_quality(problem: Problem, logits: Integers) -> Quality:
    """Return the quality of logits in fixed point."""
    return quality(problem, np.ldexp(logits.astype(np.float64), -VALUE_FRACTION))


def judged(
    problem: Problem, logits: NDArray[np.float64], among: NDArray[np.bool_]
) -> tuple[float, float]:
    """Return mean cross entropy and accuracy of the vertices ``among``."""
    result, labels = logits[among], problem.labels[among]
    right = result[np.arange(len(result)), labels]
    return float((logsumexp(result, 1) - right).mean()), float((result.argmax(1) == labels).mean())
