"""Adds up features between workers: the part of a training that a switch does."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sim.switchgnn.golden.aggregation import aggregate, edges_between
from sim.switchgnn.planning.workers import WorkerPartition

#: Names what aggregators count, of all workers together.
COUNTERS = {
    "frames": "frames on all links, those that are lost included",
    "bytes": "bytes of these frames, without checksums",
    "planned_bytes": "bytes of the frames with features, host partial sums and sums, each once",
    "lost": "frames that links dropped or broke",
    "repeats": "frames that were sent before: features, sums and what asks for them",
    "rows": "rows of lists that switches read, and sums that were sent to them",
    "additions": "contributions that switches added",
    "turns": "turns, each a slice of a block of an aggregation",
    "marks": "frames with a congestion mark that switches sent",
    "halvings": "times that workers halved their rate for congestion",
    "cycles": "clock cycles of aggregations in hardware; 0 of golden models",
}


class Aggregator(Protocol):
    """Does one aggregation after the other, each of its own features, on the same edges.

    It is made once for a training and its tables are planned then; features change. Whatever it
    needs, a golden switch, a simulator of hardware, lives as long as it.
    """

    @property
    def counts(self) -> Counter[str]:
        """Return COUNTERS, counted since the aggregator was made."""
        ...

    def aggregate(self, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """Sum every vertex's neighbours' features at other workers: [vertices, width].

        ``features`` are [vertices, width], of one of the widths that it was made for. RunFailed if
        the sums do not come.
        """
        ...


#: Makes the aggregator of a graph (row: destination, column: source), the owners of its vertices,
#: and the widths that will be asked for.
MakeAggregator = Callable[[csr_array, WorkerPartition, Sequence[int]], Aggregator]


class ExactAggregator:
    """Computes A X by scipy, in 64 bits; counts nothing."""

    def __init__(
        self, adjacency: csr_array, partition: WorkerPartition, widths: Sequence[int] = ()
    ) -> None:
        self.between = edges_between(adjacency, partition.owner)
        self.counts: Counter[str] = Counter()

    def aggregate(self, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return the sums, exactly."""
        return aggregate(self.between, features)


class CheckedAggregator:
    """Compares each of another aggregator's sums with scipy's."""

    def __init__(self, checked: Aggregator, exact: ExactAggregator) -> None:
        self.checked, self.exact = checked, exact
        self.aggregations = 0  #: aggregations that have ended
        self.difference = ""  #: the first sum that is not A X, in a line

    @property
    def counts(self) -> Counter[str]:
        """Return the other aggregator's counts."""
        return self.checked.counts

    def aggregate(self, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return the other aggregator's sums, right or wrong."""
        result, right = self.checked.aggregate(features), self.exact.aggregate(features)
        self.aggregations += 1
        for vertex, feature in np.argwhere(result != right)[:1]:
            self.difference = self.difference or (
                f"aggregation {self.aggregations}: the sum of vertex {vertex}, feature {feature}"
                f" is {result[vertex, feature]}, must be {right[vertex, feature]}"
            )
        return result
