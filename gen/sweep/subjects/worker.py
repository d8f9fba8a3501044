"""P4SGD workers that train, alone or with a switch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen.sweep.subject import SimulatedSubject
from hdl.p4sgd.host.counters import COUNTERS
from sim.p4sgd.golden.sgd import Loss, Schedule

ZEROS = "zeros"  #: data of a size, and nothing else
MOST_WORKERS = 16
CHANCES = ("drop", "duplicate", "reorder", "corrupt")  #: of each packet


@dataclass(frozen=True, kw_only=True)
class TrainingWorkload:
    """A training run. The hardware spends the same cycles whatever the data are."""

    data: str = ZEROS  #: zeros of the size below, or what `ingather train --data` takes
    test: str | None = None  #: a file, or the share of the data, to test on
    shuffle: bool = True  #: train in the order of the seed, not of the data
    samples: int = 512  #: of zeros
    features: int = 4096  #: of zeros
    loss: Loss = Loss.LOGISTIC  #: what to minimise
    positive: str | None = None  #: class against the rest, or a threshold such as >=5
    bits: int = 4  #: precision of a feature
    stored_bits: int | None = None  #: precision in memory, if more than is read
    batch: int = 64  #: samples of a mini-batch
    epochs: int = 1  #: times through the data
    eta: float | None = None  #: learning rate; from the data if it is not given
    center: bool = False  #: take its mean off every feature, and add a constant one
    l2_shift: int = 0  #: weights lose 2^-N of themselves per mini-batch; needs l2
    workers: int = 1  #: that share the features, 1..16; 2 and more have a switch
    schedule: Schedule = Schedule.PIPELINED  #: order of forward, communication and backward
    link_latency: int = 100  #: cycles of a link, one way
    drop: float = 0.0  #: chance that a link drops a packet
    duplicate: float = 0.0  #: that it doubles one
    reorder: float = 0.0  #: that it delays one out of turn
    corrupt: float = 0.0  #: that it flips a bit of one
    memory_latency: int = 128  #: cycles of the simulated memory
    memory_stall: int = 0  #: chance in 256 that the memory pauses, every cycle
    turnaround: float = 0.0  #: cycles of each mini-batch that the formula adds
    seed: int = 1  #: of the samples' order, the memory's pauses and the links' faults

    def __post_init__(self) -> None:
        for name, least in (("samples", 1), ("features", 1), ("epochs", 1), ("batch", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}: {getattr(self, name)}")
        if not 1 <= self.workers <= MOST_WORKERS:
            raise ValueError(f"workers must be from 1 to {MOST_WORKERS}: {self.workers}")
        if not self.has_switch and any(getattr(self, name) for name in CHANCES):
            raise ValueError("a single worker has no links: 2 workers or more have some")
        for name in CHANCES:
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1: {getattr(self, name)}")
        for name, most in (("link_latency", 4095), ("memory_latency", 1023), ("memory_stall", 250)):
            if not 0 <= getattr(self, name) <= most:
                raise ValueError(f"{name} must be from 0 to {most}: {getattr(self, name)}")

    @property
    def has_switch(self) -> bool:
        """Whether there are links at all."""
        return self.workers > 1 or self.schedule is not Schedule.PIPELINED


@dataclass(frozen=True)
class Simulated:
    """What a simulator is built of."""

    params: Any  #: of each worker
    workers: int  #: 0 for one without a switch


class WorkerSubject(SimulatedSubject):
    """Cycles, stalls and losses of training; the ideal by the formula."""

    workload = TrainingWorkload
    hardware = "hdl.p4sgd.worker"
    counted = {
        "cycles_per_epoch": "clock cycles, the mean of the epochs",
        "samples_per_second": "at the clock",
        "efficiency": "the formula's cycles of what was measured",
        "final_loss": "of the RTL's weights on the data, after the last epoch; not of zeros",
        "accuracy": "likewise, on the training samples",
        "test_loss": "likewise, on the samples held out",
        "test_accuracy": "likewise, on the samples held out",
        "learning_rate": "as it was set or as it suits the data",
        **{name: f"{text}; of an epoch, all workers" for name, text in COUNTERS.items()},
    }
    calculated = {
        "ideal_cycles_per_epoch": "by the formula of the schedule, with the turnaround that is set"
    }
    maximise = ("samples_per_second",)

    def files(self, workload: TrainingWorkload) -> Sequence[Path]:
        """The data, if they are files."""
        return [Path(name) for name in (workload.data, workload.test) if name]

    def simulated(self, params: Any, workload: TrainingWorkload) -> Simulated:
        """The worker with its memories, or a cluster."""
        return Simulated(params, workload.workers if workload.has_switch else 0)

    def build(self, simulated: Simulated) -> Any:
        """Its simulator."""
        from sim.p4sgd.train import build_cluster, build_worker

        if simulated.workers:
            return build_cluster(simulated.params, simulated.workers)
        return build_worker(simulated.params)

    def measure(
        self, params: Any, workload: TrainingWorkload, build: Any, folder: Path, clock_mhz: float
    ) -> dict[str, float]:
        """Train, and read the counters."""
        from sim.p4sgd.train import Epoch, simulate_training

        training, epochs = training_of(params, workload), list[Epoch]()
        memory, network = surroundings(workload)
        simulate_training(
            training,
            build,
            folder,
            epochs.append,
            memory=memory,
            network=network,
            seed=workload.seed,
        )
        found = {
            name: sum(epoch.counters[name] for epoch in epochs) / len(epochs) for name in COUNTERS
        }
        cycles = found["cycles"]
        ideal = ideal_cycles(params, workload, training.samples, training.features)
        found |= {
            "cycles_per_epoch": cycles,
            "samples_per_second": training.samples * clock_mhz * 1e6 / cycles,
            "efficiency": ideal / cycles,
            "ideal_cycles_per_epoch": ideal,
        }
        if workload.data != ZEROS:
            weights = training.original(epochs[-1].weights)
            names = ("final_loss", "accuracy", "test_loss", "test_accuracy")
            figures = (*training.evaluate(weights), *training.evaluate_test(weights))
            found |= {n: f for n, f in zip(names, figures, strict=True) if f is not None}
            found["learning_rate"] = training.eta
        return found

    def calculate(
        self, params: Any, workload: TrainingWorkload, counted: Mapping[str, float]
    ) -> dict[str, float]:
        """By the formula, without a simulation if the size of the data is known."""
        if counted or workload.data != ZEROS:
            return {}
        ideal = ideal_cycles(params, workload, workload.samples, workload.features)
        return {"ideal_cycles_per_epoch": ideal}


def training_of(params: Any, workload: TrainingWorkload) -> Any:
    """The data, made ready for the hardware; ValueError if it cannot take them."""
    import numpy as np

    from sim.p4sgd.training import Options, TrainingRun
    from sim.workloads.datasets import DataSet, load

    if workload.data == ZEROS:
        shape = (workload.samples, workload.features)
        data = DataSet(ZEROS, np.zeros(shape), np.zeros(shape[0]), "")
    else:
        data = load(
            workload.data,
            loss=workload.loss,
            positive=workload.positive,
            bias=workload.center,
            order=workload.seed if workload.shuffle else None,
            test=workload.test,
        )
    options = Options(
        loss=workload.loss,
        bits=workload.bits,
        stored_bits=workload.stored_bits,
        batch=workload.batch,
        eta=workload.eta,
        epochs=workload.epochs,
        l2_shift=workload.l2_shift,
        center=workload.center,
        schedule=workload.schedule,
    )
    return TrainingRun(data, params, options, workload.workers)


def surroundings(workload: TrainingWorkload) -> tuple[Any, Any]:
    """Settings of the memories, and of the links if there are any."""
    from sim.p4sgd.training_job import MemorySettings, NetworkSettings

    memory = MemorySettings(
        latency=workload.memory_latency,
        ar_stall=workload.memory_stall,
        r_stall=workload.memory_stall,
        seed=workload.seed,
    )
    if not workload.has_switch:
        return memory, None
    chances = {name: getattr(workload, name) for name in CHANCES}
    return memory, NetworkSettings(latency=workload.link_latency, seed=workload.seed, **chances)


def ideal_cycles(params: Any, workload: TrainingWorkload, samples: int, features: int) -> float:
    """Cycles of an epoch by the formula of the schedule."""
    from sim.p4sgd.reproduce.formula import Machine

    machine = Machine(
        workers=workload.workers,
        engines=params.engines,
        banks=params.engine.banks,
        lanes=params.engine.lanes,
        bits=workload.bits,
    )
    formula = {
        Schedule.PIPELINED: machine.pipelined,
        Schedule.VANILLA: machine.vanilla,
        Schedule.DATA_PARALLEL: machine.data_parallel,
    }[workload.schedule]
    whole, rest = divmod(samples, workload.batch)
    cycles = whole * formula(features, workload.batch, workload.turnaround)
    return cycles + (formula(features, rest, workload.turnaround) if rest else 0)
