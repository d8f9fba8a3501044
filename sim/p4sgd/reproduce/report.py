"""All figures of the paper that can be reproduced, and the page that shows them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from sim.p4sgd.reproduce import allreduce, convergence, parallelism
from sim.p4sgd.reproduce.batch_size import BATCH_SIZE
from sim.p4sgd.reproduce.figure import Figure
from sim.p4sgd.reproduce.points import Measurements, Point, measure
from sim.p4sgd.reproduce.scale_out import SCALE_OUT
from sim.p4sgd.reproduce.scale_up import SCALE_UP

REPORT = "report.md"

#: Figures of points: which they need, and what becomes of them.
OF_POINTS = {
    "parallelism": (parallelism.points, parallelism.figure),
    **{sweep.name: (sweep.points, sweep.figure) for sweep in (BATCH_SIZE, SCALE_UP, SCALE_OUT)},
}
#: Figures that are simulated on their own.
OF_THEIR_OWN = {"allreduce": allreduce.figure, "convergence": convergence.figure}

#: In the order of the paper.
FIGURES = ("allreduce", "parallelism", "batch-size", "scale-up", "scale-out", "convergence")

METHOD = (
    "Cycles are counted by the hardware's own counters in simulated RTL, in the steady state: a run"
    " of two passes over the data less a run of one. The network's links delay packets by a fixed"
    " number of cycles. What is marked *by the formula* was not simulated: model parallelism in"
    " (B/K) C s + T cycles a mini-batch, with the T measured in RTL."
)

Progress = Callable[[str, int, int], None]  #: what is going on, steps done, steps in all


def reproduce(
    names: Sequence[str], *, quick: bool, link_latency: int, progress: Progress
) -> list[Figure]:
    """The figures of these names, in the order of the paper."""
    asked: list[Point] = []
    for name in names:
        if name in OF_POINTS:
            asked += OF_POINTS[name][0](quick, link_latency)
    alone = [name for name in names if name in OF_THEIR_OWN]
    points = len(set(asked))
    total, made, done = points + len(alone), {}, 0
    for name in alone:
        made[name] = OF_THEIR_OWN[name](
            link_latency, quick, lambda text, done=done: progress(text, done, total)
        )
        done += 1
    found: Measurements = {}
    if asked:
        found = measure(asked, lambda text, count, _: progress(text, done + count, total))
    for name in names:
        if name in OF_POINTS:
            made[name] = OF_POINTS[name][1](quick, link_latency, found)
    return [made[name] for name in FIGURES if name in made]


def write(figures: Sequence[Figure], folder: Path) -> list[str]:
    """Tables, pictures and the page; their names."""
    files = [file for figure in figures for file in figure.write(folder)]
    (folder / REPORT).write_text(page(figures))
    return [REPORT, *files]


def page(figures: Sequence[Figure]) -> str:
    """What was reproduced, as Markdown: a line a figure, then each with all it says."""
    lines = [
        "# P4SGD: the paper's figures, reproduced",
        "",
        METHOD,
        "",
        "| figure | of the paper | statements that hold |",
        "| --- | --- | --- |",
    ]
    for figure in figures:
        hold = sum(claim.holds for claim in figure.claims)
        anchor = f"[{figure.title}](#{slug(figure.title)})"
        lines.append(f"| {anchor} | {figure.source} | {hold} of {len(figure.claims)} |")
    return "\n".join([*lines, "", *(figure.text() for figure in figures)])


def slug(title: str) -> str:
    """The name that Markdown gives a heading."""
    kept = (letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return "".join(kept).replace(" ", "-")
