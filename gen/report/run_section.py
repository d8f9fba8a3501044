"""Makes the part of the page about runs whose design has no function of its own for it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gen.page.page import Section, environment
from gen.report.figures import axes_of, figure

HERE = Path(__file__).parent


def run_section(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> Section:
    """Make one part for all runs of a command, each with its label: settings, figures, curves."""
    template = environment(HERE).get_template("run.html.j2")
    rows = [(label, run, plots(run["curves"])) for label, run in runs]
    return Section(runs[0][1]["command"], template.render(runs=rows))


def plots(curves: Mapping[str, Mapping[str, Sequence[float]]]) -> list[Any]:
    """Return a plot for each title, whose first series is the horizontal axis."""
    return [plot(title, curve) for title, curve in curves.items()]


def plot(title: str, curve: Mapping[str, Sequence[float]]) -> Any:
    """Return a plot of lines over the first series of ``curve``."""
    (axis, places), *others = curve.items()
    traces = [{"x": places, "y": numbers, "name": name} for name, numbers in others]
    return figure(traces, axes_of(axis, places, title), height=20)
