"""Trains a graph network in whole numbers, on workers that each own some of the vertices.

Every number that a worker computes is of one vertex, or a part of a sum of 64 bits that is rounded
once all parts are added. So weights are the same, bit for bit, however vertices are shared out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.golden.arithmetic import Integers, Step, round_shift, saturate
from sim.switchgnn.gcn.aggregator import Aggregator
from sim.switchgnn.gcn.fixed_point import (
    GRADIENT_FRACTION,
    VALUE_FRACTION,
    WEIGHT_FRACTION,
    product,
    rounded,
    to_fixed,
)
from sim.switchgnn.gcn.network import Network
from sim.switchgnn.gcn.problem import Problem
from sim.switchgnn.gcn.propagation import Propagation
from sim.switchgnn.gcn.scaling import factors_of
from sim.switchgnn.gcn.softmax import softmax
from sim.switchgnn.gcn.workload import Norm

MOMENTUM_BITS = 45  #: width of a momentum; with the bits of a step's mantissa it fits 64
MOMENTUM_SHIFT = 3  #: a step keeps all but 2^-3 of the one before, its momentum
Shares = list[Integers]  #: an array for each worker, with a row for each of its vertices
#: begins to add up the workers' parts of a gradient; returns what waits for the sum
Reduce = Callable[[Sequence[Integers]], Callable[[], Integers]]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Says how weights follow from gradients."""

    eta: float  #: learning rate
    l2_shift: int  #: weights lose 2^-N of themselves in each epoch; 0: nothing
    bits: int  #: width of a feature that is sent
    norm: Norm = Norm.SYMMETRIC  #: what a layer makes of a vertex and its neighbours


class Training:
    """Trains a network, all vertices at once in each epoch."""

    def __init__(
        self,
        problem: Problem,
        network: Network,
        schedule: Schedule,
        weights: Sequence[Integers],
        *,
        owner: NDArray[np.integer] | None = None,
        forward: Aggregator | None = None,
        backward: Aggregator | None = None,
    ) -> None:
        """Let ``owner`` name the worker of each vertex; without it one worker owns all.

        ``forward`` adds along the edges, ``backward`` against them: the same for an undirected
        graph. A single worker has neither.
        """
        self.problem, self.network, self.schedule = problem, network, schedule
        self.weights = list(weights)
        self.momentum = [np.zeros_like(each) for each in weights]
        self.reduce: Reduce = added
        self.step = Step.of(schedule.eta / max(1, problem.train.sum()))
        owner = np.zeros(problem.vertices, np.int64) if owner is None else owner
        self.shares = [np.flatnonzero(owner == worker) for worker in range(int(owner.max()) + 1)]
        adjacency, bits, norm = problem.adjacency, schedule.bits, schedule.norm
        self.forward = Propagation(adjacency, self.shares, forward, bits, factors_of(norm))
        self.backward = self.forward
        if problem.directed:
            adjacency = adjacency.T.tocsr()
        if problem.directed or norm is Norm.MEAN:
            factors = factors_of(norm, backward=True)
            self.backward = Propagation(adjacency, self.shares, backward, bits, factors)
        inputs = to_fixed(problem.features, VALUE_FRACTION)
        self.inputs: Shares = [inputs[share] for share in self.shares]
        self.before_weights: list[Shares] = []  #: for each layer: what its weights multiply
        self.outputs: list[Shares] = []  #: for each layer: its output before ReLU

    @property
    def saturations(self) -> int:
        """Count the features that did not fit their bits, of all epochs."""
        both = {id(each): each for each in (self.forward, self.backward)}
        return sum(each.saturations for each in both.values())

    @property
    def logits(self) -> Integers:
        """Return what the last forward pass gives each class: [vertices, classes]."""
        result = np.zeros((self.problem.vertices, self.network.classes), np.int64)
        for share, outputs in zip(self.shares, self.outputs[-1], strict=True):
            result[share] = outputs
        return result

    def look(self) -> Integers:
        """Do a forward pass; return the logits."""
        self.before_weights, self.outputs = [], []
        values = self.inputs
        for number, layer in enumerate(self.network.layers):
            if layer.aggregates_first:
                values = self.forward(values, number, VALUE_FRACTION)
            self.before_weights.append(values)
            values = multiplied(values, self.weights[number])
            if not layer.aggregates_first:
                values = self.forward(values, number, VALUE_FRACTION)
            self.outputs.append(values)
            values = [np.maximum(each, 0) for each in values]
        return self.logits

    def learn(self) -> None:
        """Do the backward pass for what :meth:`look` has done, and change the weights."""
        layers = self.network.layers
        gradients = self.of_loss()
        result: list[Callable[[], Integers]] = []
        for number in reversed(range(len(layers))):
            name = len(layers) + number
            if not layers[number].aggregates_first:
                gradients = self.backward(gradients, name, GRADIENT_FRACTION)
            pairs = zip(self.before_weights[number], gradients, strict=True)
            parts = [product(values.T, slope) for values, slope in pairs]
            result.insert(0, self.reduce(parts))
            if number == 0:
                break
            gradients = multiplied(gradients, self.weights[number].T)
            if layers[number].aggregates_first:
                gradients = self.backward(gradients, name, GRADIENT_FRACTION)
            below = zip(gradients, self.outputs[number - 1], strict=True)
            gradients = [np.where(outputs > 0, slope, 0) for slope, outputs in below]
        for number, gradient in enumerate(result):
            self.change(number, gradient())

    def of_loss(self) -> Shares:
        """Return the gradient of the cross entropy at the logits: softmax less the label.

        It is that of a sum over the training vertices; the step has the division by their number.
        """
        result = []
        for share, logits in zip(self.shares, self.outputs[-1], strict=True):
            slope = np.zeros_like(logits)
            taught = np.flatnonzero(self.problem.train[share])
            slope[taught] = softmax(logits[taught])
            slope[taught, self.problem.labels[share[taught]]] -= 1 << GRADIENT_FRACTION
            result.append(slope)
        return result

    def change(self, number: int, gradient: Integers) -> None:
        """Step a layer's weights along their gradient of 64 bits."""
        stored = self.momentum[number] - round_shift(self.momentum[number], MOMENTUM_SHIFT)
        grown = stored + round_shift(gradient, VALUE_FRACTION)
        self.momentum[number] = saturate(grown, MOMENTUM_BITS)[0]
        shift = self.step.exponent + GRADIENT_FRACTION - WEIGHT_FRACTION
        taken = round_shift(self.momentum[number] * self.step.mantissa, shift)
        weights = self.weights[number]
        if self.schedule.l2_shift:
            taken = taken + round_shift(weights, self.schedule.l2_shift)
        self.weights[number] = saturate(weights - taken)[0]


def multiplied(values: Shares, weights: Integers) -> Shares:
    """Return each worker's rows times the weights, with as many fraction bits as before."""
    return [rounded(product(each, weights), WEIGHT_FRACTION) for each in values]


def added(parts: Sequence[Integers]) -> Callable[[], Integers]:
    """Add up the workers' parts, in any order, as the sum is exact; return what gives the sum."""
    return lambda: np.sum(parts, axis=0)
