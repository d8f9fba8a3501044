"""Makes the part of the page about training runs: all over each other, then each by itself.

The RTL's curves of all runs share a chart; each run also has one against both its references.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gen.page.page import Section, environment
from gen.report.figures import axes_of, figure

HERE = Path(__file__).parent

#: maps the source of a curve to how it is drawn, from back to front
STYLES = {
    "float": {"name": "float64 SGD", "mode": "lines", "line": {"width": 7, "color": "#9aa7b5"}},
    "golden": {"name": "golden model", "mode": "lines", "line": {"width": 2, "color": "#3b7dc4"}},
    "rtl": {"name": "RTL", "mode": "markers", "marker": {"size": 7, "color": "#e0862b"}},
}

REFERENCE = {
    "name": "scikit-learn",
    "mode": "lines+markers",
    "line": {"width": 2, "color": "#3a9a5b", "dash": "dot"},
    "marker": {"size": 3},
}
FAR = 1.5  #: how far above the curves a reference may be that is drawn


def training_section(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> Section:
    """Make one part for all runs, each with its label."""
    built = environment(HERE)
    built.filters |= {"duration": duration, "loss": shown_loss, "percent": percent}
    template = built.get_template("training.html.j2")
    rows = [
        (label, run, run["epochs"][run.get("kept_epoch", 0) - 1], curves(run))
        for label, run in runs
    ]
    return Section("Training", template.render(runs=rows, overlaid=overlaid(runs)))


def duration(milliseconds: float) -> str:
    """Return a time as people write it: three digits, in the unit that suits it."""
    for unit, size in (("s", 1000.0), ("ms", 1.0), ("us", 0.001)):
        if milliseconds >= size or unit == "us":
            break
    value = milliseconds / size
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{decimals}f} {unit}"


def shown_loss(loss: float | None) -> str:
    """Return a loss with four decimals, so that they stand below each other; a dash for none."""
    return "-" if loss is None or not math.isfinite(loss) else f"{loss:,.4f}"


def percent(share: float | None) -> str:
    """Return a share in percent with two decimals; a dash for none."""
    return "-" if share is None or not math.isfinite(share) else f"{share:.2%}"


def overlaid(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return a plot of the RTL's loss, and one of its accuracy, with a curve for each run.

    None for a single run, which has its own, and none of an accuracy that no run has.
    """
    if len(runs) < 2:
        return {}
    plots = {}
    for kind in ("loss", "accuracy"):
        traces = [
            {"name": label, "mode": "lines+markers", **points(run["epochs"], f"rtl_{kind}")}
            for label, run in runs
            if run["epochs"][0][f"rtl_{kind}"] is not None
        ]
        places = [epoch["epoch"] for _, run in runs for epoch in run["epochs"]]
        if traces:
            axes = axes_of("epoch", places, f"training {kind}")
            plots[kind] = figure(traces, axes, height=26)
    return plots


def curves(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return plots of the loss and, where there is one, of the accuracy, by title."""
    epochs, reference = run["epochs"], run.get("reference") or {}
    kinds = ["loss"] + ["accuracy"] * (epochs[0]["rtl_accuracy"] is not None)
    return {kind: plot(epochs, kind, reference) for kind in kinds}


def plot(epochs: Sequence[Mapping[str, Any]], kind: str, reference: Mapping[str, Any]) -> Any:
    """Return a plot with a curve for each source, and the reference's level unless it is far off.

    The sentence about the reference has its level in any case.
    """
    tested = epochs[0]["rtl_test_loss"] is not None
    kinds = [kind, f"test_{kind}"] if tested else [kind]
    title = f"training and test {kind}" if tested else f"training {kind}"
    traces = [
        {**points(epochs, f"{source}_{item}"), **drawn(style, item)}
        for item in kinds
        for source, style in STYLES.items()
    ]
    top = max((value for trace in traces for value in trace["y"] if value is not None), default=0)
    for item in kinds:
        if (level := reference.get(item)) is not None and level <= FAR * top:
            places = traces[0]["x"]
            traces.append({"x": places, "y": [level] * len(places), **drawn(REFERENCE, item)})
    return figure(traces, axes_of("epoch", traces[0]["x"], title), height=22)


def points(epochs: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Return the points of a curve: ``name`` by epoch."""
    return {"x": [epoch["epoch"] for epoch in epochs], "y": [epoch[name] for epoch in epochs]}


def drawn(style: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return how a curve is drawn: that of the test samples fainter."""
    if not kind.startswith("test_"):
        return style
    return {**style, "name": f"{style['name']}, test", "opacity": 0.45}
