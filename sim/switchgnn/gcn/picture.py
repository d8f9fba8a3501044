"""Draws pictures of a training: its curves, and the graph as its workers share it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sim.harness.picture import over_epochs, picture
from sim.switchgnn.gcn.comparison import Row
from sim.switchgnn.gcn.run import GcnRun

#: Maps the source of a curve to how it is drawn, from back to front.
STYLES: dict[str, dict[str, Any]] = {
    "plain": {"label": "without the graph", "color": "tab:green"},
    "float": {"label": "float64", "color": "0.65", "linewidth": 4},
    "golden": {"label": "one worker", "color": "tab:blue"},
    "switch": {"label": "workers", "color": "tab:orange", "linestyle": "", "marker": ".", "ms": 5},
}
MAX_EDGES = 20_000  #: most edges that are drawn


def draw_curves(rows: Sequence[Row], title: str, path: Path) -> None:
    """Draw the loss of the training vertices and the accuracy of the test vertices."""
    epochs = [row.epoch for row in rows]
    kinds = {"loss": "training loss", "test_accuracy": "test accuracy"}
    with picture(path, title, len(kinds)) as axes:
        for axis, (name, text) in zip(axes, kinds.items(), strict=True):
            for source, style in STYLES.items():
                axis.plot(epochs, [getattr(row.qualities[source], name) for row in rows], **style)
            over_epochs(axis, text, len(STYLES))


def draw_traffic(frames: Mapping[str, Mapping[str, Sequence[int]]], path: Path) -> None:
    """Draw the frames of a run by direction and kind, for each worker."""
    title = "frames between workers and switch, counted by the hardware"
    with picture(path, title, 2) as axes:
        for axis, (direction, kinds) in zip(axes, frames.items(), strict=True):
            below: Any = 0
            for kind, counts in kinds.items():
                if any(counts):
                    names = [f"worker {number}" for number in range(len(counts))]
                    axis.bar(names, counts, bottom=below, label=f"{kind}: {sum(counts):,}")
                    below = below + np.array(counts)
            axis.set_title(direction, fontsize="medium")
            axis.set_ylabel("frames")
            axis.set_ylim(0, 1.45 * np.max(below))  # the legend stands above the bars
            axis.legend(fontsize="small", ncols=2, loc="upper left")


def draw_cut(run: GcnRun, path: Path) -> None:
    """Draw vertices by their two main features, coloured by worker, and edges between workers."""
    problem, partition = run.problem, run.partition
    assert partition is not None
    _, directions = np.linalg.eigh(problem.features.T @ problem.features)
    places = problem.features @ directions[:, -2:]
    if places.shape[1] == 1:
        places = np.stack([places[:, 0], np.arange(len(places))], 1)
    ends = np.stack(run.cut.tocoo().coords, 1)
    from matplotlib.collections import LineCollection

    title = "vertices of each worker, and the edges between workers"
    with picture(path, title, 1) as (axis,):
        axis.add_collection(
            LineCollection(list(places[ends[:MAX_EDGES]]), colors="0.6", linewidths=0.3)
        )
        for worker in range(partition.workers):
            own = places[partition.owner == worker]
            axis.plot(*own.T, linestyle="", marker=".", ms=3, label=f"worker {worker}")
        axis.set_xticks([])
        axis.set_yticks([])
        axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
