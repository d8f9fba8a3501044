"""Makes the part of the page about training runs: loss by epoch of RTL and both references."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gen.page.page import Section, environment
from gen.report.figures import figure

HERE = Path(__file__).parent

#: maps the source of a curve to how it is drawn, from back to front
STYLES = {
    "float": {"name": "float64 SGD", "mode": "lines", "line": {"width": 7, "color": "#9aa7b5"}},
    "golden": {"name": "golden model", "mode": "lines", "line": {"width": 2, "color": "#3b7dc4"}},
    "rtl": {"name": "RTL", "mode": "markers", "marker": {"size": 7, "color": "#e0862b"}},
}


def training_section(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> Section:
    """Make one part for all runs, each with its label."""
    template = environment(HERE).get_template("training.html.j2")
    rows = [(label, run, run["epochs"][-1], curves(run["epochs"])) for label, run in runs]
    return Section("Training", template.render(runs=rows))


def curves(epochs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return plots of the loss and, where there is one, of the accuracy, by title."""
    kinds = ["loss"] + ["accuracy"] * (epochs[0]["rtl_accuracy"] is not None)
    return {kind: plot(epochs, kind) for kind in kinds}


def plot(epochs: Sequence[Mapping[str, Any]], kind: str) -> Any:
    """Return a plot with a curve for each source."""
    numbers = [epoch["epoch"] for epoch in epochs]
    tested = epochs[0]["rtl_test_loss"] is not None
    kinds = [kind, f"test_{kind}"] if tested else [kind]
    title = f"training and test {kind}" if tested else f"training {kind}"
    traces = [
        {"x": numbers, "y": [epoch[f"{source}_{one}"] for epoch in epochs], **drawn(style, one)}
        for one in kinds
        for source, style in STYLES.items()
    ]
    whole = {"tickmode": "linear", "dtick": max(1, len(epochs) // 10)}
    axes = {"xaxis": {"title": {"text": "epoch"}, **whole}, "yaxis": {"title": {"text": title}}}
    return figure(traces, axes, height=22)


def drawn(style: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return how a curve is drawn: that of the test samples fainter."""
    if not kind.startswith("test_"):
        return style
    return {**style, "name": f"{style['name']}, test", "opacity": 0.45}
