"""Prepares the graphs that stand for the paper's, and how they are cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS
from sim.switchgnn.evaluation.baselines import full_graph
from sim.switchgnn.evaluation.frames import LINK, Traffic, traffic_of
from sim.switchgnn.evaluation.hardware import Hardware, Limits
from sim.switchgnn.graphs.graph import Graph, load_graph
from sim.switchgnn.planning.banks import BankPlacement
from sim.switchgnn.planning.cut import CutGraph, cut_graph
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.multilevel import multilevel_plan
from sim.switchgnn.planning.orders import ordered
from sim.switchgnn.planning.plan import Plan, aggregators_in
from sim.switchgnn.planning.quickest import quickest
from sim.switchgnn.planning.saved import refuse
from sim.switchgnn.planning.senders import Senders, senders_of
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.workers import metis_workers
from sim.switchgnn.reproduce import paper

SEED = 1
FULL = GnnSwitchParams(**cast(Any, PRESETS["full"]))
CLOCK = 250e6  #: Hz
SLICE = 32  #: features of a packet: an aggregator of the paper's switch has 128 bytes
MEGABYTE = 10**6
QUICK_SCALE = 0.25
QUICK_WORKERS = (8, 32, 128)
WORKERS = (8, 16, 32, 64, 128)


class Subject:
    """Holds a graph cut among workers: a family's at a scale, or a file's; it is made once.

    A file of no family stands for itself: its memory is not in proportion to another graph's.
    """

    def __init__(self, family: str, scale: float = 1.0, path: str = "") -> None:
        self.family = family
        self.name = path or f"{family}:scale={scale:g},seed={SEED}"
        self.generated = not path
        self._cuts: dict[int, Cut] = {}

    @cached_property
    def graph(self) -> Graph:
        """Return the graph; raise UserError if it cannot be read."""
        return load_graph(self.name)

    @property
    def adjacency(self) -> csr_array:
        """Return the edges of the graph."""
        return self.graph.adjacency

    @cached_property
    def paper(self) -> paper.DataSet:
        """Return what the paper says of the graph; for a file of no family, what the file says."""
        if self.family in paper.DATA_SETS:
            return paper.DATA_SETS[self.family]
        features = self.graph.features
        return paper.DataSet(
            vertices=self.vertices,
            features=paper.HIDDEN if features is None else features.shape[1],
        )

    @property
    def vertices(self) -> int:
        """Return the number of vertices."""
        return self.adjacency.indptr.size - 1

    def cut(self, workers: int) -> "Cut":
        """Return the graph, cut by METIS."""
        if workers not in self._cuts:
            self._cuts[workers] = Cut(self, workers)
        return self._cuts[workers]


def subjects(provided: Sequence[str], scale: float) -> list[Subject]:
    """Return every family's graph, generated or from its file; then the other files.

    UserError for a file that cannot be read or has fewer vertices than there are workers, and for a
    name that is given twice.
    """
    paths: dict[str, str] = {}
    for text in provided:
        family, equals, path = text.partition("=")
        if not equals or family not in paper.DATA_SETS:
            family, path = Path(text).name.partition(".")[0], text
            refuse(
                family in paper.DATA_SETS,
                f"--graph {text}: say {family}={text} if it is to stand for {family}, or rename it",
            )
        refuse(family in paths, f"--graph gives {family} twice")
        refuse(not Path(path).suffix, f"--graph {text}: must be a Matrix Market or an .npz file")
        paths[family] = path
    names = [*paper.DATA_SETS, *(name for name in paths if name not in paper.DATA_SETS)]
    result = [Subject(name, scale, paths.get(name, "")) for name in names]
    for each in result:
        refuse(
            each.family in paths and each.vertices < paper.MAX_WORKERS,
            f"{each.name}: a graph for {paper.MAX_WORKERS} workers has at least as many vertices",
        )
    return result


@dataclass(frozen=True)
class Reduced:
    """Holds a plan, and its traffic of one slice."""

    plan: Plan
    senders: Senders
    traffic: Traffic


class Cut:
    """Holds a subject's cut graph, and plans of it."""

    def __init__(self, subject: Subject, workers: int) -> None:
        self.subject = subject
        self.workers = workers
        partition = metis_workers(subject.adjacency, workers, SEED)
        self.graph: CutGraph = cut_graph(subject.adjacency, partition)
        self._plans: dict[tuple[str, int], Reduced] = {}

    @property
    def n(self) -> int:
        """Return the number of boundary vertices."""
        return self.graph.n

    @property
    def copies(self) -> float:
        """Return the mean number of other workers with a neighbour."""
        return self.graph.copies.size / self.n

    @cached_property
    def full(self) -> Traffic:
        """Return the traffic of hosts alone."""
        return full_graph(self.graph)

    def aggregators(self, megabytes: float, *, slices: bool = False) -> int:
        """Return K of a memory in proportion to the graph: for whole vertices, or for a slice."""
        own = megabytes * MEGABYTE * self.subject.vertices / self.subject.paper.vertices
        return max(2, aggregators_in(own, SLICE if slices else self.subject.paper.features))

    def multilevel(self, megabytes: float) -> Reduced:
        """Return the paper's plan."""
        return self._plan("multi-level", self.aggregators(megabytes))

    def destinations(self, megabytes: float, *, slices: bool) -> Reduced:
        """Return our plan; with slices, a vertex's features need not be in memory all at once."""
        return self._plan("destinations", self.aggregators(megabytes, slices=slices))

    def unlimited(self) -> Reduced:
        """Return a plan in which every vertex has an aggregator."""
        return self._plan("destinations", max(2, self.n))

    def quick(self, slots: int) -> tuple[Senders, BankPlacement]:
        """Return a plan of few rows for banks of ``slots`` aggregators of 128 sums."""
        shape = SwitchShape(ports=self.workers, banks=FULL.banks, depth=slots, lanes=FULL.lanes)
        plan = destination_plan(self.graph, min(shape.aggregators, max(2, self.n)), SEED)
        return quickest(self.graph, plan, shape)

    @cached_property
    def hardware(self) -> Hardware:
        """Return the model of preset full, with a port for each worker, at 100 Gb/s.

        Its aggregators, and the limits of frames, are in proportion to the graph.
        """
        ratio = self.subject.paper.vertices / self.subject.vertices
        limits = Limits.of(FULL, round(paper.DELAY * CLOCK), LINK).scaled(ratio)
        senders, banks = self.quick(max(2, round(FULL.slots / ratio)))
        sequence = ordered(senders, "priority-bfs", SEED).sequence
        return Hardware(senders, sequence, banks, limits)

    def _plan(self, kind: str, aggregators: int) -> Reduced:
        most = min(aggregators, max(2, self.n))
        if (kind, most) not in self._plans:
            make = multilevel_plan if kind == "multi-level" else destination_plan
            plan = make(self.graph, most, SEED)
            senders = senders_of(self.graph, plan)
            traffic = traffic_of(senders, self.workers)
            self._plans[kind, most] = Reduced(plan, senders, traffic)
        return self._plans[kind, most]


def share_of_top(cut: CutGraph, share: float) -> float:
    """Return the share of all neighbours that the best connected vertices have."""
    degrees = np.sort(cut.in_degrees)[::-1]
    return float(degrees[: round(share * degrees.size)].sum() / degrees.sum())
