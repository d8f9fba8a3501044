"""Carries out whole training steps on the RTL: gather, sums in the switch, all-reduce."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hdl.network_switch.params import NetworkSwitchParams
from sim.harness.session import CLOCK_MHZ, Listener, Result, Session
from sim.harness.verilate import Build
from sim.network_switch.step.compute import compute_cycles
from sim.network_switch.step.params import StepParams, step_of
from sim.network_switch.step.picture import draw_timeline
from sim.network_switch.step.requests import LATE
from sim.network_switch.step.step_network import StepNetwork
from sim.network_switch.step.system import build_step, log_path
from sim.network_switch.step.text import measured
from sim.network_switch.step.timeline import NAMES, PAIRS, STAGES, Mark, Timeline, intervals
from sim.network_switch.step.workload import StepWorkload
from sim.switchgnn.gcn.comparison import Comparison
from sim.switchgnn.gcn.session import GcnSession

TIMELINE = "timeline.png"
SLACK = 100  #: cycles beside a latency in which a stage that waits for an answer still works
FIGURES = {
    **{f"{name}_cycles": f"cycles in which a worker's {NAMES[name]} works" for name in STAGES},
    **{
        name: f"cycles in which both {NAMES[first]} and {NAMES[second]} work"
        for name, (first, second) in PAIRS.items()
    },
    "host_cycles": "cycles in which hosts use memories beside the buses, and start jobs",
    "compute_cycles": "cycles of compute, by a formula; they are not simulated",
    "step_cycles": "cycles of an epoch on the RTL, without compute",
    "gathered_bytes": "bytes of rows that came into cards' memories, each of which was compared",
}


class StepSession(Session):
    """Trains as :class:`GcnSession` does, on a system whose data moves by RTL alone.

    A gather engine brings the features of a worker from its host's memory to its card, the switch
    adds them up, and the hosts add up the gradients by the same switch. Each gathered byte, sum and
    weight is compared.
    """

    workload = StepWorkload
    counted = {
        **GcnSession.counted,
        **{name: f"{text}; of an epoch" for name, text in FIGURES.items()},
    }
    maximise = GcnSession.maximise

    params: NetworkSwitchParams
    requested: StepWorkload

    def __init__(self, params: NetworkSwitchParams, requested: StepWorkload) -> None:
        super().__init__(params, requested)
        self.system = step_of(params, requested.workers)
        self.gcn = GcnSession(params.switchgnn, requested.training)
        self.decided = self.gcn.decided
        self.timeline: Timeline | None = None

    @classmethod
    def files(cls, requested: StepWorkload) -> Sequence[Path]:
        """Return the data and the partition, if they are files."""
        return requested.paths

    @classmethod
    def needs(cls, requested: StepWorkload) -> dict[str, Any]:
        """Return two ports for each worker, and no engines that nobody uses."""
        return {"ports": 2 * requested.workers, "has_p4sgd": False, "has_netsparse": False}

    @classmethod
    def hardware(cls, params: NetworkSwitchParams, requested: StepWorkload) -> StepParams:
        """Return the system around the switch."""
        return step_of(params, requested.workers)

    @classmethod
    def build(cls, hardware: StepParams) -> Build:
        """Build the simulator of a system."""
        return build_step(hardware, optimise=True)

    @property
    def title(self) -> str:
        """Describe data, network, bits and workers in a line."""
        return f"{self.gcn.title}, features gathered from host memory, gradients all-reduced"

    def about(self) -> Iterator[str]:
        """Yield lines that describe the data."""
        yield from self.gcn.about()

    def run(
        self,
        simulator: Build,
        folder: Path,
        listener: Listener | None = None,
        clock_mhz: float = CLOCK_MHZ,
    ) -> Result:
        """Train, with a line for each epoch; raise RunFailed if bytes or sums are wrong or late."""
        gcn, requested = self.gcn, self.requested
        planner, links = gcn.planner, requested.training.links
        with StepNetwork(
            self.system,
            simulator,
            folder,
            planner,
            links=links,
            timeout=requested.timeout,
            pcie_latency=requested.pcie_latency,
            irregular=requested.irregular,
        ) as network:
            gcn.comparison = Comparison(gcn.training, network.aggregator)
            gcn.comparison.switch.reduce = network.reduce
            gcn.train(gcn.comparison, listener or Listener())
            gcn.hardware_counters = network.counters(details=True).details
        self.timeline = self.measure(folder)
        return self.result(gcn.result(gcn.comparison))

    def measure(self, folder: Path) -> Timeline:
        """Return when each stage worked, from the logs of the run."""
        near = 2 * self.requested.link_latency + SLACK
        answered = self.requested.pcie_latency * (1 + LATE * self.requested.irregular)
        gaps = dict.fromkeys(STAGES, near) | {"gather": answered + SLACK}
        training = self.gcn.training
        partition = training.partition
        assert partition is not None
        largest = max(int((partition.owner == k).sum()) for k in range(partition.workers))
        return Timeline(
            marks=[Mark(*each) for each in self.gcn.hardware_counters["marks"]],
            intervals=[
                intervals(log.read(log_path(folder, log.index)), gaps) for log in self.system.logs
            ],
            aggregations=len(training.network.aggregations),
            compute=compute_cycles(training.network, largest, self.requested.macs),
        )

    def result(self, trained: Result) -> Result:
        """Return the result of the training, with figures by stage: the mean of all epochs."""
        assert self.timeline is not None
        epochs = [self.timeline.figures(*span) for span in self.timeline.epochs]
        stages = {name: sum(each[name] for each in epochs) / len(epochs) for name in epochs[0]}
        stages["gathered_bytes"] = self.gcn.hardware_counters["gathered_bytes"] / len(epochs)
        return Result(
            figures={**trained.figures, **stages},
            compared=f"every gathered byte is the feature's, {trained.compared}",
            difference=trained.difference,
            warnings=trained.warnings,
            details={**trained.details, "stages": epochs},
        )

    def unfinished(self) -> None:
        """Return nothing: the logs of a run that is interrupted are not complete."""

    def write(self, folder: Path) -> Sequence[str]:
        """Write what a training leaves, and a picture of when each stage of an epoch worked."""
        assert self.timeline is not None
        draw_timeline(self.timeline, self.title, folder / TIMELINE)
        return [*self.gcn.write(folder), TIMELINE]

    def summary(self, result: Result) -> Iterator[str]:
        """Yield lines on the training, on cycles by stage, and on what overlaps."""
        yield from self.gcn.summary(result)
        yield from measured(result.figures, self.requested.macs)
