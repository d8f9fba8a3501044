"""Reproduces figure 14: loss against epochs, of the RTL, its golden model and float64 SGD."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from hdl.p4sgd.worker_params import WorkerParams
from sim.p4sgd.reproduce.points import BITS, SCALING
from sim.p4sgd.training_report import Row
from sim.p4sgd.training_session import TrainingSession
from sim.p4sgd.training_workload import TrainingWorkload
from sim.reproduce.figure import Claim, Figure, Panel, by_paper, by_us

WORKERS = 4
BATCH = 64
EPOCHS, QUICK_EPOCHS = 40, 12
DATA = ("digits", "breast-cancer")
TOLERANCE = 1.01  #: factor up to which a loss counts as the same
MAX_LATER = 1  #: epochs by which the RTL may reach the loss later


@dataclass(frozen=True)
class Convergence:
    """Holds a training, epoch by epoch."""

    data: str
    rows: Sequence[Row]

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


def train(data: str, epochs: int, link_latency: int) -> Convergence:
    """Train the RTL and both models side by side."""
    hardware = WorkerParams(engines=1, engine=SCALING)
    requested = TrainingWorkload(
        data=data,
        shuffle=False,
        reference=False,
        eta=1.0,
        bits=BITS,
        batch=BATCH,
        epochs=epochs,
        workers=WORKERS,
        link_latency=link_latency,
        memory_latency=4,
    )
    session = TrainingSession(hardware, requested)
    with tempfile.TemporaryDirectory() as folder:
        session.run(session.build(session.hardware(hardware, requested)), Path(folder))
    return Convergence(data, session.comparison.rows)


def figure(link_latency: int, quick: bool, progress: Callable[[str], None]) -> Figure:
    """Train on both data sets; return the figure."""
    epochs = QUICK_EPOCHS if quick else EPOCHS
    result = []
    for data in DATA:
        progress(f"training on {data}, {WORKERS} workers, {epochs} epochs")
        result.append(train(data, epochs, link_latency))
    return judged(result, link_latency)


def judged(result: Sequence[Convergence], link_latency: int) -> Figure:
    """Return the figure of these trainings."""
    return Figure(
        name="convergence",
        title="Loss against epochs",
        source="section 5.5, figure 14",
        quote="We observe that all the methods require the same number of epochs to converge to"
        " roughly the same loss, because they are all synchronous.",
        setting=f"RTL: {WORKERS} workers of 1 engine, {SCALING.banks} x {SCALING.lanes},"
        f" s = {BITS}, B = {BATCH}, eta = 1, logistic regression; links of {link_latency}"
        " cycles each way. The data sets of the paper are too large to simulate: scikit-learn's"
        " digits (0-4 against 5-9) and breast-cancer. Float64: mini-batch SGD on"
        " features that are scaled, not quantised.",
        rows=[
            {
                "data": each.data,
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
        panels=[Panel(each.data, partial(draw, each)) for each in result],
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
