"""Describes what a training run is asked to do, and judges whether hardware can do it."""

from dataclasses import dataclass

from hdl.p4sgd.worker_params import WorkerParams
from sim.harness.workload import Workload, setting
from sim.p4sgd.golden.sgd import Loss, Schedule
from sim.p4sgd.training_job import MemorySettings, NetworkSettings

ZEROS = "zeros"  #: data of a given size whose values are all zero
MOST_WORKERS = 16
CHANCES = ("drop", "duplicate", "reorder", "corrupt")  #: faults of links that have a chance


class DoesNotFit(ValueError):
    """Says that the data do not fit the hardware; the text gives the numbers."""


@dataclass(frozen=True, kw_only=True)
class TrainingWorkload(Workload):
    """Describes a training run; hardware spends the same cycles whatever values the data have."""

    data: str = setting(
        "digits",
        "Samples to train on: digits, breast-cancer, a LIBSVM file (.gz, .bz2, .xz too), an .npz"
        f" file, or {ZEROS}, which are as many as --samples and --features say.",
    )
    test: str | None = setting(
        None,
        "Samples to test on and not to train on: a file, or a fraction such as 0.2 of the data, the"
        " last after shuffling.",
        metavar="FILE|FRACTION",
    )
    shuffle: bool = setting(
        True,
        "Whether the samples are trained on in an order that the seed draws.",
        off="Train in the order of the data, not in one that the seed draws.",
    )
    samples: int = setting(512, f"Number of samples of --data {ZEROS}.", least=1)
    features: int = setting(4096, f"Number of features of --data {ZEROS}.", least=1)
    loss: Loss = setting(Loss.LOGISTIC, "The loss function that is minimised.")
    positive: str | None = setting(
        None,
        "The class that is told from the rest, or a threshold such as >=5.",
        metavar="CLASS",
    )
    bias: bool = setting(False, "Add a constant feature.")
    bits: int = setting(4, "Bits of a feature that are read: the precision of training.")
    stored_bits: int | None = setting(
        None, "Bits of a feature in memory, if they are more than are read."
    )
    global_scale: bool = setting(False, "Scale all features alike, instead of each by itself.")
    center: bool = setting(
        False,
        "Take its mean off every feature, and add a constant one: allows a larger learning rate."
        " Codes become signed, which takes a bit of their precision.",
    )
    batch: int = setting(64, "Samples of a mini-batch, after which the model is updated.", least=1)
    eta: float | None = setting(
        None, "Learning rate.", shown="from the data: 1 / smoothness of the loss"
    )
    l2_shift: int = setting(
        0, "Weights lose 2^-N of themselves in each mini-batch; 0 is off, all else needs l2=true."
    )
    epochs: int = setting(30, "Number of times that all samples are trained on.", least=1)
    workers: int = setting(
        1,
        "Workers that share the features; two or more are joined by a switch.",
        least=1,
        most=MOST_WORKERS,
    )
    schedule: Schedule = setting(
        Schedule.PIPELINED, "The order of forward pass, communication and backward pass."
    )
    link_latency: int = setting(
        100, "Cycles that a link between worker and switch takes, one way.", least=0, most=4095
    )
    drop: float = setting(0.0, "Chance that a link drops a packet.", least=0, most=1)
    duplicate: float = setting(0.0, "Chance that a link doubles a packet.", least=0, most=1)
    reorder: float = setting(
        0.0, "Chance that a link delays a packet beyond later ones.", least=0, most=1
    )
    corrupt: float = setting(0.0, "Chance that a link flips a bit of a packet.", least=0, most=1)
    displacement: int = setting(
        64, "Most cycles by which a reordered or doubled packet is late.", least=0, most=4095
    )
    timeout: int = setting(
        0,
        "Cycles until a worker repeats a packet; 0 takes what suits the links.",
        least=0,
        most=(1 << 23) - 1,
    )
    retries: int = setting(
        100,
        "Repetitions after which a worker gives a silent switch up; 0 is never.",
        least=0,
        most=255,
    )
    memory_latency: int = setting(
        128,
        "Cycles from a burst's address to its first beat in the simulated memory.",
        least=0,
        most=1023,
    )
    memory_stall: int = setting(
        0, "Chance in 256 that the simulated memory pauses, drawn every cycle.", least=0, most=250
    )
    turnaround: float = setting(
        0.0, "Cycles of each mini-batch that the formula of ideal cycles adds.", least=0
    )
    seed: int = setting(
        1,
        "Number that decides the order of the samples, the memory's pauses and the links' faults.",
        least=0,
        most=(1 << 31) - 1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.has_switch and any(getattr(self, name) for name in CHANCES):
            raise ValueError("a single worker has no links: --workers 2 or more gives it some")

    @property
    def stored(self) -> int:
        """Return the bits of a feature in memory."""
        return self.bits if self.stored_bits is None else self.stored_bits

    @property
    def shares_samples(self) -> bool:
        """Return whether each worker has the whole model and its own samples: data parallelism."""
        return self.schedule is Schedule.DATA_PARALLEL

    @property
    def has_switch(self) -> bool:
        """Return whether there are links at all."""
        return self.workers > 1 or self.schedule is not Schedule.PIPELINED

    @property
    def memory(self) -> MemorySettings:
        """Return the settings of the simulated memories."""
        return MemorySettings(
            latency=self.memory_latency,
            ar_stall=self.memory_stall,
            r_stall=self.memory_stall,
            seed=self.seed,
        )

    @property
    def network(self) -> NetworkSettings | None:
        """Return the settings of the links; None if there are none."""
        if not self.has_switch:
            return None
        alike = (*CHANCES, "displacement", "seed", "timeout", "retries")
        return NetworkSettings(
            latency=self.link_latency, **{name: getattr(self, name) for name in alike}
        )

    def check_hardware(self, params: WorkerParams) -> None:
        """Raise DoesNotFit for what hardware with ``params`` is not built for, or ValueError."""
        engine, workers = params.engine, self.workers
        if not 1 <= self.bits <= engine.max_bits:
            raise DoesNotFit(
                f"bits must be from 1 to {engine.max_bits}, what the hardware is built for:"
                f" {self.bits}"
            )
        if not self.bits <= self.stored <= 8:
            raise ValueError(f"stored bits must be from {self.bits} (the bits) to 8: {self.stored}")
        if self.batch < 8 or self.batch % engine.banks:
            raise ValueError(
                f"batch must be a multiple of {engine.banks}, the banks, and at least 8:"
                f" {self.batch}"
            )
        if self.l2_shift and not engine.l2:
            raise DoesNotFit("the hardware has no L2 term: build it with --set l2=true")
        if self.shares_samples and not engine.data_parallel:
            raise DoesNotFit(
                "the hardware has no data parallelism: build it with --set data_parallel=true"
            )
        if self.shares_samples and self.batch % (engine.banks * workers):
            raise ValueError(
                f"batch must be a multiple of {engine.banks * workers}, the banks of all workers,"
                f" if they share its samples: {self.batch}"
            )
