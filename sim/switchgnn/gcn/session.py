"""Trains a graph network on workers around a SwitchGNN switch, beside its golden models."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.session import CLOCK_MHZ, Listener, Result, Session
from sim.harness.verilate import Build
from sim.surroundings.at_a_time import check_cut
from sim.switchgnn.gcn import text
from sim.switchgnn.gcn.aggregator import COUNTERS, ExactAggregator, MakeAggregator
from sim.switchgnn.gcn.comparison import SOURCES, Comparison
from sim.switchgnn.gcn.fixed_point import WEIGHT_FRACTION
from sim.switchgnn.gcn.golden_aggregator import GoldenAggregator, Planner, SwitchSetup
from sim.switchgnn.gcn.picture import draw_curves, draw_cut, draw_traffic
from sim.switchgnn.gcn.run import GcnRun
from sim.switchgnn.gcn.traffic import traffic
from sim.switchgnn.gcn.workload import Adder, GcnWorkload
from sim.switchgnn.network.network import NetworkParams, build_network, network_of
from sim.switchgnn.network.parts import build_parts
from sim.switchgnn.network.rtl_aggregator import RtlNetwork
from sim.switchgnn.planning.shape import SwitchShape

CURVES, CUT, TRAFFIC, WEIGHTS = "gcn.png", "cut.png", "traffic.png", "weights.npz"
QUALITIES = {
    "loss": "cross entropy of {} at the vertices that are trained on, at the end",
    "accuracy": "share of the vertices that are trained on that {} tell right",
    "test_loss": "cross entropy of {} at the vertices that are tested on, at the end",
    "test_accuracy": "share of the vertices that are tested on that {} tell right",
}


@dataclass(frozen=True)
class Cut:
    """Says that each worker and switch of a network is simulated by a process of its own."""

    network: NetworkParams
    waves_worker: int = 0  #: worker that has waves


class GcnSession(Session):
    """Runs a training whose switch adds up between workers; compares every sum with A X."""

    workload = GcnWorkload
    counted = {
        **{
            f"{source}_{name}": about.format(owner)
            for source, owner in SOURCES.items()
            for name, about in QUALITIES.items()
        },
        **{name: f"{about}; of an epoch, all workers" for name, about in COUNTERS.items()},
        "saturations": "features that did not fit their bits; of an epoch, all workers",
        "exact": "1 if a switch's sums are A X, and weights equal a one-worker run's bit for bit",
    }
    maximise = ("switch_test_accuracy",)
    swept = {"processes": 1}

    params: GnnSwitchParams
    requested: GcnWorkload

    def __init__(self, params: GnnSwitchParams, requested: GcnWorkload) -> None:
        super().__init__(params, requested)
        check_links(params, requested)
        self.training = GcnRun(requested)
        self.decided = {} if self.training.labels_drawn else {"labels": None}
        setup = SwitchSetup(
            shape=shape_of(params, requested),
            window=params.window,
            plan=requested.plan,
            order=requested.order,
            quick=requested.quick_plan,
            seed=requested.seed,
            faults=requested.faults,
            racks=requested.racks,
            spines=requested.spines,
        )
        self.planner = Planner(setup)
        if self.training.partition is not None:
            if requested.racks == 1:
                setup.shape.check_workers(requested.workers)
            self.hardware(params, requested)
            if requested.adder is not Adder.EXACT:  # what does not fit is found before all else
                for adjacency in self.training.directions:
                    self.planner.jobs(adjacency, self.training.partition, self.training.widths)
        self.comparison: Comparison | None = None
        self.hardware_counters: dict[str, Any] = {}
        self.cpu_seconds: Sequence[float] = ()  #: of the simulation, or of each part's

    @classmethod
    def files(cls, requested: GcnWorkload) -> Sequence[Path]:
        """Return the data and the partition, if they are files."""
        return requested.paths

    @classmethod
    def hardware(cls, params: GnnSwitchParams, requested: GcnWorkload) -> Hashable:
        """Return the network if hardware adds, which may be cut, else the name of the adder."""
        if not requested.is_simulated:
            return requested.adder
        network = network_of(params, requested.workers, requested.racks, requested.spines)
        return network if requested.at_a_time == 1 else Cut(network, requested.waves_worker)

    @classmethod
    def build(cls, hardware: Hashable) -> Build:
        """Build the simulator of a network, or those of its parts; a model in Python needs none."""
        if isinstance(hardware, Cut):
            return build_parts(hardware.network, optimise=True, waves_worker=hardware.waves_worker)
        if isinstance(hardware, NetworkParams):
            return build_network(hardware, optimise=True)
        return Build(folder=Path(), top=str(hardware))

    def check_parts(self) -> None:
        """Raise ValueError for a model of the hardware, and for links too short to be cut."""
        if not self.requested.is_simulated:
            raise ValueError("a model of the hardware is not cut into processes")
        check_cut(2, self.requested.link_latency)

    @property
    def title(self) -> str:
        """Describe data, network, bits and workers in a line."""
        return text.title(self.training)

    def about(self) -> Iterator[str]:
        """Yield lines that describe the data."""
        yield from text.about(self.training)

    @contextmanager
    def adder(self, simulator: Build, folder: Path) -> Iterator[MakeAggregator]:
        """Yield the function that makes the run's aggregators, and close them at the end.

        ``simulator`` is what :meth:`build` has made, ``folder`` where it may work.
        """
        requested, hardware = self.requested, self.hardware(self.params, self.requested)
        network = hardware.network if isinstance(hardware, Cut) else hardware
        if isinstance(network, NetworkParams):
            with RtlNetwork(
                network,
                simulator,
                folder,
                self.planner,
                links=requested.links,
                timeout=requested.timeout,
                ecn=requested.ecn,
                processes=self.at_a_time,
                workers=self.workers,
            ) as simulated:
                yield simulated.aggregator
                self.hardware_counters = simulated.counters(details=True).details
                self.cpu_seconds = simulated.cpu_seconds
        elif requested.adder is Adder.EXACT:
            yield ExactAggregator
        else:
            yield partial(GoldenAggregator, planner=self.planner)

    def run(
        self,
        simulator: Build,
        folder: Path,
        listener: Listener | None = None,
        clock_mhz: float = CLOCK_MHZ,
    ) -> Result:
        """Train, with a line for each epoch; raise RunFailed if sums fail or numbers diverge."""
        with self.adder(simulator, folder) as make:
            self.comparison = Comparison(self.training, make)
            self.train(self.comparison, listener or Listener())
        return self.result(self.comparison)

    def unfinished(self) -> Result | None:
        """Return the result of the epochs that had ended; None if no epoch had."""
        return self.result(self.comparison) if self.comparison and self.comparison.rows else None

    def result(self, comparison: Comparison) -> Result:
        """Return the result of all epochs that have ended."""
        return Result(
            figures=self.figures(comparison),
            compared=text.EQUAL[self.requested.adder] if self.requested.has_links else "",
            uncompared=text.ALONE,
            difference=comparison.difference,
            warnings=comparison.warnings,
            details=self.details(comparison),
        )

    def train(self, comparison: Comparison, listener: Listener) -> None:
        """Train for all epochs."""
        epochs = self.requested.epochs
        listener.line(text.header())
        listener.progress("training", 0, epochs)
        for epoch in range(epochs + 1):
            listener.line(text.line(comparison.look()))
            listener.progress("training", epoch, epochs)
            if epoch < epochs:
                comparison.learn()

    def figures(self, comparison: Comparison) -> dict[str, float]:
        """Return the figures by their names in ``counted``."""
        rows, last = comparison.rows, comparison.rows[-1].flat()
        epochs = max(1, rows[-1].epoch)
        qualities = {
            f"{source}_{name}": last[f"{source}_{name}"] for source in SOURCES for name in QUALITIES
        }
        counters = {name: comparison.total[name] / epochs for name in COUNTERS}
        compared = self.requested.has_links or comparison.difference
        exact = {"exact": float(not comparison.difference)} if compared else {}
        saturations = sum(row.saturations for row in rows) / epochs
        return qualities | counters | {"saturations": saturations} | exact

    def details(self, comparison: Comparison) -> dict[str, Any]:
        """Return what the JSON says beside the figures: data, plan and epochs."""
        run = self.training
        problem = run.problem
        return {
            "data": {
                "name": problem.name,
                "vertices": problem.vertices,
                "edges": problem.edges,
                "directed": problem.directed,
                "features": run.network.inputs,
                "classes": problem.classes,
                "train": int(problem.train.sum()),
                "test": int(problem.test.sum()),
            },
            "cut": {"vertices": run.cut_vertices, "edges": run.cut.nnz},
            "aggregations": run.network.aggregations,
            "epochs": [row.flat() for row in comparison.rows],
            "hardware_counters": self.hardware_counters,
            "traffic": self.traffic,
        }

    @property
    def traffic(self) -> dict[str, dict[str, list[int]]]:
        """Return each worker's frames by direction and kind; none unless hardware counted."""
        return traffic(self.hardware_counters["workers"]) if self.hardware_counters else {}

    def write(self, folder: Path) -> Sequence[str]:
        """Write the weights, and pictures: the curves, the cut graph, the hardware's frames."""
        assert self.comparison is not None
        weights = self.comparison.switch.weights
        arrays: dict[str, Any] = {f"fixed_point_{k}": each for k, each in enumerate(weights)}
        for k, each in enumerate(weights):
            arrays[f"weights_{k}"] = np.ldexp(each, -WEIGHT_FRACTION)
        np.savez_compressed(folder / WEIGHTS, **arrays)
        draw_curves(self.comparison.rows, self.title, folder / CURVES)
        written = [CURVES, WEIGHTS]
        if self.training.partition is not None:
            draw_cut(self.training, folder / CUT)
            written.append(CUT)
        if self.traffic:
            draw_traffic(self.traffic, folder / TRAFFIC)
            written.append(TRAFFIC)
        return written

    def summary(self, result: Result) -> Iterator[str]:
        """Yield lines on how good the weights are, and on what was sent."""
        assert self.comparison is not None
        yield from text.summary(self.comparison)


def check_links(params: GnnSwitchParams, requested: GcnWorkload) -> None:
    """Raise ValueError if a switch is set to have other links than its racks need."""
    if requested.racks == 1 and params.links:
        raise ValueError(f"links must be 0, as no other switch is there: {params.links}")
    if params.links not in (0, requested.spines):
        raise ValueError(
            f"links must be 0 or {requested.spines}, as each rack's switch has a link to each"
            f" spine: {params.links}"
        )


def shape_of(params: GnnSwitchParams, requested: GcnWorkload) -> SwitchShape:
    """Return what a plan must know of a switch."""
    return SwitchShape(
        ports=params.ports,
        banks=params.banks,
        depth=params.slots,
        lanes=params.lanes,
        open_turns=requested.open_turns,
        rows=params.rows,
        descriptor_rows=params.descriptor_rows,
    )
