"""Reproduces figure 14: loss against epochs, of the RTL, its golden model and float64 SGD."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import call
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.choices import Loss
from sim.p4sgd.golden.formula import PAPER_DATA, DataSize, Machine
from sim.p4sgd.reproduce.fitting import hardware_of
from sim.p4sgd.reproduce.paper_size import ENGINE_CYCLES, SECONDS, TURNAROUND, Kind
from sim.p4sgd.reproduce.points import BITS, SCALING
from sim.p4sgd.reproduce.requested import TRAINED, P4sgdRequest
from sim.p4sgd.training_report import Comparison, Row
from sim.p4sgd.training_session import TrainingSession
from sim.p4sgd.training_workload import TrainingWorkload
from sim.reproduce.figure import Claim, Figure, Panel, by_paper, by_us
from sim.reproduce.outcomes import run_all
from sim.workloads.datasets import DataSet, load

WORKERS = 4
BATCH = 64
EPOCHS, QUICK_EPOCHS = 40, 12
DATA = ("digits", "breast-cancer")
SIZES = {data.name: data for data in PAPER_DATA if data.name in TRAINED}
#: share of the features of a sample that are not zero, in generated data
DENSITIES = {"gisette": 0.13, "rcv1": 0.0016}
MOST_VALUES = 1 << 27  #: of generated or read data: 1 GiB as float64
WORKER = Machine(workers=1)  #: what trains on the paper's data: one worker, whole
REQUESTED = TrainingWorkload(
    shuffle=False, reference=False, bits=BITS, batch=BATCH, memory_latency=4
)
FLIPPED = 0.05  #: share of the generated labels that are wrong
TOLERANCE = 1.01  #: factor up to which a loss counts as the same
MAX_LATER = 1  #: epochs by which the RTL may reach the loss later


@dataclass(frozen=True)
class Convergence:
    """Holds a training, epoch by epoch."""

    data: str
    rows: Sequence[Row]
    samples: int
    kind: Kind = Kind.RTL

    @property
    def title(self) -> str:
        """Return the name of the data, and how the curve came about."""
        return f"{self.data}, {self.samples:,} samples\n{self.kind.value}"

    @property
    def target(self) -> float:
        """Return the loss of float64 SGD after three quarters of the epochs, plus 1 %."""
        return self.rows[3 * len(self.rows) // 4 - 1].float_loss * TOLERANCE

    def epochs(self, source: str) -> int | None:
        """Return the epochs that ``source`` needs to reach the target; None if it does not."""
        reached = (row.epoch for row in self.rows if getattr(row, source) <= self.target)
        return next(reached, None)

    @property
    def bit_exact(self) -> bool:
        """Return whether the RTL's weights were the golden model's after every epoch."""
        return all(row.bit_exact for row in self.rows)


def samples_of(size: DataSize, epochs: int) -> int:
    """Return how many samples are trained on, which an hour for all data sets allows."""
    batch = WORKER.pipelined(size.features, BATCH, TURNAROUND) * WORKER.engines / ENGINE_CYCLES
    batches = int(SECONDS / len(SIZES) / epochs / batch)
    return min(size.samples, batches * BATCH, MOST_VALUES // size.features)


def generated(size: DataSize, samples: int) -> DataSet:
    """Return data of this shape: sparse features from 0 to 1, and labels by a linear model."""
    draw = np.random.default_rng(1)
    features = draw.random((samples, size.features))
    features[draw.random(features.shape, dtype=np.float32) >= DENSITIES[size.name]] = 0
    prediction = features @ draw.standard_normal(size.features)
    labels = (prediction > np.median(prediction)) ^ (draw.random(samples) < FLIPPED)
    return DataSet(size.name, features, labels.astype(float), "")


def train(
    hardware: WorkerParams, requested: TrainingWorkload, data: DataSet | None = None
) -> Comparison:
    """Train the RTL and both models side by side."""
    session = TrainingSession(hardware, requested, data)
    with tempfile.TemporaryDirectory() as folder:
        session.run(session.build(session.hardware(hardware, requested)), Path(folder))
    return session.comparison


def small(name: str, epochs: int, link_latency: int) -> Convergence:
    """Train on data of scikit-learn's, by a few small workers and a switch."""
    requested = replace(REQUESTED, data=name, eta=1.0, epochs=epochs, workers=WORKERS)
    hardware = WorkerParams(engines=1, engine=SCALING)
    result = train(hardware, replace(requested, link_latency=link_latency))
    return Convergence(name, result.rows, result.training.samples)


