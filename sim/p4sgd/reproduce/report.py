"""Reproduces all figures of the paper that can be reproduced."""

from collections.abc import Sequence

from sim.p4sgd.reproduce import allreduce, convergence, parallelism
from sim.p4sgd.reproduce.asked import FIGURES, P4sgdAsked
from sim.p4sgd.reproduce.batch_size import BATCH_SIZE
from sim.p4sgd.reproduce.points import Measurements, Point, measure
from sim.p4sgd.reproduce.scale_out import SCALE_OUT
from sim.p4sgd.reproduce.scale_up import SCALE_UP
from sim.reproduce.report import Progress, Report

#: Lists the figures of points: which points they need, and what makes a figure of them.
OF_POINTS = {
    "parallelism": (parallelism.points, parallelism.figure),
    **{sweep.name: (sweep.points, sweep.figure) for sweep in (BATCH_SIZE, SCALE_UP, SCALE_OUT)},
}
#: Lists the figures that are simulated on their own.
OF_THEIR_OWN = {"allreduce": allreduce.figure, "convergence": convergence.figure}

METHOD = (
    "Cycles are counted by the hardware's own counters in simulated RTL, in the steady state: a run"
    " of two passes over the data less a run of one. The network's links delay packets by a fixed"
    " number of cycles. What is marked *by the formula* was not simulated: model parallelism in"
    " (B/K) C s + T cycles a mini-batch, with the T measured in RTL."
)


def reproduce(
    names: Sequence[str], asked: P4sgdAsked, *, quick: bool, progress: Progress
) -> Report:
    """Return the figures of these names, in the order of the paper."""
    link_latency = asked.link_latency
    points: list[Point] = []
    for name in names:
        if name in OF_POINTS:
            points += OF_POINTS[name][0](quick, link_latency)
    alone = [name for name in names if name in OF_THEIR_OWN]
    total, made, done = len(set(points)) + len(alone), {}, 0
    for name in alone:
        made[name] = OF_THEIR_OWN[name](
            link_latency, quick, lambda text, done=done: progress(text, done, total)
        )
        done += 1
    found: Measurements = {}
    if points:
        found = measure(points, lambda text, count, _: progress(text, done + count, total))
    for name in names:
        if name in OF_POINTS:
            made[name] = OF_POINTS[name][1](quick, link_latency, found)
    figures = [made[name] for name in FIGURES if name in made]
    return Report(title="P4SGD", method=METHOD, figures=figures)
