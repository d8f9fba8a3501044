"""Makes the part of the page about graph networks: curves, figures, and frames of each worker."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gen.page.page import Section, environment
from gen.report.figures import axes_of, figure

HERE = Path(__file__).parent

#: maps the source of a curve to how it is drawn, from back to front
STYLES = {
    "plain": {"name": "without the graph", "mode": "lines", "line": {"color": "#2f9e6e"}},
    "float": {"name": "float64", "mode": "lines", "line": {"width": 7, "color": "#9aa7b5"}},
    "golden": {"name": "one worker", "mode": "lines", "line": {"width": 2, "color": "#3b7dc4"}},
    "switch": {"name": "workers", "mode": "markers", "marker": {"size": 7, "color": "#e0862b"}},
}
KINDS = {"loss": "training loss", "test_accuracy": "test accuracy"}


def gcn_section(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> Section:
    """Make one part for all runs, each with its label."""
    template = environment(HERE).get_template("gcn.html.j2")
    rows = [
        (label, run, run["epochs"][-1], [curve(run["epochs"], kind) for kind in KINDS], plots(run))
        for label, run in runs
    ]
    return Section("Graph networks", template.render(runs=rows))


def curve(epochs: Sequence[Mapping[str, Any]], kind: str) -> Any:
    """Return a plot with a curve over the epochs for each training."""
    numbers = [epoch["epoch"] for epoch in epochs]
    traces = [
        {"x": numbers, "y": [epoch[f"{source}_{kind}"] for epoch in epochs], **style}
        for source, style in STYLES.items()
    ]
    return figure(traces, axes_of("epoch", numbers, KINDS[kind]), height=22)


def plots(run: Mapping[str, Any]) -> list[Any]:
    """Return the plots of what the hardware counted: frames, and cycles of the stages of steps."""
    if "stages" not in run:
        return frames(run)
    epochs = [f"epoch {number}" for number in range(1, len(run["stages"]) + 1)]
    traces = [
        {"type": "bar", "name": name, "x": epochs, "y": [each[name] for each in run["stages"]]}
        for name in run["stages"][0]
    ]
    layout = {"barmode": "group", "yaxis": {"title": {"text": "cycles"}}}
    return [*frames(run), figure(traces, layout, height=22)]


def frames(run: Mapping[str, Any]) -> list[Any]:
    """Return plots of the frames from and to each worker; none if no hardware counted them."""
    return [
        figure(
            [
                {
                    "type": "bar",
                    "name": kind,
                    "x": [f"worker {number}" for number in range(len(counts))],
                    "y": counts,
                }
                for kind, counts in kinds.items()
                if any(counts)
            ],
            {"barmode": "stack", "yaxis": {"title": {"text": f"frames {direction}"}}},
            height=20,
        )
        for direction, kinds in run["traffic"].items()
    ]
