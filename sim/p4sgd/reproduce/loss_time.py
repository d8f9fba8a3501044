"""Reproduces our line of figure 15: the loss of figure 14 against seconds on the card."""

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes

from hdl.common.core_clock import CORE_MHZ
from sim.p4sgd.golden.formula import PAPER_MACHINE
from sim.p4sgd.reproduce.convergence import BATCH, SIZES, Convergence
from sim.p4sgd.reproduce.fitting import TRAINING_SECONDS, Row
from sim.p4sgd.reproduce.paper_size import Size, requested_points, rows_of
from sim.p4sgd.reproduce.points import Measurements, Point
from sim.reproduce.figure import Claim, Figure, Panel, by_paper, by_us


def sizes() -> list[Size]:
    """Return the data sets that are trained on, on all workers of the paper."""
    return [Size(data, PAPER_MACHINE, BATCH) for data in SIZES.values()]


def points(quick: bool, link_latency: int) -> list[Point]:
    """Return all points that must be measured; none are needed for scikit-learn's data."""
    return [] if quick else requested_points(sizes(), link_latency)


def figure(
    trained: Sequence[Convergence], quick: bool, link_latency: int, measurements: Measurements
) -> Figure:
    """Return the figure: losses of ``trained`` at the end of each epoch's seconds."""
    epochs = {} if quick else epoch_rows(link_latency, measurements)
    curves = {each.data: times(each, epochs.get(each.data)) for each in trained}
    return Figure(
        name="loss-time",
        title="Loss against time",
        source="section 5.6, figure 15",
        quote="P4SGD is able to converge up to 6.5X faster than GPUSync [...] P4SGD can converge up"
        " to 67X faster than CPUSync.",
        setting=f"Our line alone, the losses of figure 14. A second has {CORE_MHZ} million cycles."
        " An epoch of scikit-learn's data takes the cycles that its small workers counted; one of"
        f" the paper's data sets takes those of {PAPER_MACHINE.workers} workers of"
        f" {PAPER_MACHINE.engines} engines on all samples, and links of {link_latency} cycles:"
        f" {'; '.join(described(row) for row in epochs.values()) or 'none were trained on'}.",
        rows=[
            {
                "source": each.kind.value,
                "data": each.data,
                "samples": each.samples,
                "epoch": row.epoch,
                "seconds": f"{seconds:.6g}",
                "rtl_loss": row.rtl_loss,
                "float64_loss": row.float_loss,
            }
            for each in trained
            for row, seconds in zip(each.rows, curves[each.data], strict=True)
        ],
        panels=[Panel(each.title, partial(draw, each, curves[each.data])) for each in trained],
        claims=[claim for each in trained for claim in claims(each, curves[each.data])],
    )


def epoch_rows(link_latency: int, measurements: Measurements) -> dict[str, Row]:
    """Return the row of an epoch of each of the paper's data sets."""
    return {row["data"]: row for row in rows_of(sizes(), link_latency, measurements)}


def described(row: Row) -> str:
    """Return in words how long an epoch takes, and how that is known."""
    return f"{row['data']} {row['epoch_seconds']} s ({row['source']})"


def times(trained: Convergence, epoch: Row | None) -> list[float]:
    """Return the seconds at the end of each epoch."""
    if epoch is not None:
        return [row.epoch * float(epoch["epoch_seconds"]) for row in trained.rows]
    cycles = [row.counters["cycles"] for row in trained.rows]
    return [sum(cycles[: k + 1]) / (CORE_MHZ * 1e6) for k in range(len(cycles))]


def claims(trained: Convergence, seconds: Sequence[float]) -> list[Claim]:
    """Return whether the loss is reached in the paper's time, where it has one."""
    epochs = trained.epochs("rtl_loss")
    most = TRAINING_SECONDS.get(trained.data)
    after = f"{seconds[epochs - 1]:.4g} s" if epochs else "never"
    reached = f"loss {trained.target:.4f}: {after}, {epochs or 'no number of'} epochs"
    if most is None:
        return [by_us(f"{trained.data}: the loss is reached at all", epochs is not None, reached)]
    text = f"{trained.data}: converges within the {most} s of table IV"
    return [by_paper(text, bool(epochs and seconds[epochs - 1] <= most), reached)]


def draw(trained: Convergence, seconds: Sequence[float], axes: Axes) -> None:
    """Draw the loss of the RTL against time."""
    losses = [row.rtl_loss for row in trained.rows]
    axes.plot(seconds, losses, marker="o", ms=3, label="RTL's loss")
    axes.axhline(trained.target, color="0.4", linestyle=":", label="loss to reach")
    axes.set_xlabel("seconds on the card")
    axes.set_ylabel("loss")
