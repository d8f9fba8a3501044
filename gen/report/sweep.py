"""Makes the part of the page about a sweep: curves, heat map, Pareto front, and its points.

What varies, what was measured, and which axes tell most decide which curves there are.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gen.page.page import Section, environment, thousands
from gen.report.figures import embedded
from gen.sweep.reading import bound_settings, read_results, settings_of
from gen.sweep.store import PointRow, Value

#: settings that scale the hardware; the first that varies is the axis of the curves
SCALES = ("workers", "engines", "nodes", "racks", "units", "clients", "banks", "lanes")
LINES = 10  #: curves in one plot that can still be told apart
#: patterns of metrics' names, best first: of speed, of time, of size
SPEED = ("per_second", "throughput", "goodput", "per_cycle", "efficiency", "rate")
TIME = ("cycles_per_epoch", "^cycles$", "cycles", "seconds")
SIZE = ("^luts$", "^lut$", "dsp", "bram", "ff")
MORE_IS_BETTER = re.compile("|".join((*SPEED, "saved", "fits", "utilisation", "exact")))


@dataclass(frozen=True)
class Axes:
    """Names what the plots show when the page opens; None where nothing varies or was measured."""

    x: str | None  #: parameter on the axis x of the curves and of the heat map
    lines: str | None  #: parameter with a curve for each of its values; the heat map's other axis
    y: str | None  #: metric of the curves and of the heat map
    cost: str | None  #: metric across the Pareto front
    gain: str | None  #: metric along it


@dataclass(frozen=True)
class Sweep:
    """Holds the points of a store, in the store's order."""

    label: str
    spec: Mapping[str, Any]
    points: Sequence[PointRow]

    @cached_property
    def settings(self) -> list[dict[str, Value]]:
        """Return all that was set of each point: its parameters and its workload."""
        return [settings_of(point) for point in self.points]

    @cached_property
    def values(self) -> dict[str, list[Value]]:
        """Return the distinct values of each setting, in order."""
        names = in_order(name for settings in self.settings for name in settings)
        return {
            name: sorted(
                {settings[name] for settings in self.settings if name in settings}, key=sort_key
            )
            for name in names
        }

    @property
    def varying(self) -> list[str]:
        """Return the settings that are not the same at all points."""
        return [name for name in self.values if not self.is_constant(name)]

    @property
    def free(self) -> list[str]:
        """Return the settings that vary and do not follow from others, as derived ones do."""
        bound = bound_settings(self.spec, self.varying)
        return [name for name in self.varying if name not in bound]

    @property
    def constant(self) -> dict[str, Value]:
        """Return the settings that are the same at all points, with their values."""
        return {name: self.values[name][0] for name in self.values if self.is_constant(name)}

    def is_constant(self, name: str) -> bool:
        """Return whether all points have the setting, and one value of it."""
        return len(self.values[name]) == 1 and all(name in s for s in self.settings)

    @cached_property
    def metrics(self) -> list[str]:
        """Return all metrics of any point, those of the specification first."""
        return in_order(
            [*self.requested, *(name for point in self.points for name in point.metrics)]
        )

    @cached_property
    def requested(self) -> list[str]:
        """Return the metrics that the specification names and points have; all if none."""
        measured = in_order(name for point in self.points for name in point.metrics)
        return [name for name in self.spec.get("metrics", ()) if name in measured] or measured

    @property
    def failed(self) -> list[PointRow]:
        """Return the points that ended in an error."""
        return [point for point in self.points if point.status == "failed"]

    @property
    def done(self) -> list[PointRow]:
        """Return the points that have metrics."""
        return [point for point in self.points if point.status == "done"]

    @property
    def is_grid(self) -> bool:
        """Return whether at least half of all combinations of the free settings are there."""
        return 2 * len(self.points) >= math.prod(len(self.values[name]) for name in self.free)

    @cached_property
    def axes(self) -> Axes:
        """Choose the first axes: scale against time, a curve for each value of what varies most."""
        count = {name: len(self.values[name]) for name in self.free if self.is_numeric(name)}
        xs = sorted(count, key=lambda name: (rank(name, SCALES), -count[name]))
        x = xs[0] if xs else None
        others = [name for name in self.free if name != x]
        few = [name for name in others if len(self.values[name]) <= LINES]
        lines = max(few, key=lambda name: len(self.values[name]), default=None)
        speed, time = first(SPEED, self.metrics), first(TIME, self.metrics)
        rest = self.metrics[0] if self.metrics else None
        cost = self.required("minimise") or first(SIZE, self.metrics) or time or rest
        gains = (self.required("maximise"), speed, time)
        gain = next((name for name in gains if name and name != cost), None) or rest
        return Axes(x=x, lines=lines, y=time or speed or rest, cost=cost, gain=gain)

    def required(self, path: str) -> str | None:
        """Return the first metric that the specification minimises or maximises."""
        names = (self.spec.get("search") or {}).get(path) or ()
        return next((name for name in names if name in self.metrics), None)

    def is_numeric(self, name: str) -> bool:
        """Return whether all values of a setting are numbers."""
        return all(is_number(value) for value in self.values[name])


