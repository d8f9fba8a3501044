"""Samples mini-batches of a graph as GraphSAGE does: some neighbours of each vertex, by layers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Ints = NDArray[np.int64]


def mini_batch(
    graph: csr_array,
    seeds: Ints,
    fan_outs: Sequence[int],
    rng: np.random.Generator,
    repeats: bool = False,
):
    """Return the vertices whose features a mini-batch needs, each once, the ``seeds`` first.

    Each vertex of a layer brings at most ``fan_outs[layer]`` of its neighbours, drawn without
    replacement; the next layer has those that are new. With ``repeats`` a vertex is named, and
    brings neighbours, as often as it was drawn.
    """
    result = np.asarray(seeds, np.int64)
    layer = result
    for fan_out in fan_outs:
        drawn = [neighbours(graph, int(vertex), fan_out, rng) for vertex in layer]
        together = np.concatenate([np.empty(0, np.int64), *drawn])
        layer = together if repeats else np.setdiff1d(together, result)
        result = np.concatenate([result, layer])
    return result


def neighbours(graph: csr_array, vertex: int, most: int, rng: np.random.Generator) -> Ints:
    """Return at most ``most`` neighbours of a vertex: columns of its row, in no order."""
    every = graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]].astype(np.int64)
    return every if len(every) <= most else rng.choice(every, most, replace=False)
