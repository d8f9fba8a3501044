"""Makes the part of the page about a sweep: curves, heat map, Pareto front, and its points."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gen.page.page import Section, environment, thousands
from gen.report.figures import embedded
from gen.report.sweep import Sweep, more_is_better
from gen.sweep.reading import settings_of

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
        "heat": ("Heat map", axes.x and len(sweep.varying) > 1),
    }
    return {kind: title for kind, (title, possible) in allowed.items() if possible}


def plot_data(sweep: Sweep) -> dict[str, Any]:
    """Return what the script draws from: varying settings, metrics, finished points, axes."""
    axes = sweep.axes
    return {
        "grid": sweep.is_grid,
        "axes": {name: getattr(axes, name) for name in ("x", "lines", "y", "cost", "gain")},
        "settings": [
            {"name": name, "values": sweep.values[name], "numeric": sweep.is_numeric(name)}
            for name in sweep.varying
        ],
        "metrics": sweep.metrics,
        "asked": sweep.asked,
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
