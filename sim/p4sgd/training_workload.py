"""Describes what a training run is asked to do, and judges whether hardware can do it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hdl.common.core_clock import CORE_MHZ
from sim.golden.choices import EtaSchedule, Loss, Schedule
from sim.harness.workload import Workload, setting
from sim.p4sgd.training_job import CHANCES, MemorySettings, NetworkSettings
from sim.surroundings.at_a_time import check_cut, chosen_processes
from sim.surroundings.hbm_refresh import INTERVAL_NS, PAUSE_NS, Refresh

if TYPE_CHECKING:
    from hdl.p4sgd.worker_params import WorkerParams

ZEROS = "zeros"  #: data of a given size whose values are all zero
ZERO_SAMPLES = 512  #: samples of them, unless it is said how many
MAX_WORKERS = 16
CUT_WORKERS, CUT_LATENCY = 4, 50  #: least workers, and cycles of their links, for which it pays


@dataclass(frozen=True, kw_only=True)
class TrainingWorkload(Workload):
    """Describes a training run; hardware spends the same cycles whatever values the data have."""

    data: str = setting(
        "digits",
        "Train on these samples: digits, breast-cancer, a LIBSVM or CSV file (.gz, .bz2, .xz too),"
        " an .npz file of arrays X [samples, features] and y [samples] (or features and labels), or"
        f" {ZEROS}, which are as many as --samples and --features say.",
    )
    label: str | None = setting(
        None,
        "Take the labels from this column of a CSV file: its name, or its number from 1 on.",
        metavar="COLUMN",
    )
    test: str | None = setting(
        None,
        "Test on these samples, and do not train on them: a file, or a fraction such as 0.2 of the"
        " data, the last after shuffling.",
        metavar="FILE|FRACTION",
    )
    shuffle: bool = setting(
        True,
        "Train on the samples in an order that the seed draws.",
        off="Train in the order of the data, not in one that the seed draws.",
    )
    samples: int | None = setting(
        None,
        f"Take at most this many samples of the data, the first; make this many of --data {ZEROS}.",
        least=1,
        shown=f"all; {ZERO_SAMPLES} of {ZEROS}",
    )
    features: int = setting(4096, f"Give samples of --data {ZEROS} this many features.", least=1)
    loss: Loss = setting(Loss.LOGISTIC, "Minimise this loss function.")
    positive: str | None = setting(
        None,
        "Tell this class from the rest, or labels apart by a threshold such as >=5. Hardware for"
        " several classes, --set classes=N, takes none: it trains all in one pass.",
        metavar="CLASS",
    )
    bias: bool = setting(False, "Add a constant feature.")
    bits: int = setting(4, "Read this many bits of a feature: the precision of training.")
    stored_bits: int | None = setting(
        None, "Store features with this many bits, if these are more than are read."
    )
    global_scale: bool = setting(False, "Scale all features alike, instead of each by itself.")
    center: bool = setting(
        False,
        "Subtract its mean from every feature, and add a constant one: this allows a larger"
        " learning rate. Codes become signed, which takes a bit of their precision.",
    )
    batch: int = setting(64, "Update the model after this many samples, a mini-batch.", least=1)
    tile: int = setting(
        0,
        "Let this many micro-batches share a read of the weights, a power of two, where the model"
        " is in memory; 0 chooses the number with the fewest cycles.",
        least=0,
        most=16,
    )
    eta: float | None = setting(
        None, "Learn at this rate.", shown="from the data: 1 / smoothness of the loss"
    )
    eta_schedule: EtaSchedule = setting(
        EtaSchedule.CONSTANT,
        "Change the learning rate between epochs: inverse divides it by 1 + t / period after t"
        " epochs, restarts lets it fall along a cosine in each period.",
    )
    eta_period: int = setting(10, "Let a period of the schedule have this many epochs.", least=1)
    l2_shift: int = setting(
        0,
        "Shrink weights by 2^-N of themselves in each mini-batch; 0 is off, others need l2=true.",
    )
    l2: float | None = setting(
        None,
        "Minimise mean loss + LAMBDA / 2 x |weights|^2, of features scaled to 1, with the LAMBDA"
        " nearest to this that hardware has: 2^-N / eta; needs l2=true.",
        least=0,
        most=1e9,
        metavar="LAMBDA",
        shown="what --l2-shift says",
    )
    epochs: int = setting(30, "Train this many times on all samples.", least=1, most=1_000_000)
    patience: int = setting(
        0,
        "End after this many epochs in a row without a lower loss of the --test samples, and keep"
        " the weights of the lowest; 0 trains all epochs and keeps the last.",
        least=0,
    )
    reference: bool = setting(
        True,
        "Fit scikit-learn's model of the same loss to the same samples, and show how good it is.",
        off="Leave out scikit-learn's model of the same loss, which is fitted to the same samples.",
    )
    workers: int = setting(
        1,
        "Share the features (data-parallel: the samples) between this many workers; a switch joins"
        " two or more.",
        least=1,
        most=MAX_WORKERS,
    )
    schedule: Schedule = setting(
        Schedule.PIPELINED, "Run forward pass, communication and backward pass in this order."
    )
    link_latency: int = setting(
        100,
        "Delay packets between worker and switch by this many cycles, one way.",
        least=0,
        most=4095,
    )
    processes: int | None = setting(
        None,
        "Let this many processes simulate at a time: if more than 1, each worker and the switch is"
        " one of its own. The result is the same, to the cycle, for any number.",
        least=1,
        shown=f"the cores for {CUT_WORKERS} workers or more with links of at least {CUT_LATENCY}"
        " cycles, else 1",
    )
    waves_worker: int = setting(
        0,
        "Write the waveform of this worker if --waves asks for one and workers are processes of"
        " their own.",
        least=0,
    )
    drop: float = setting(0.0, "Drop a packet on a link with this chance.", least=0, most=1)
    duplicate: float = setting(0.0, "Double a packet on a link with this chance.", least=0, most=1)
    reorder: float = setting(
        0.0, "Delay a packet beyond later ones on a link with this chance.", least=0, most=1
    )
    corrupt: float = setting(
        0.0, "Flip a bit of a packet on a link with this chance.", least=0, most=1
    )
    displacement: int = setting(
        64, "Delay reordered and doubled packets by at most this many cycles.", least=0, most=4095
    )
    timeout: int = setting(
        0,
        "Repeat a worker's packet after this many cycles; 0 chooses a time that suits the links.",
        least=0,
        most=(1 << 23) - 1,
    )
    retries: int = setting(
        100,
        "Give up on a silent switch after this many repetitions; 0 is never.",
        least=0,
        most=255,
    )
    memory_latency: int = setting(
        128,
        "Let the simulated memory take this many cycles from a burst's address to its first beat.",
        least=0,
        most=1023,
    )
    memory_stall: int = setting(
        0,
        "Pause the simulated memory with this chance in 256, drawn every cycle.",
        least=0,
        most=250,
    )
    memory_refresh: int | None = setting(
        None,
        f"Pause each port of the simulated memory for this many ns every {INTERVAL_NS / 1000:g} us,"
        " as HBM does to refresh its banks; 0 is off.",
        least=0,
        most=INTERVAL_NS // 2,
        shown=f"{PAUSE_NS} for hardware of DSP slices, as presets u280 are, else 0",
    )
    turnaround: float = setting(
        0.0,
        "Add this many cycles to each mini-batch in the formula of ideal cycles.",
        least=0,
        most=1e9,
    )
    seed: int = setting(
        1,
        "Draw with this seed the order of the samples, the memory's pauses and the links' faults.",
        least=0,
        most=(1 << 31) - 1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.has_switch and any(getattr(self, name) for name in CHANCES):
            raise ValueError("a single worker has no links: --workers 2 or more gives it some")
        if self.l2 and self.l2_shift:
            raise ValueError("l2 and l2_shift exclude each other: both set how weights shrink")
        if self.patience and (self.test is None or self.data == ZEROS):
            raise ValueError("patience needs samples that are held out: --test FILE or a fraction")

        if self.workers > 1:
            check_cut(self.processes, self.link_latency)
        if self.waves_worker >= self.workers:
            raise ValueError(
                f"waves_worker must be below the {self.workers} workers: {self.waves_worker}"
            )

    @property
    def at_a_time(self) -> int:
        """Return how many processes work at a time; 1: all is simulated as a whole."""
        pays = self.workers >= CUT_WORKERS and self.link_latency >= CUT_LATENCY
        return chosen_processes(self.processes, pays) if self.workers > 1 else 1

    @property
    def idle(self) -> set[str]:
        """Return the names of the fields that have no effect beside the others."""
        result = {"features"}
        if self.data == ZEROS:
            result = {"test", "shuffle", "positive", "bias", "reference"}
        if not self.has_switch:
            result |= {*CHANCES, "link_latency", "timeout", "retries"}
        if self.workers == 1:
            result |= {"processes"}
        if self.at_a_time == 1:
            result |= {"waves_worker"}
        if self.eta_schedule is EtaSchedule.CONSTANT:
            result |= {"eta_period"}
        return result if self.duplicate or self.reorder else result | {"displacement"}

    @property
    def zeros(self) -> tuple[int, int]:
        """Return how many samples and features there are of zeros."""
        return self.samples or ZERO_SAMPLES, self.features

    @property
    def has_bias(self) -> bool:
        """Return whether a constant feature is added, as centred ones predict zero on average."""
        return self.data != ZEROS and (self.bias or self.center)

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

    def refresh(self, params: "WorkerParams", clock_mhz: float = CORE_MHZ) -> Refresh | None:
        """Return the refresh of the memory of hardware with ``params``; None if there is none."""
        default = PAUSE_NS if params.engine.dsp else 0
        pause = default if self.memory_refresh is None else self.memory_refresh
        return Refresh(pause_ns=pause, clock_mhz=clock_mhz) if pause else None

    def memory(self, params: "WorkerParams", clock_mhz: float = CORE_MHZ) -> MemorySettings:
        """Return the settings of the simulated memories of hardware with ``params``."""
        return MemorySettings(
            latency=self.memory_latency,
            ar_stall=self.memory_stall,
            r_stall=self.memory_stall,
            refresh=self.refresh(params, clock_mhz),
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

    def check_hardware(self, params: "WorkerParams") -> None:
        """Raise ValueError for what hardware with ``params`` is not built for, or none can do."""
        engine, workers = params.engine, self.workers
        if not engine.min_bits <= self.bits <= engine.max_bits:
            raise ValueError(
                f"bits must be from {engine.min_bits} to {engine.max_bits}, what the hardware is"
                f" built for: {self.bits}"
            )
        if not self.bits <= self.stored <= 16:
            raise ValueError(
                f"stored bits must be from {self.bits} (the bits) to 16: {self.stored}"
            )
        if self.batch < 8 or self.batch % engine.banks:
            raise ValueError(
                f"batch must be a multiple of {engine.banks}, the banks, and at least 8:"
                f" {self.batch}"
            )
        if self.tile and not engine.max_tile:
            raise ValueError(
                "tile is for a model in memory: build the hardware with --set max_tile=8, or take"
                " --preset tiled"
            )
        if self.tile & (self.tile - 1) or self.tile > engine.max_tile:
            raise ValueError(
                f"tile must be a power of two up to {engine.max_tile}, what the hardware is built"
                f" for, or 0: {self.tile}"
            )
        if self.tile and self.batch % (engine.banks * self.tile):
            raise ValueError(
                f"batch must be a multiple of {engine.banks * self.tile}, the samples of a tile:"
                f" {self.batch}"
            )
        if params.classes > 1 and self.loss is Loss.LINEAR:
            raise ValueError(
                "several classes in one pass are trained with the logistic or the hinge loss:"
                " --loss logistic, or hardware with --set classes=1"
            )
        if engine.max_tile and self.schedule is Schedule.VANILLA:
            raise ValueError("a model in memory is not trained in vanilla order")
        if (self.l2 or self.l2_shift) and not engine.l2:
            raise ValueError("the hardware has no L2 term: build it with --set l2=true")
        if self.shares_samples and not engine.data_parallel:
            raise ValueError(
                "the hardware has no data parallelism: build it with --set data_parallel=true"
            )
        if self.shares_samples and self.batch % (engine.banks * workers):
            raise ValueError(
                f"batch must be a multiple of {engine.banks * workers}, the banks of all workers,"
                f" if they share its samples: {self.batch}"
            )