def paper_sized(size: DataSize, file: str | None, epochs: int) -> Convergence:
    """Train on data of the paper's shape, or as many samples of it as an hour allows."""
    count = samples_of(size, epochs)
    data = load(file, loss=Loss.LOGISTIC, most=count) if file else generated(size, count)
    result = train(hardware_of(WORKER), replace(REQUESTED, epochs=epochs), data)
    whole = data.features.shape == (size.samples, size.features)
    kind = Kind.EPOCH if whole else Kind.BATCHES
    return Convergence(size.name, result.rows, len(data.labels), kind)


def trainings(
    requested: P4sgdRequest, quick: bool, progress: Callable[[str], None]
) -> list[Convergence]:
    """Train on all data sets, two at a time; not on those of the paper's shape, if quick."""
    epochs = QUICK_EPOCHS if quick else EPOCHS
    calls = [partial(small, name, epochs, requested.link_latency) for name in DATA]
    for name, size in {} if quick else SIZES.items():
        calls.append(partial(paper_sized, size, requested.files.get(name), epochs))
    words = f"training on {', '.join([*DATA, *([] if quick else SIZES)])}, {epochs} epochs"
    result = run_all(call, calls, lambda _, done: progress(f"{words}: {done} of {len(calls)} done"))
    return [result[own] for own in calls]


def judged(result: Sequence[Convergence], link_latency: int) -> Figure:
    """Return the figure of these trainings."""
    return Figure(
        name="convergence",
        title="Loss against epochs",
        source="section 5.5, figure 14",
        quote="We observe that all the methods require the same number of epochs to converge to"
        " roughly the same loss, because they are all synchronous.",
        setting=f"Logistic regression, s = {BITS}, B = {BATCH}. scikit-learn's digits (0-4 against"
        f" 5-9) and breast-cancer: {WORKERS} workers of 1 engine, {SCALING.banks} x"
        f" {SCALING.lanes}, eta = 1, links of {link_latency} cycles each way. {', '.join(SIZES)}:"
        f" one whole worker of {WORKER.engines} engines, {WORKER.banks} x {WORKER.lanes}, eta = 1 /"
        " smoothness, and data of the paper's shape, generated unless --data names a file; as many"
        " samples as an hour allows. Float64: mini-batch SGD on features that are scaled, not"
        " quantised.",
        rows=[
            {
                "source": each.kind.value,
                "data": each.data,
                "samples": each.samples,
                "epoch": row.epoch,
                "rtl_loss": row.rtl_loss,
                "golden_loss": row.golden_loss,
                "float64_loss": row.float_loss,
                "rtl_accuracy": row.rtl_accuracy,
                "float64_accuracy": row.float_accuracy,
                "bit_exact": row.bit_exact,
                "cycles": row.counters["cycles"],
            }
            for each in result
            for row in each.rows
        ],
        panels=[Panel(each.title, partial(draw, each)) for each in result],
        claims=list(claims(result)),
    )


def claims(result: Sequence[Convergence]) -> Iterator[Claim]:
    """Yield whether all need the same epochs to a loss, and whether the RTL is bit-exact."""
    for each in result:
        rtl, double = each.epochs("rtl_loss"), each.epochs("float_loss")
        assert double is not None
        yield by_paper(
            f"{each.data}: as many epochs as full precision to the same loss, give or take one",
            rtl is not None and abs(rtl - double) <= MAX_LATER,
            f"loss {each.target:.4f} after {rtl or 'no number of'} epochs in RTL with"
            f" {BITS} bits, {double} in float64",
        )
        yield by_us(
            f"{each.data}: weights equal the golden model's, bit for bit",
            each.bit_exact,
            f"{sum(row.bit_exact for row in each.rows)} of {len(each.rows)} epochs",
        )


def draw(result: Convergence, axes: Axes) -> None:
    """Draw three curves of loss."""
    epochs = [row.epoch for row in result.rows]
    styles = {
        "float_loss": ("float64 SGD", {"color": "0.65", "linewidth": 4}),
        "golden_loss": ("golden model", {"color": "tab:blue"}),
        "rtl_loss": ("RTL", {"color": "tab:orange", "marker": "o", "ms": 3, "ls": "none"}),
    }
    for source, (label, style) in styles.items():
        axes.plot(epochs, [getattr(row, source) for row in result.rows], label=label, **style)
    axes.axhline(result.target, color="0.4", linestyle=":", label="loss to reach")
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
