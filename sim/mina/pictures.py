"""Draws pictures of a schedule."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sim.mina.files import in_use, parts_of
from sim.mina.schedule import Schedule

COLUMNS = 600  #: number of columns of the map of the cluster
SIZE = (9.0, 4.2)
FEW = 20  #: jobs, whose number needs no decades


def draw_all(folder: Path, schedule: Schedule) -> Mapping[str, str]:
    """Write every picture; return its name and what it shows."""
    pictures: dict[str, tuple[str, Callable[[Any, Schedule], None]]] = {
        "cluster.png": ("Which job each host runs, over time", draw_cluster),
        "switches.png": ("Share of the time that each switch adds up", draw_switches),
        "timelines.png": ("Hosts in use, jobs that run and jobs that wait", draw_timelines),
        "scores.png": ("Score by model and number of hosts", draw_scores),
    }
    for name, (_, draw) in pictures.items():
        figure = Figure(figsize=SIZE)
        FigureCanvasAgg(figure)
        draw(figure, schedule)
        figure.tight_layout()
        figure.savefig(folder / name, dpi=110)
    return {name: title for name, (title, _) in pictures.items()}


def draw_cluster(figure: Figure, schedule: Schedule) -> None:
    """Draw a row for each host, coloured by the model of its job."""
    axes = figure.subplots()
    models = list(dict.fromkeys(job.model for job in schedule.provided.jobs))
    end = float(schedule.finished.max())
    image = np.full((schedule.requested.cluster.hosts, COLUMNS), np.nan)
    for number, hosts in enumerate(schedule.placed):
        since, until = np.array([schedule.begun[number], schedule.finished[number]]) / end * COLUMNS
        image[hosts, int(since) : max(int(until), int(since) + 1)] = models.index(
            schedule.provided.jobs[number].model
        )
    axes.imshow(
        image,
        aspect="auto",
        interpolation="nearest",
        cmap="tab10",
        vmin=0,
        vmax=9,
        origin="lower",
        extent=(0, end, 0, image.shape[0]),
    )
    colours = colormaps["tab10"]
    patches = [Patch(color=colours(i / 9), label=name) for i, name in enumerate(models)]
    axes.legend(handles=patches, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    axes.set_xlabel("seconds")
    axes.set_ylabel("host")


def draw_switches(figure: Figure, schedule: Schedule) -> None:
    """Draw a panel for each layer, the busiest switch first."""
    cluster = schedule.requested.cluster
    panels = figure.subplots(1, cluster.layers, sharey=True, squeeze=False)[0]
    first = 0
    for layer, axes in enumerate(panels, 1):
        count = cluster.switches_of(layer)
        share = schedule.busy[first : first + count] / schedule.finished.max()
        axes.bar(np.arange(count), np.sort(share)[::-1], width=1.0)
        axes.set_title(f"{count} {cluster.name_of(layer)} switches", fontsize=9)
        axes.set_xlabel("switch, busiest first")
        axes.xaxis.get_major_locator().set_params(integer=True)
        first += count
    panels[0].set_ylabel("share of the time in INA")
    panels[0].set_ylim(bottom=0)


def draw_timelines(figure: Figure, schedule: Schedule) -> None:
    """Draw hosts in use above, and jobs below, against time."""
    above, below = figure.subplots(2, 1, sharex=True)
    times, used = in_use(schedule)
    above.step(times, used, where="post")
    above.axhline(schedule.requested.cluster.hosts, linestyle=":", color="0.5")
    above.set_ylabel("hosts in use")
    at = np.sort(np.concatenate([schedule.begun, schedule.finished]))
    arrived = np.sort([job.arrival for job in schedule.provided.jobs])
    begun, ended = (
        np.searchsorted(np.sort(each), at, "right") for each in (schedule.begun, schedule.finished)
    )
    below.step(at, begun - ended, where="post", label="running")
    below.step(at, np.searchsorted(arrived, at, "right") - begun, where="post", label="waiting")
    if len(schedule.placed) > FEW:
        below.set_yscale("symlog")
    else:
        below.yaxis.get_major_locator().set_params(integer=True)
    below.set_ylim(bottom=0)
    below.set_xlabel("seconds")
    below.set_ylabel("jobs")
    below.legend(fontsize=8)


def draw_scores(figure: Figure, schedule: Schedule) -> None:
    """Draw a cell for each model and size; grey where INA is of no use."""
    axes: Axes = figure.subplots()
    parts = parts_of(schedule)
    models = list(dict.fromkeys(model for model, _ in parts))
    sizes = list(dict.fromkeys(size for _, size in parts))
    values = [[parts[model, size] for size in sizes] for model in models]
    image = np.array([[np.nan if each is None else each for each in row] for row in values])
    axes.set_facecolor("0.85")
    axes.set_title("score: share that is saved of what INA could save", fontsize=10)
    axes.imshow(image, aspect="auto", cmap="RdYlGn", vmin=0, vmax=1)
    for row, cells in enumerate(values):
        for column, each in enumerate(cells):
            text = "-" if each is None else f"{each:.2f}"
            dark = each is not None and abs(each - 0.5) > 0.35  # of the colours
            color = "white" if dark else "black"
            axes.text(column, row, text, ha="center", va="center", fontsize=8, color=color)
    axes.set_xticks(range(len(sizes)), ["all" if size is None else str(size) for size in sizes])
    axes.set_yticks(range(len(models)), ["all" if model is None else model for model in models])
    axes.set_xlabel("hosts")
