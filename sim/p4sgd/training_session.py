"""Trains on P4SGD workers, alone or with a switch, beside the golden model and float64 SGD."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from hdl.p4sgd.host.counters import COUNTERS
from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.choices import Schedule
from sim.harness.session import CLOCK_MHZ, Listener, Result, Session
from sim.harness.verilate import Build
from sim.p4sgd import training_text as text
from sim.p4sgd.reference import Reference, is_there
from sim.p4sgd.train import Epoch, build_cluster, build_parts, build_worker, simulate_training
from sim.p4sgd.training import TrainingRun, check_fit, data_of, machine_of, tile_of
from sim.p4sgd.training_report import Comparison, plot
from sim.p4sgd.training_workload import ZEROS, TrainingWorkload
from sim.surroundings.at_a_time import check_cut
from sim.workloads.datasets import DataSet


@dataclass(frozen=True)
class Hardware:
    """Describes what a simulator of training is built of."""

    params: WorkerParams  #: sizes of each worker
    workers: int  #: number of workers around a switch; 0 for a single one without a switch
    cut: bool = False  #: workers and switch are simulated by themselves
    waves_worker: int = 0  #: worker that has waves, if it is cut


class TrainingSession(Session):
    """Trains, and returns cycles, stalls and losses, and the ideal cycles by the formula."""

    workload = TrainingWorkload
    counted = {
        "cycles_per_epoch": "clock cycles of an epoch, the mean of all epochs",
        "samples_per_second": "samples trained on in a second at the clock",
        "efficiency": "the formula's cycles divided by those that were measured",
        "final_loss": "loss on the training samples of the RTL's weights that are kept",
        "accuracy": "accuracy of these weights on the training samples",
        "test_loss": "loss of these weights on the samples held out",
        "test_accuracy": "accuracy of these weights on the samples held out",
        "learning_rate": "learning rate of the first epoch, as it was set or as it suits the data",
        "exact": "1 if weights and saturations equal the golden model's bit for bit",
        **{name: f"{about}; of an epoch, all workers" for name, about in COUNTERS.items()},
    }
    calculated = {
        "ideal_cycles_per_epoch": "by the formula of the schedule, with the turnaround that is set"
    }
    maximise = ("samples_per_second",)
    swept = {"data": ZEROS, "epochs": 1, "reference": False, "processes": 1}

    params: WorkerParams
    requested: TrainingWorkload

    def __init__(
        self, params: WorkerParams, requested: TrainingWorkload, data: DataSet | None = None
    ) -> None:
        super().__init__(params, requested)
        self.training = TrainingRun(
            data_of(requested, classes=params.classes) if data is None else data, params, requested
        )
        self.comparison = Comparison(self.training)
        refresh = requested.refresh(params)
        self.decided = {"memory_refresh": refresh.pause_ns if refresh else 0}
        if requested.l2:
            self.decided |= {"l2": self.training.l2}

    @classmethod
    def files(cls, requested: TrainingWorkload) -> Sequence[Path]:
        """Return the data, if they are files."""
        return [Path(name) for name in (requested.data, requested.test) if name]

    @classmethod
    def needs(cls, requested: TrainingWorkload) -> Mapping[str, Any]:
        """Return parameters that the hardware must have, as data parallelism is an option of it."""
        return {"data_parallel": True} if requested.shares_samples else {}

    @classmethod
    def check(cls, params: WorkerParams, requested: TrainingWorkload) -> None:
        """Raise ValueError for data that do not fit, if their size is known without reading."""
        if requested.data == ZEROS:
            check_fit(params, requested, *requested.zeros)

    @classmethod
    def hardware(cls, params: WorkerParams, requested: TrainingWorkload) -> Hardware:
        """Return the hardware: the worker with its memories, or a cluster, which may be cut."""
        workers = requested.workers if requested.has_switch else 0
        if requested.at_a_time == 1:
            return Hardware(params, workers)
        return Hardware(params, workers, cut=True, waves_worker=requested.waves_worker)

    @classmethod
    def build(cls, hardware: Hardware) -> Build:
        """Build the simulator of one worker or of a cluster, or those of its parts."""
        if hardware.cut:
            return build_parts(
                hardware.params, hardware.workers, waves_worker=hardware.waves_worker
            )
        if hardware.workers:
            return build_cluster(hardware.params, hardware.workers)
        return build_worker(hardware.params)

    def check_parts(self) -> None:
        """Raise ValueError for a worker alone, and for links that are too short to be cut."""
        if not self.requested.has_switch:
            raise ValueError("a worker without a switch is not cut into processes")
        check_cut(2, self.requested.link_latency)

    @classmethod
    def calculate(cls, params: WorkerParams, requested: TrainingWorkload) -> dict[str, float]:
        """Return the ideal cycles, if the size of the data is known without reading them."""
        if requested.data != ZEROS:
            return {}
        return {"ideal_cycles_per_epoch": ideal_cycles(params, requested, *requested.zeros)}

    @property
    def title(self) -> str:
        """Return a line with data, precision, batch, learning rate and hardware."""
        return text.title(self.training)

    def about(self) -> Iterator[str]:
        """Yield lines on the data, and the titles of the epochs' lines."""
        yield from text.about(self.training)

    def run(
        self,
        simulator: Build,
        folder: Path,
        listener: Listener | None = None,
        clock_mhz: float = CLOCK_MHZ,
    ) -> Result:
        """Train in ``folder``, with a line for each epoch; TrainingStopped if a worker stops."""
        listener = listener or Listener()
        epochs = self.requested.epochs
        listener.line(text.header())
        listener.progress("training on the RTL", 0, epochs)

        def show(epoch: Epoch) -> None:
            listener.line(text.line(self.comparison.add(epoch)))
            listener.progress("training on the RTL", epoch.number, epochs)

        simulate_training(
            self.training,
            simulator,
            folder,
            show,
            enough=self.comparison.enough,
            memory=self.requested.memory(self.params, clock_mhz),
            network=self.requested.network,
            seed=self.requested.seed,
            processes=self.at_a_time,
            workers=self.workers,
        )
        if self.requested.reference and self.requested.data != ZEROS and is_there():
            listener.progress("fitting scikit-learn's model to the same samples")
            self.comparison.reference = Reference.fit(self.training)
        return self.result(clock_mhz)

    def unfinished(self) -> Result | None:
        """Return the result of the epochs that had ended; None if no epoch had."""
        return self.result() if self.comparison.rows else None

    def result(self, clock_mhz: float = CLOCK_MHZ) -> Result:
        """Return the result of all epochs that have ended."""
        return Result(
            figures=self.figures(clock_mhz),
            compared=text.EQUAL,
            difference=self.comparison.difference,
            warnings=self.comparison.warnings,
            details=self.comparison.details(),
        )

    def figures(self, clock_mhz: float) -> dict[str, float]:
        """Return the figures of all epochs that have ended."""
        rows, training = self.comparison.rows, self.training
        result = {name: sum(row.counters[name] for row in rows) / len(rows) for name in COUNTERS}
        cycles = result["cycles"]
        size = training.samples, training.features
        ideal = ideal_cycles(self.params, self.requested, *size, clock_mhz)
        result |= {
            "cycles_per_epoch": cycles,
            "samples_per_second": training.samples * clock_mhz * 1e6 / cycles,
            "efficiency": ideal / cycles,
            "ideal_cycles_per_epoch": ideal,
            "exact": float(not self.comparison.difference),
        }
        if self.requested.data == ZEROS:
            return result
        kept = self.comparison.kept_row
        judged = {
            "final_loss": kept.rtl_loss,
            "accuracy": kept.rtl_accuracy,
            "test_loss": kept.rtl_test_loss,
            "test_accuracy": kept.rtl_test_accuracy,
            "learning_rate": training.eta,
        }
        return result | {name: figure for name, figure in judged.items() if figure is not None}

    def write(self, folder: Path) -> Sequence[str]:
        """Write the weights, and a picture of the losses."""
        self.comparison.save_weights(folder / "weights.npz")
        plot(self.comparison, self.title, folder / "training.png")
        return "training.png", "weights.npz"

    def summary(self, result: Result) -> Iterator[str]:
        """Yield lines on how good the weights are, and where the cycles went."""
        return text.summary(self.comparison)


def ideal_cycles(
    params: WorkerParams,
    requested: TrainingWorkload,
    samples: int,
    features: int,
    clock_mhz: float = CLOCK_MHZ,
) -> float:
    """Return the cycles of an epoch by the formula of the schedule."""
    refresh = requested.refresh(params, clock_mhz)
    machine = replace(
        machine_of(params, requested), delivered=refresh.delivered if refresh else 1.0
    )
    formula = {
        Schedule.PIPELINED: machine.pipelined,
        Schedule.VANILLA: machine.vanilla,
        Schedule.DATA_PARALLEL: machine.data_parallel,
    }[requested.schedule]
    if params.movers:
        formula = partial(machine.tiled, tile=tile_of(params, requested, features))
    whole, rest = divmod(samples, requested.batch)
    cycles = whole * formula(features, requested.batch, requested.turnaround)
    return cycles + (formula(features, rest, requested.turnaround) if rest else 0)