def read_sweep(path: Path, label: str) -> Sweep:
    """Read the sweep of a file; raise UserError if it is none, or is damaged."""
    results = read_results(path)
    return Sweep(label, results.spec, results.points)


def in_order(names: Iterable[str]) -> list[str]:
    """Return each name once, in the order in which the names come."""
    return list(dict.fromkeys(names))


def is_number(value: object) -> bool:
    """Return whether ``value`` is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def sort_key(value: Value) -> tuple[bool, float, str]:
    """Return a key that sorts numbers by size, and before texts."""
    if is_number(value):
        return False, float(value), ""
    return True, 0.0, str(value)


def rank(name: str, names: Sequence[str]) -> int:
    """Return the index of a dotted name's last part in ``names``, or an index behind all."""
    last = name.rpartition(".")[2]
    return names.index(last) if last in names else len(names)


def first(patterns: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the first name that matches the earliest pattern."""
    return next((n for p in patterns for n in names if re.search(p, n.lower())), None)


def more_is_better(metric: str) -> bool:
    """Return whether a metric, by its name, is better when it is larger."""
    return bool(MORE_IS_BETTER.search(metric.lower()))


HERE = Path(__file__).parent

LOG_END = 4000  #: characters of a failed point's log that are shown, the last ones


def sweep_section(sweep: Sweep) -> Section:
    """Make the part of one sweep."""
    template = environment(HERE).get_template("sweep.html.j2")
    html = template.render(
        sweep=sweep,
        waiting=len(sweep.points) - len(sweep.done) - len(sweep.failed),
        panels=panels(sweep),
        data=embedded(plot_data(sweep)),
        setting=lambda point, name: settings_of(point).get(name),
        cell=cell,
        log_end=LOG_END,
        number=lambda name: Markup(' class="n"') if sweep.is_numeric(name) else "",
    )
    return Section(f"Sweep {Path(sweep.label).stem}", html)


def panels(sweep: Sweep) -> dict[str, str]:
    """Return the plots that the points allow, with their titles."""
    axes = sweep.axes
    if not sweep.done or not sweep.metrics:
        return {}
    allowed = {
        "curves": ("Scaling", axes.x),
        "pareto": ("Pareto front", axes.cost != axes.gain),
        "heat": ("Heat map", axes.x and len(sweep.free) > 1),
    }
    return {kind: title for kind, (title, possible) in allowed.items() if possible}


def plot_data(sweep: Sweep) -> dict[str, Any]:
    """Return what the script draws from: free settings, metrics, finished points, axes."""
    axes = sweep.axes
    return {
        "grid": sweep.is_grid,
        "axes": {name: getattr(axes, name) for name in ("x", "lines", "y", "cost", "gain")},
        "settings": [
            {"name": name, "values": sweep.values[name], "numeric": sweep.is_numeric(name)}
            for name in sweep.free
        ],
        "metrics": sweep.metrics,
        "asked": sweep.requested,
        "more": [name for name in sweep.metrics if more_is_better(name)],
        "points": {
            "count": len(sweep.done),
            "settings": by_name([settings_of(p) for p in sweep.done], sweep.varying),
            "metrics": by_name([p.metrics for p in sweep.done], sweep.metrics),
        },
    }


def by_name(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return for each name the list of its values, which is shorter than a name in each row."""
    return {name: [row.get(name) for row in rows] for name in names}


def cell(value: Any) -> str:
    """Return a setting or a metric as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return thousands(value) if value is None or isinstance(value, int | float) else str(value)
