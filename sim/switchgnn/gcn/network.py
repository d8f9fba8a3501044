"""Describes a graph network: its layers, which side of each is aggregated, its first weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sim.golden.arithmetic import Integers
from sim.switchgnn.gcn.fixed_point import WEIGHT_FRACTION, to_fixed


@dataclass(frozen=True)
class Layer:
    """Describes a layer that computes A X W, of X [vertices, inputs] and W [inputs, outputs]."""

    inputs: int
    outputs: int

    @property
    def aggregates_first(self) -> bool:
        """Return whether the layer computes (A X) W, as X is no wider, or A (X W).

        Of two that are as wide it is X, which in the first layer needs no backward pass.
        """
        return self.inputs <= self.outputs

    @property
    def width(self) -> int:
        """Return the number of features of the layer's aggregations."""
        return min(self.inputs, self.outputs)


@dataclass(frozen=True, kw_only=True)
class Network:
    """Describes ``count`` layers with ReLU between them, ``hidden`` features wide inside."""

    inputs: int  #: features of a vertex
    hidden: int
    classes: int
    count: int

    @property
    def layers(self) -> list[Layer]:
        """Return the layers in the order of the forward pass."""
        widths = [self.inputs, *[self.hidden] * (self.count - 1), self.classes]
        return [Layer(*pair) for pair in pairwise(widths)]

    @property
    def aggregations(self) -> list[int]:
        """Return the widths of a forward and a backward pass, in their order.

        The first layer's backward pass aggregates only if it has not done so before its product:
        nobody wants the gradient of the inputs.
        """
        layers = self.layers
        backward = layers[1:] if layers[0].aggregates_first else layers
        return [layer.width for layer in (*layers, *reversed(backward))]

    def first_weights(self, seed: int) -> list[Integers]:
        """Draw Glorot's first weights: uniform, of a variance that keeps activations'."""
        return list(self._drawn(np.random.default_rng(seed)))

    def _drawn(self, rng: np.random.Generator) -> Iterator[Integers]:
        for layer in self.layers:
            limit = np.sqrt(6 / (layer.inputs + layer.outputs))
            drawn = rng.uniform(-limit, limit, (layer.inputs, layer.outputs))
            yield to_fixed(drawn, WEIGHT_FRACTION)
