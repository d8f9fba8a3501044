"""Computes normalised A X across workers: what each scales, sends, adds and gets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, eye_array

from sim.golden.arithmetic import Integers
from sim.switchgnn.gcn.aggregator import Aggregator
from sim.switchgnn.gcn.scaling import Factors, Scale, magnitude
from sim.switchgnn.golden.aggregation import aggregate


@dataclass(frozen=True)
class Part:
    """Holds what a worker has of a graph, in one direction."""

    vertices: Integers  #: vertices that the worker owns
    inside: csr_array  #: edges between them, and one from each to itself
    sources: Integers  #: factor of each as a source
    destinations: Integers  #: factor of each as a destination


class Propagation:
    """Sums along edges, with factors of both ends: y = F (A + I) F' x.

    A factor follows from the edges into a destination, or out of a source, and that from a vertex
    to itself, by :class:`Factors`.
    """

    def __init__(
        self,
        adjacency: csr_array,
        shares: Sequence[Integers],
        aggregator: Aggregator | None,
        bits: int,
        factors: Factors,
    ) -> None:
        """Take ``adjacency`` without loops, and the workers' vertices as ``shares``.

        A single worker has no ``aggregator``. Features have ``bits`` bits.
        """
        self.aggregator, self.bits = aggregator, bits
        self.saturations = 0  #: features that did not fit
        self.largest: dict[int, int] = {}  #: magnitude of the features by aggregation
        self.vertices = adjacency.indptr.size - 1
        self.parts = [part_of(adjacency, vertices, factors) for vertices in shares]

    def __call__(self, values: Sequence[Integers], name: int, fraction: int) -> list[Integers]:
        """Return Y of each worker's vertices, from the X that each one has.

        ``name`` tells one aggregation of an epoch from the others. Its scale suits what the
        features were an epoch ago, which the workers have told each other with their gradients; the
        first time they have to before they send anything.
        """
        pairs = list(zip(self.parts, values, strict=True))
        largest = max(magnitude(own, part.sources) for part, own in pairs)
        scale = Scale.fitting(self.largest.get(name) or largest, fraction, self.bits)
        self.largest[name] = largest
        features = np.zeros((self.vertices, values[0].shape[1]), np.int16)
        for part, own in pairs:
            features[part.vertices], saturations = scale.sent(own, part.sources)
            self.saturations += saturations
        between = None if self.aggregator is None else self.aggregator.aggregate(features)
        result = []
        for part in self.parts:
            sums = aggregate(part.inside, features[part.vertices])
            if between is not None:
                sums += between[part.vertices]
            result.append(scale.received(sums, part.destinations))
        return result


def part_of(adjacency: csr_array, vertices: Integers, factors: Factors) -> Part:
    """Return the part of the worker that owns ``vertices``."""
    into = np.diff(adjacency.indptr)[vertices] + 1
    out_of = np.bincount(adjacency.indices, minlength=adjacency.indptr.size - 1)[vertices] + 1
    own = adjacency[vertices][:, vertices] + eye_array(vertices.size).astype(np.int8)
    return Part(vertices, csr_array(own), factors.source(out_of), factors.destination(into))
