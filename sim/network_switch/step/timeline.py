"""Finds, in what workers' logs say, when each stage of a training step worked, and with what else.

A stage of a worker works from a beat to the next one if they are no more than ``gap`` cycles apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: what moves in each stage, as a worker's log has it
STAGES = {
    "gather": ("reads", "rows"),
    "up": ("features",),
    "down": ("sums",),
    "reduce": ("nic_up", "nic_down"),
}
NAMES = {"gather": "gather", "up": "features up", "down": "sums down", "reduce": "all-reduce"}
PAIRS = {f"{pair[0]}_{pair[1]}_cycles": pair for pair in combinations(STAGES, 2)}
AGGREGATION, REDUCTION = "aggregation", "all-reduce"


class Mark(NamedTuple):
    """Says when a host did something: from ``launched`` to ``ended`` hardware works by itself.

    Before and behind this, hosts write and read memories and start jobs.
    """

    name: str  #: AGGREGATION or REDUCTION
    begun: int
    launched: int
    ended: int
    read: int

    @property
    def host(self) -> int:
        """Return the cycles in which only hosts work."""
        return self.launched - self.begun + self.read - self.ended


@dataclass(frozen=True)
class Timeline:
    """Has the intervals of all stages of all workers, and what hosts did when."""

    marks: Sequence[Mark]
    #: by worker and stage: [intervals, 2], the first cycle of each and the one behind its last
    intervals: Sequence[Mapping[str, NDArray[np.int64]]]
    aggregations: int  #: aggregations of an epoch
    compute: Sequence[int]  #: cycles of compute before each of them, and behind the last

    @property
    def epochs(self) -> list[tuple[int, int]]:
        """Return the first cycle of each whole epoch, and the one behind its last."""
        begins = [mark.begun for mark in self.marks if mark.name == AGGREGATION]
        begins = begins[:: self.aggregations]
        return [*pairwise(begins)]

    def figures(self, begin: int, end: int) -> dict[str, float]:
        """Return the cycles of each stage from ``begin`` to ``end``, and of each pair at a time.

        Those of stages are of a worker, on average.
        """
        result = dict.fromkeys((*(f"{name}_cycles" for name in STAGES), *PAIRS), 0.0)
        for stages in self.intervals:
            works = {name: during(spans, begin, end) for name, spans in stages.items()}
            for name, each in works.items():
                result[f"{name}_cycles"] += each.sum() / len(self.intervals)
            for name, (first, second) in PAIRS.items():
                result[name] += (works[first] & works[second]).sum() / len(self.intervals)
        inside = [mark for mark in self.marks if begin <= mark.begun < end]
        return result | {
            "host_cycles": float(sum(mark.host for mark in inside)),
            "compute_cycles": float(sum(self.compute)),
            "step_cycles": float(end - begin),
        }

    def shifts(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Return where compute is in an epoch: the cycle before which it is, and how long it takes.

        The last one is before the first wait for an all-reduce, whose gradients it computes.
        """
        inside = [mark for mark in self.marks if begin <= mark.begun < end]
        places = [mark.begun for mark in inside if mark.name == AGGREGATION]
        places += [mark.begun for mark in inside if mark.name == REDUCTION][:1]
        return [*zip(places, self.compute, strict=True)]


def intervals(log: Any, gaps: Mapping[str, int]) -> dict[str, NDArray[np.int64]]:
    """Return the intervals of each stage in a worker's log; ``gaps`` are by stage."""
    result = {}
    for stage, names in STAGES.items():
        moves = np.any([log[name] != 0 for name in names], axis=0)
        cycles = log["cycle"][moves].astype(np.int64)
        breaks = np.flatnonzero(np.diff(cycles) > gaps[stage])
        firsts = cycles[np.concatenate([[0], breaks + 1])] if cycles.size else cycles
        lasts = cycles[np.concatenate([breaks, [-1]])] if cycles.size else cycles
        result[stage] = np.stack([firsts, lasts + 1], axis=1)
    return result


def during(spans: NDArray[np.int64], begin: int, end: int) -> NDArray[np.bool_]:
    """Return for each cycle from ``begin`` to ``end`` whether it is in one of ``spans``."""
    result = np.zeros(end - begin, bool)
    for first, last in np.clip(spans - begin, 0, end - begin).tolist():
        result[first:last] = True
    return result
