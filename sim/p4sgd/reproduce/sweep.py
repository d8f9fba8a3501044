"""Makes figures in which something doubles: throughput relative to its first value, by features."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from matplotlib.axes import Axes

from sim.p4sgd.golden.formula import PAPER_DATA, Machine
from sim.p4sgd.reproduce.fitting import Row, remarks
from sim.p4sgd.reproduce.paper_size import (
    LEGEND,
    Size,
    counts,
    mark,
    requested_points,
    row_of,
    rows_of,
)
from sim.p4sgd.reproduce.points import Measurements, Point, turnaround
from sim.p4sgd.reproduce.table import follows_formula, measured
from sim.reproduce.figure import Claim, Figure, Panel, by_paper, doubling

MARKERS = "os^Dv"
PAPER_SIZE = "at the paper's size: "  #: begins statements on the paper's data sets and workers


@dataclass(frozen=True)
class Curve:
    """Holds the curve of one number of features."""

    label: str
    features: int
    x: Sequence[int]
    speed_up: Sequence[float]
    ideal: Sequence[float]  #: by the formula
    kinds: Sequence[str]  #: how each point came about

    @property
    def gain(self) -> float:
        """Return the gain from the first value to the last."""
        return self.speed_up[-1]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Describes a figure: what doubles, and what the paper says of it."""

    name: str
    title: str
    source: str
    quote: str
    setting: str  #: what is the same in all points
    what: str  #: name of what doubles
    values: Sequence[int]
    quick_values: Sequence[int]
    features: Sequence[int]
    quick_features: Sequence[int]
    point: Callable[[int, int, int], Point]  #: makes a point of value, features, links' latency
    paper: Callable[[int], tuple[Machine, int]]  #: returns the paper's workers and B of a value
    rises: str  #: the statement that every step helps
    by_features: str  #: the statement on the number of features
    more_features: bool  #: whether more features gain more; else they gain less
    near_linear: str = ""  #: the statement on the largest data set, if there is one
    linear: bool = False  #: whether the linear speed-up is drawn as well

    def series(self, quick: bool, link_latency: int) -> dict[int, list[Point]]:
        """Return a point for each value, by features."""
        return {
            features: [
                self.point(value, features, link_latency)
                for value in (self.quick_values if quick else self.values)
            ]
            for features in (self.quick_features if quick else self.features)
        }

    def points(self, quick: bool, link_latency: int) -> list[Point]:
        """Return all points that must be measured."""
        requested = [point for own in self.series(quick, link_latency).values() for point in own]
        small = requested + [point.turnaround for point in requested]
        return small if quick else small + requested_points(self.sizes(self.values), link_latency)

    def sizes(self, values: Sequence[int]) -> list[Size]:
        """Return the sizes of the paper: its data sets with each value."""
        return [Size(data, *self.paper(value)) for data in PAPER_DATA for value in values]

    def figure(self, quick: bool, link_latency: int, measurements: Measurements) -> Figure:
        """Return the figure: the numbers, two pictures, the claims."""
        series = self.series(quick, link_latency)
        values = self.quick_values if quick else self.values
        rows = {
            features: [measured(point, measurements) for point in own]
            for features, own in series.items()
        }
        curves = [self.measured_curve(features, values, own) for features, own in rows.items()]
        turnarounds = [turnaround(point, measurements) for point in next(iter(series.values()))]
        sizes = self.sizes(values)
        if quick:
            results = turnarounds * len(PAPER_DATA)
            paper_rows = [
                row_of(size, None, link_latency, each, {})
                for size, each in zip(sizes, results, strict=True)
            ]
        else:
            paper_rows = rows_of(sizes, link_latency, measurements)
        paper = self.paper_curves(values, paper_rows)
        whole = [curve for curve in paper if len(curve.x) == len(values)]
        all_rows = [row for own in rows.values() for row in own]
        at_paper_size = [row for row in paper_rows if row["mini_batch_cycles"]]
        shown = ", ".join(f"{each:g}" for each in dict.fromkeys(turnarounds))
        return Figure(
            name=self.name,
            title=self.title,
            source=self.source,
            quote=self.quote,
            setting=f"{self.setting} Links of {link_latency} cycles each way; T = {shown} cycles,"
            f" measured. The paper's data sets are on engines of 8 x 64, s = 4, with the T of"
            f" {'the other hardware' if quick else 'these workers'} at the same value."
            f" {counts(paper_rows)}",
            rows=[*all_rows, *paper_rows],
            panels=[
                Panel("RTL (markers) and formula (lines)", partial(self.draw, curves)),
                Panel(f"the paper's data sets and workers\n{LEGEND}", partial(self.draw, whole)),
            ],
            claims=[
                *self.claims(curves, ""),
                *self.claims(whole, PAPER_SIZE),
                *self.linear_claims(paper),
                follows_formula([*all_rows, *at_paper_size]),
            ],
            note=remarks(paper_rows),
        )

    def measured_curve(self, features: int, values: Sequence[int], rows: Sequence[Row]) -> Curve:
        """Return the curve of the rows of one number of features."""
        return curve(f"D = {features:,}", features, values, rows)

    def paper_curves(self, values: Sequence[int], rows: Sequence[Row]) -> list[Curve]:
        """Return the curves of the paper's data sets, without points that the hardware refuses."""
        curves = []
        for data, own in zip(PAPER_DATA, in_groups(rows, len(values)), strict=True):
            accepted = {
                value: row for value, row in zip(values, own, strict=True) if not row["refused"]
            }
            label = f"{data.name}, D = {data.features:,}"
            if len(accepted) > 1:
                curves.append(curve(label, data.features, list(accepted), [*accepted.values()]))
        return curves

    def claims(self, curves: Sequence[Curve], kind: str) -> list[Claim]:
        """Return what the paper says, judged by these curves."""
        gains = [curve.gain for curve in sorted(curves, key=lambda curve: curve.features)]
        shown = "; ".join(f"{curve.label}: {curve.gain:.2f}" for curve in curves)
        if not self.more_features:
            gains.reverse()
        return [
            by_paper(f"{kind}{self.rises}", all(rises(curve.speed_up) for curve in curves), shown),
            by_paper(f"{kind}{self.by_features}", rises(gains), shown),
        ]

    def linear_claims(self, paper: Sequence[Curve]) -> list[Claim]:
        """Return whether at least 90 % of linear is reached on the data with the most features."""
        features = max(data.features for data in PAPER_DATA)
        most = [curve for curve in paper if self.near_linear and curve.features == features]
        shares = [curve.gain * curve.x[0] / curve.x[-1] for curve in most]
        return [
            by_paper(
                f"{PAPER_SIZE}{self.near_linear} (90 % of it)",
                share >= 0.9,
                f"{curve.label}: {curve.gain:.2f} from {curve.x[0]} to {curve.x[-1]}, {share:.1%}"
                " of linear",
            )
            for curve, share in zip(most, shares, strict=True)
        ]

    def draw(self, curves: Sequence[Curve], axes: Axes) -> None:
        """Draw points by their kinds on the formula's lines."""
        values = curves[0].x
        doubling(axes, values, self.what)
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_ylabel(f"throughput relative to {values[0]}")
        if self.linear:
            best = relative(list(values))
            axes.plot(values, best, color="0.6", linestyle=":", label="linear")
        for index, (curve, marker) in enumerate(zip(curves, MARKERS, strict=False)):
            style = {"color": f"C{index}", "linewidth": 1}
            axes.plot(curve.x, curve.ideal, **style)
            axes.plot([], [], marker, color=f"C{index}", label=curve.label)
            mark(axes, curve.x, curve.speed_up, curve.kinds, marker, f"C{index}")


def curve(label: str, features: int, x: Sequence[int], rows: Sequence[Row]) -> Curve:
    """Return the curve of rows of one number of features."""
    result = [row["batch"] / (row["mini_batch_cycles"] or row["formula_cycles"]) for row in rows]
    ideal = [row["batch"] / row["formula_cycles"] for row in rows]
    kinds = [row["source"] for row in rows]
    return Curve(label, features, x, relative(result), relative(ideal), kinds)


def in_groups(rows: Sequence[Row], size: int) -> list[Sequence[Row]]:
    """Return the rows in groups of one size."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def rises(values: Sequence[float]) -> bool:
    """Return whether each value is above the one before."""
    return all(first < second for first, second in pairwise(values))


def relative(values: Sequence[float]) -> list[float]:
    """Return the values relative to the first."""
    return [value / values[0] for value in values]
