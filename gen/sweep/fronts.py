"""Draws the Pareto fronts of a sweep: one metric against each of the sizes that were estimated."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gen.base.errors import UserError
from gen.packages import require
from sim.harness.picture import picture

Columns = Mapping[str, Sequence[Any]]

SIZES = ("luts", "ff", "dsp", "uram", "bram18")  #: metrics that are sizes, in the order of panels
MARKERS = "os^Dv"


def area(index: int) -> int:
    """Return the area of the marker of a value of the third setting."""
    return 20 + 45 * index


def plain(metric: str) -> str:
    """Return a metric's own name; a setting of that name makes its column another."""
    return metric.removeprefix("metric.")


def metrics_of(table: Columns) -> list[str]:
    """Return the names of a table's metrics: they stand between its status and its errors."""
    names = list(table)
    return names[names.index("status") + 1 : names.index("error")]


def free_settings(table: Columns) -> list[str]:
    """Return the settings that differ, without those that follow from one before them."""
    names = list(table)
    result: list[str] = []
    for name in names[1 : names.index("status")]:
        values = table[name]
        follows = any(
            len({*zip(table[n], values, strict=True)}) == len({*table[n]}) for n in result
        )
        if len({*values}) > 1 and not follows:
            result.append(name)
    return result


def front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that no other equals or beats in both numbers, by the first one."""
    result: list[tuple[float, float]] = []
    for size, time in sorted(points):
        if not result or time < result[-1][1]:
            result.append((size, time))
    return result


def write_png(table: Columns, path: Path) -> int:
    """Draw the first metric that is no size against each size, by up to three settings.

    Each value of the third setting has a front of its own.
    Returns how many points are drawn: those that are done. Raises UserError if matplotlib is
    missing, or no metric has both.
    """
    require("sweep export to PNG", "matplotlib")
    metrics = metrics_of(table)
    time = next((name for name in metrics if plain(name) not in SIZES), None)
    sizes = [name for size in SIZES for name in metrics if plain(name) == size and any(table[name])]
    if time is None or not sizes:
        raise UserError(f"a picture needs a metric and sizes: {', '.join(SIZES)}")
    rows = [k for k, status in enumerate(table["status"]) if status == "done"]
    styles = (free_settings(table) + [""] * 3)[:3]
    values = [sorted({table[name][k] for k in rows}) if name else [None] for name in styles]

    def place(k: int, axis: int) -> int:
        return values[axis].index(table[styles[axis]][k]) if styles[axis] else 0

    with picture(path, f"{time} and size, {len(rows)} points", len(sizes)) as panels:
        for axes, size in zip(panels, sizes, strict=True):
            for index in range(len(values[2])):
                best = front(
                    [(table[size][k], table[time][k]) for k in rows if place(k, 2) == index]
                )
                label = "" if index else "Pareto front"
                axes.step(*zip(*best, strict=True), where="post", color="0.6", label=label)
            for k in rows:
                axes.scatter(
                    table[size][k],
                    table[time][k],
                    color=f"C{place(k, 0)}",
                    marker=MARKERS[place(k, 1) % len(MARKERS)],
                    s=area(place(k, 2)),
                    alpha=0.7,
                )
            axes.set(xlabel=plain(size), ylabel=time, yscale="log")
            axes.grid(alpha=0.3)
        for axis, (name, own) in enumerate(zip(styles, values, strict=True)):
            for index, value in enumerate(own if name else ()):
                look = (
                    {"color": f"C{index}"},
                    {"color": "0.3", "marker": MARKERS[index % len(MARKERS)]},
                    {"color": "0.3", "s": area(index)},
                )[axis]
                panels[-1].scatter([], [], label=f"{name} {value}", **look)
        panels[-1].legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    return len(rows)
