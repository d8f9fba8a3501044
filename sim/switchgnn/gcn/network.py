"""The shape of a graph network: its layers, which side of each is aggregated, first weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sim.golden.arithmetic import Integers
from sim.switchgnn.gcn.fixed_point import WEIGHT_FRACTION, to_fixed


@dataclass(frozen=True)
class Layer:
    """A layer computes A X W, of X [vertices, inputs] and W [inputs, outputs]."""

    inputs: int
    outputs: int

    @property
    def aggregates_first(self) -> bool:
        """Whether it is (A X) W, and not A (X W): the narrower side is aggregated.

        Of two that are as wide it is X, which in the first layer needs no backward pass.
        """
        return self.inputs <= self.outputs

    @property
    def width(self) -> int:
        """Features of its aggregations."""
        return min(self.inputs, self.outputs)


@dataclass(frozen=True, kw_only=True)
class Network:
    """``count`` layers with ReLU between them, ``hidden`` features wide inside."""

    inputs: int  #: features of a vertex
    hidden: int
    classes: int
    count: int

    @property
    def layers(self) -> list[Layer]:
        """Layers in the order of the forward pass."""
        widths = [self.inputs, *[self.hidden] * (self.count - 1), self.classes]
        return [Layer(*pair) for pair in pairwise(widths)]

    @property
    def aggregations(self) -> list[int]:
        """The widths of a forward pass and the backward pass behind it, in their order.

        The first layer's backward pass aggregates only if it has not done so before its product:
        nobody wants the gradient of the inputs.
        """
        layers = self.layers
        backward = layers[1:] if layers[0].aggregates_first else layers
        return [layer.width for layer in (*layers, *reversed(backward))]

    def first_weights(self, seed: int) -> list[Integers]:
        """Glorot's: uniform, of a variance that keeps that of activations."""
        return list(self._drawn(np.random.default_rng(seed)))

    def _drawn(self, rng: np.random.Generator) -> Iterator[Integers]:
        for layer in self.layers:
            limit = np.sqrt(6 / (layer.inputs + layer.outputs))
            drawn = rng.uniform(-limit, limit, (layer.inputs, layer.outputs))
            yield to_fixed(drawn, WEIGHT_FRACTION)
