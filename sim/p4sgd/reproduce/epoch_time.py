"""Reproduces our line of figure 13: the time of an epoch against workers and mini-batch size."""

from collections.abc import Sequence
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
from sim.p4sgd.reproduce.scaling import scaling
from sim.p4sgd.reproduce.sweep import MARKERS, in_groups
from sim.p4sgd.reproduce.table import follows_formula
from sim.reproduce.figure import Claim, Figure, Panel, by_paper, doubling

WORKERS, QUICK_WORKERS = (1, 2, 4, 8), (1, 4)
BATCHES = (16, 64, 256)


def sizes(workers: Sequence[int]) -> list[Size]:
    """Return all sizes: for each mini-batch the data sets, and for each of these the workers."""
    return [
        Size(data, Machine(workers=count), batch)
        for batch in BATCHES
        for data in PAPER_DATA
        for count in workers
    ]


def small(link_latency: int) -> dict[int, Point]:
    """Return points of small workers that show T, by the number of workers."""
    return {count: scaling(0, link_latency, count).turnaround for count in QUICK_WORKERS}


def points(quick: bool, link_latency: int) -> list[Point]:
    """Return all points that must be measured."""
    if quick:
        return [*small(link_latency).values()]
    return requested_points(sizes(WORKERS), link_latency)


def figure(quick: bool, link_latency: int, measurements: Measurements) -> Figure:
    """Return the figure: seconds of an epoch, a picture for each mini-batch size."""
    workers = QUICK_WORKERS if quick else WORKERS
    requested = sizes(workers)
    if quick:
        shown = {n: turnaround(each, measurements) for n, each in small(link_latency).items()}
        rows = [
            row_of(size, None, link_latency, shown[size.machine.workers], {}) for size in requested
        ]
    else:
        rows = rows_of(requested, link_latency, measurements)
    lines = [own for own in in_groups(rows, len(workers)) if not any(r["refused"] for r in own)]
    of_rtl = [row for row in rows if row["mini_batch_cycles"]]
    return Figure(
        name="epoch-time",
        title="Time of an epoch",
        source="section 5.4.2, figure 13",
        quote="P4SGD is significantly faster than the other three counterparts and has the highest"
        " scalability.",
        setting=f"Our line alone: the other three need GPUs, CPUs and SwitchML. Workers of 8"
        f" engines, 8 x 64, s = 4, links of {link_latency} cycles each way. {counts(rows)}",
        rows=rows,
        panels=[
            Panel(f"B = {batch}\n{LEGEND}", partial(draw, workers, lines, batch))
            for batch in BATCHES
        ],
        claims=[*claims(lines), *([follows_formula(of_rtl)] if of_rtl else [])],
        note=remarks(rows, "workers"),
    )


def seconds(row: Row) -> float:
    """Return the time of an epoch."""
    return float(row["epoch_seconds"])


def claims(lines: Sequence[Sequence[Row]]) -> list[Claim]:
    """Return what the paper says of its own line."""
    gains = {(own[0]["batch"], own[0]["data"]): seconds(own[0]) / seconds(own[-1]) for own in lines}
    falling = all(seconds(left) > seconds(right) for own in lines for left, right in pairwise(own))
    shown = "; ".join(f"B = {batch}, {data}: {gain:.2f}" for (batch, data), gain in gains.items())
    by_batch = [
        gains[small, data] <= gains[large, data] * 1.01
        for (small, data) in gains
        for large in BATCHES
        if large > small
    ]
    return [
        by_paper("more workers take less time for an epoch", falling, shown),
        by_paper("a larger mini-batch scales no worse", all(by_batch), shown),
    ]


def draw(workers: Sequence[int], lines: Sequence[Sequence[Row]], batch: int, axes: Axes) -> None:
    """Draw the lines of one mini-batch size, a marker for each data set."""
    doubling(axes, workers, "workers M")
    axes.set_yscale("log")
    axes.set_ylabel("seconds of an epoch")
    own = [line for line in lines if line[0]["batch"] == batch]
    for index, (line, marker) in enumerate(zip(own, MARKERS, strict=False)):
        color = f"C{index}"
        axes.plot(workers, [*map(seconds, line)], color=color, linewidth=1)
        axes.plot([], [], marker, color=color, label=line[0]["data"])
        kinds = [row["source"] for row in line]
        mark(axes, workers, [*map(seconds, line)], kinds, marker, color)
