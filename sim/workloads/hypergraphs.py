"""Partitions hypergraphs by Mt-KaHyPar: few parts for each net."""

import os
from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.workloads.files import InputError

SLACK = 0.03  #: share of a part's size over the mean that it may have if there is room

Ints = NDArray[np.int32]


def parts_of(
    nets: Sequence[Sequence[int]],
    vertices: int,
    parts: int,
    seed: int,
    *,
    most: int | None = None,
    weights: Sequence[int] | None = None,
) -> Ints:
    """Return the part of each vertex, such that the parts of all nets, less one each, are few.

    A part has at most ``most`` vertices, or by ``weights`` up to SLACK more than the mean. The same
    seed gives the same parts. InputError without Mt-KaHyPar (package mtkahypar).
    """
    mtkahypar, library = _mtkahypar()
    mtkahypar.set_seed(seed)
    context = library.context_from_preset(mtkahypar.PresetType.DETERMINISTIC)
    context.set_partitioning_parameters(parts, SLACK, mtkahypar.Objective.KM1)
    if most is not None:
        context.set_individual_target_block_weights([most] * parts)
    context.logging = False
    weighted = () if weights is None else (weights, [1] * len(nets))
    hypergraph = library.create_hypergraph(context, vertices, len(nets), nets, *weighted)
    return np.asarray(hypergraph.partition(context).get_partition(), np.int32)


@cache
def _mtkahypar() -> tuple[ModuleType, Any]:
    """Return the module, and its library, which a process starts once."""
    try:
        import mtkahypar
    except ImportError:
        text = "the partitioner mtkahypar is not there: pip install 'ingather[hypergraphs]'"
        raise InputError(text) from None
    return mtkahypar, mtkahypar.initialize(os.cpu_count() or 1)
