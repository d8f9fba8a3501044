"""Runs a gather on the model: the RTL's parameters and counters, thousands of times faster."""

import time
from collections.abc import Callable

from sim.netsparse.gather import Gather
from sim.netsparse.gather_job import GatherResult
from sim.netsparse.model.counts import result_of
from sim.netsparse.model.library import Model
from sim.netsparse.model.shape import arrays_of
from sim.netsparse.surroundings.cluster_system import ClusterParams

SLICE = 2_000  #: cycles between reports of progress


class ModelStuckError(RuntimeError):
    """Reports a modelled gather that did not end in time."""


def model_gather(
    gather: Gather,
    params: ClusterParams,
    on_progress: Callable[[int, float], None] = lambda cycles, share: None,
) -> GatherResult:
    """Carry a gather out on the model; :class:`ModelStuckError` if it does not end in time.

    ``on_progress`` hears the cycle, and the share of the idxs that have been consumed.
    """
    arrays, began = arrays_of(gather, params), time.monotonic()
    total = max(1, arrays.stream.size)
    with Model(arrays) as model:
        cycle = 0
        while model.advance(cycle + SLICE) == cycle + SLICE:
            cycle += SLICE
            on_progress(cycle, model.consumed / total)
            if cycle > gather.timeout_cycles:
                raise ModelStuckError(f"the model has not ended after {cycle:,} cycles")
        return result_of(model, gather, params, time.monotonic() - began)
