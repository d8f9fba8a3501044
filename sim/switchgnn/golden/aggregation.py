"""Defines what the switch and its workers compute together: Y = A X (SwitchGNN, equation 1)."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def aggregate(adjacency: csr_array, features: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the sum of every vertex's neighbours' features, exact in 64 bits.

    ``adjacency`` has a one in row v, column u for each edge from u to v: [vertices, vertices].
    ``features`` and the sums are [vertices, features].
    """
    return adjacency.astype(np.int64) @ features.astype(np.int64)


def edges_inside(adjacency: csr_array, owner: NDArray[np.integer]) -> csr_array:
    """Return the edges between vertices of the same worker, which need no switch.

    ``owner`` is the worker of each vertex.
    """
    destinations, sources = adjacency.tocoo().coords
    return _those(adjacency, owner[destinations] == owner[sources])


def edges_between(adjacency: csr_array, owner: NDArray[np.integer]) -> csr_array:
    """Return the edges between vertices of different workers."""
    destinations, sources = adjacency.tocoo().coords
    return _those(adjacency, owner[destinations] != owner[sources])


def _those(adjacency: csr_array, stored: NDArray[np.bool_]) -> csr_array:
    destinations, sources = adjacency.tocoo().coords
    ones = np.ones(int(stored.sum()), np.int64)
    return csr_array((ones, (destinations[stored], sources[stored])), adjacency.shape)
