"""Reproduces all figures of the paper that can be reproduced."""

from collections.abc import Callable, Sequence
from functools import cache, partial

from sim.p4sgd.reproduce import allreduce, convergence, parallelism
from sim.p4sgd.reproduce.points import measure
from sim.p4sgd.reproduce.requested import FIGURES, P4sgdRequest
from sim.p4sgd.reproduce.scaling import BATCH_SIZE, SCALE_OUT, SCALE_UP
from sim.reproduce.figure import Figure
from sim.reproduce.report import Progress, Report, figures_of, points_of

#: Lists the figures of points: which points they need, and what makes a figure of them.
OF_POINTS = {
    "parallelism": (parallelism.points, parallelism.figure),
    **{sweep.name: (sweep.points, sweep.figure) for sweep in (BATCH_SIZE, SCALE_UP, SCALE_OUT)},
}
#: Lists the figures that are simulated on their own.
SIMULATED_ALONE = {"allreduce": allreduce.figure, "convergence": convergence.figure}

METHOD = (
    "Cycles are counted by the hardware's own counters in simulated RTL, in the steady state: a run"
    " of two passes over the data less a run of one. The network's links delay packets by a fixed"
    " number of cycles. What is marked *by the formula* was not simulated: model parallelism in"
    " (B/K) C s + T cycles a mini-batch, with the T measured in RTL."
)


def reproduce(
    names: Sequence[str], requested: P4sgdRequest, *, quick: bool, progress: Progress
) -> Report:
    """Return the figures of these names, in the order of the paper."""
    link_latency = requested.link_latency
    points = points_of(names, OF_POINTS, quick, link_latency)
    result = cache(lambda: measure(points, progress))

    def alone(figure: Callable[..., Figure]) -> Figure:
        return figure(link_latency, quick, lambda text: progress(text, 0, 1))

    def of_points(figure: Callable[..., Figure]) -> Figure:
        return figure(quick, link_latency, result())

    makers = {name: partial(alone, figure) for name, figure in SIMULATED_ALONE.items()}
    makers |= {name: partial(of_points, figure) for name, (_, figure) in OF_POINTS.items()}
    figures = figures_of(FIGURES, names, makers, progress)
    return Report(title="P4SGD", method=METHOD, figures=figures)
