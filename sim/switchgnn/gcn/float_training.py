"""Trains the same network in float64, as a reference: nothing is rounded or sent."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array

from sim.golden.arithmetic import Integers
from sim.switchgnn.gcn.fixed_point import WEIGHT_FRACTION, by_rows
from sim.switchgnn.gcn.problem import Problem
from sim.switchgnn.gcn.training import MOMENTUM_SHIFT, Schedule
from sim.switchgnn.gcn.workload import Norm

Floats = NDArray[np.float64]


class FloatTraining:
    """Trains a network of layers A X W, from the first weights of an integer training."""

    def __init__(self, problem: Problem, schedule: Schedule, weights: Sequence[Integers]) -> None:
        self.problem, self.schedule = problem, schedule
        self.weights: list[Floats] = [np.ldexp(each, -WEIGHT_FRACTION) for each in weights]
        self.momentum = [np.zeros_like(each) for each in self.weights]
        self.normalised = normalised(problem.adjacency, schedule.norm)
        self.inputs: list[Floats] = []  #: for each layer: its input
        self.outputs: list[Floats] = []  #: for each layer: its output before ReLU

    def look(self) -> Floats:
        """Do a forward pass; return the logits."""
        self.inputs, self.outputs = [], []
        values = self.problem.features
        for weights in self.weights:
            self.inputs.append(values)
            self.outputs.append(self.normalised @ by_rows(values, weights))
            values = np.maximum(self.outputs[-1], 0)
        return self.outputs[-1]

    def learn(self) -> None:
        """Do the backward pass for what :meth:`look` has done, and change the weights."""
        train, result = self.problem.train, list[Floats]()
        slope = np.zeros_like(self.outputs[-1])
        slope[train] = softmax(self.outputs[-1][train])
        slope[train, self.problem.labels[train]] -= 1
        slope /= train.sum()
        for number in reversed(range(len(self.weights))):
            slope = self.normalised.T @ slope
            result.insert(0, self.inputs[number].T @ slope)
            slope = by_rows(slope, self.weights[number].T) * (self.inputs[number] > 0)
        decay = 2.0**-self.schedule.l2_shift if self.schedule.l2_shift else 0.0
        for number, gradient in enumerate(result):
            self.momentum[number] = (1 - 2.0**-MOMENTUM_SHIFT) * self.momentum[number] + gradient
            taken = self.schedule.eta * self.momentum[number] + decay * self.weights[number]
            self.weights[number] = self.weights[number] - taken


def normalised(adjacency: csr_array, norm: Norm) -> csr_array:
    """Return D^-1/2 (A + I) D'^-1/2, for edges into and out of each vertex, or D^-1 (A + I)."""
    looped = csr_array(adjacency + eye_array(adjacency.indptr.size - 1))
    into, out_of = (np.asarray(looped.sum(axis)) for axis in (1, 0))
    if norm is Norm.MEAN:
        return csr_array(diags_array(1 / into) @ looped)
    return csr_array(diags_array(into**-0.5) @ looped @ diags_array(out_of**-0.5))


def softmax(logits: Floats) -> Floats:
    """Return the shares of e^z in each row."""
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)
