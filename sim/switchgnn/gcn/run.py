"""Sets up a training as it was asked for: data, workers, and the trainings that are compared."""

from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from gen.base.errors import UserError
from sim.switchgnn.gcn.aggregator import CheckedAggregator, ExactAggregator, MakeAggregator
from sim.switchgnn.gcn.float_training import FloatTraining
from sim.switchgnn.gcn.network import Network
from sim.switchgnn.gcn.problem import Problem, problem_of
from sim.switchgnn.gcn.training import Schedule, Training
from sim.switchgnn.gcn.workload import METIS, GcnWorkload
from sim.switchgnn.golden.aggregation import edges_between
from sim.switchgnn.graphs.graph import load_graph
from sim.switchgnn.planning.workers import WorkerPartition, metis_workers, read_workers


class GcnRun:
    """Holds a workload with its data; raises UserError for what is wrong with them."""

    def __init__(self, requested: GcnWorkload) -> None:
        self.requested = requested
        graph = load_graph(requested.data, labelled=True)
        self.labels_drawn = (
            graph.train is None
        )  #: whether ``requested.labels`` says what is trained on
        self.problem: Problem = problem_of(graph, requested.labels, requested.seed)
        self.network = Network(
            inputs=self.problem.features.shape[1],
            hidden=requested.hidden,
            classes=self.problem.classes,
            count=requested.layers,
        )
        self.schedule = Schedule(
            eta=requested.eta,
            l2_shift=requested.l2_shift,
            bits=requested.bits,
            norm=requested.norm,
        )
        self.weights = self.network.first_weights(requested.seed)
        self.partition = partition_of(requested, self.problem)

    @property
    def alone(self) -> Training:
        """Return the golden model: one worker that owns all vertices, and no switch."""
        return Training(self.problem, self.network, self.schedule, self.weights)

    @property
    def without_edges(self) -> Training:
        """Return the training of the same network on vertices without neighbours."""
        alone = self.problem.without_edges()
        return Training(alone, self.network, self.schedule, self.weights)

    @property
    def in_float(self) -> FloatTraining:
        """Return the training in float64."""
        return FloatTraining(self.problem, self.schedule, self.weights)

    @cached_property
    def cut(self) -> csr_array:
        """Return the edges between workers; none if there is only one."""
        shape, partition = self.problem.adjacency.shape, self.partition
        if partition is None:
            return csr_array(shape, dtype=np.int8)
        return edges_between(self.problem.adjacency, partition.owner)

    @cached_property
    def directions(self) -> list[csr_array]:
        """Return the graphs to aggregate along: the edges, and their reverse if that differs."""
        adjacency = self.problem.adjacency
        return [adjacency, adjacency.T.tocsr()] if self.problem.directed else [adjacency]

    @property
    def widths(self) -> list[int]:
        """Return the numbers of features of the aggregations, each once."""
        return sorted(set(self.network.aggregations))

    @property
    def cut_vertices(self) -> int:
        """Count the vertices with an edge to or from another worker."""
        return int(np.unique(self.cut.tocoo().coords).size)

    def shared(self, make: MakeAggregator) -> "SharedTraining":
        """Return the training between workers, whose aggregators ``make`` makes."""
        return SharedTraining(self, make)


class SharedTraining(Training):
    """Trains between workers, and compares every aggregation with A X."""

    def __init__(self, run: GcnRun, make: MakeAggregator) -> None:
        problem, partition = run.problem, run.partition
        self.aggregators: list[CheckedAggregator] = []
        if partition is not None:
            self.aggregators = [
                CheckedAggregator(
                    make(adjacency, partition, run.widths), ExactAggregator(adjacency, partition)
                )
                for adjacency in run.directions
            ]
        super().__init__(
            problem,
            run.network,
            run.schedule,
            run.weights,
            owner=None if partition is None else partition.owner,
            forward=self.aggregators[0] if self.aggregators else None,
            backward=self.aggregators[-1] if self.aggregators else None,
        )

    @property
    def difference(self) -> str:
        """Return the first sum that is not A X; empty if all are."""
        return next((each.difference for each in self.aggregators if each.difference), "")


def partition_of(requested: GcnWorkload, problem: Problem) -> WorkerPartition | None:
    """Return the owner of each vertex; None if one worker owns all.

    Raises UserError if there cannot be that many workers.
    """
    if requested.workers > problem.vertices:
        raise UserError(f"{requested.workers} workers cannot share {problem.vertices} vertices")
    if requested.workers == 1:
        return None
    if requested.partition == METIS:
        return metis_workers(problem.adjacency, requested.workers, requested.seed)
    return read_workers(Path(requested.partition), problem.vertices, requested.workers)
