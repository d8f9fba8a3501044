"""Decides which points of the paper's data sets and workers are simulated, by what that costs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from matplotlib.axes import Axes

from hdl.common.core_clock import CORE_MHZ
from sim.golden.choices import Schedule
from sim.p4sgd.golden.formula import DataSize, Machine
from sim.p4sgd.reproduce.fitting import Row, hardware_of, held, refusal
from sim.p4sgd.reproduce.points import Measurements, Point, turnaround
from sim.p4sgd.reproduce.table import by_formula, measured

ENGINE_CYCLES = 50_000  #: cycles of one engine of 8 x 64 that a second of simulation takes
SECONDS = 3600.0  #: what a figure's points of the paper's size may take, by ENGINE_CYCLES
TURNAROUND = 350  #: cycles that T is taken for before it is measured, with links of 130 cycles


class Kind(StrEnum):
    """Says how a row came about."""

    RTL = "RTL"  #: at this size, which is not the paper's
    EPOCH = "RTL, paper's shape"  #: features, samples and workers are the paper's
    BATCHES = "RTL, fewer samples"  #: all but the samples; the epoch is extrapolated
    FORMULA = "formula"

    @property
    def marker(self) -> dict[str, str]:
        """Return how a point of it is drawn."""
        return {
            Kind.RTL: {"fillstyle": "full"},
            Kind.EPOCH: {"fillstyle": "full"},
            Kind.BATCHES: {"fillstyle": "none"},
            Kind.FORMULA: {"marker": "x"},
        }[self]


def mark(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    kinds: Sequence[str],
    marker: str,
    color: str,
) -> None:
    """Draw points, each with the marker of how it came about."""
    for at, value, kind in zip(x, y, kinds, strict=True):
        style: dict[str, Any] = {"marker": marker, "color": color, **Kind(kind).marker}
        axes.plot([at], [value], **style)


LEGEND = "filled: RTL, whole epoch; hollow: RTL, fewer samples; x: formula"


@dataclass(frozen=True)
class Size:
    """Names a data set, workers and a mini-batch of the paper."""

    data: DataSize
    machine: Machine
    batch: int

    @property
    def refused(self) -> str:
        """Return why the hardware cannot train on it; nothing if it can."""
        return refusal(self.data, self.machine, self.batch, Schedule.PIPELINED)

    @property
    def fits(self) -> bool:
        """Return whether the memories hold all samples."""
        return held(self.data, self.machine, Schedule.PIPELINED) == self.data.samples

    def point(self, link_latency: int, whole: bool = False) -> Point:
        """Return what is simulated: an epoch, or mini-batches in the steady state."""
        return Point(
            workers=self.machine.workers,
            hardware=hardware_of(self.machine),
            features=self.data.features,
            batch=self.batch,
            link_latency=link_latency,
            samples=self.data.samples if whole else self.batch,
            whole=whole,
        )


def seconds(point: Point) -> float:
    """Return what the simulation of a point is estimated to take, without building it."""
    cycles = sum(point.passes) * point.batches * point.ideal(TURNAROUND)
    return cycles * point.workers * point.hardware.engines / ENGINE_CYCLES


def chosen(sizes: Iterable[Size], link_latency: int, most: float = SECONDS) -> dict[Size, Point]:
    """Return the points that are simulated, in ``most`` seconds by :func:`seconds`.

    The cheapest come first: mini-batches of as many sizes as possible, then whole epochs in their
    place.
    """
    result: dict[Size, Point] = {}
    left = most
    sizes = [size for size in dict.fromkeys(sizes) if not size.refused]
    for whole in (False, True):
        points = {size: size.point(link_latency, whole) for size in sizes}
        for size in sorted(points, key=lambda size: seconds(points[size])):
            more = seconds(points[size])
            if whole:
                if size not in result or not size.fits:
                    continue
                more -= seconds(result[size])
            if more > left:
                break
            left -= more
            result[size] = points[size]
    return result


def requested_points(sizes: Sequence[Size], link_latency: int) -> list[Point]:
    """Return all points that must be measured, with those that show T of each of the workers."""
    simulated = list(chosen(sizes, link_latency).values())
    of_workers = [size.point(link_latency).turnaround for size in sizes]
    return list(dict.fromkeys([*simulated, *of_workers]))


def row_of(
    size: Size, point: Point | None, link_latency: int, result: float, measurements: Measurements
) -> Row:
    """Return the row of a size: measured if ``point`` was simulated, else by the formula with T."""
    machine = size.point(link_latency).machine
    cycles = machine.pipelined(size.data.features, size.batch, result)
    row = by_formula(size.data, size.machine, size.batch, Schedule.PIPELINED, result, cycles)
    if point is None:
        return row
    batches = point.batches if point.whole else -(-size.data.samples // size.batch)
    names = ("mini_batch_cycles", "formula_cycles", "deviation", "samples_per_kilocycle")
    own = measured(point, measurements)
    epoch = batches * measurements[point].batch_cycles / (CORE_MHZ * 1e6)
    kind = Kind.EPOCH if point.whole else Kind.BATCHES
    return {**row, **{name: own[name] for name in names}} | {
        "source": kind.value,
        "epoch_seconds": f"{epoch:.4g}",
    }


def rows_of(sizes: Sequence[Size], link_latency: int, measurements: Measurements) -> list[Row]:
    """Return the rows of sizes, with the T that was measured on each one's workers."""
    simulated = chosen(sizes, link_latency)
    return [
        row_of(
            size,
            simulated.get(size),
            link_latency,
            turnaround(size.point(link_latency), measurements),
            measurements,
        )
        for size in sizes
    ]


def counts(rows: Sequence[Row]) -> str:
    """Return in words how many rows came about in which way."""
    kinds = {kind: sum(row["source"] == kind for row in rows) for kind in Kind}
    shown = ", ".join(f"{count} {kind.value}" for kind, count in kinds.items() if count)
    text = f"Points of the paper's data sets: {shown}."
    if not any(row["mini_batch_cycles"] for row in rows):
        return text
    return (
        f"{text} The cheapest are simulated, up to {SECONDS:,.0f} s at {ENGINE_CYCLES:,} cycles of"
        " an engine a second."
    )
