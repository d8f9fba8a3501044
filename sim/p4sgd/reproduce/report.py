"""Reproduces all figures of the paper that can be reproduced."""

from collections.abc import Callable, Sequence
from functools import cache, partial

from sim.p4sgd.reproduce import (
    allreduce,
    convergence,
    epoch_time,
    loss_time,
    parallelism,
    schedules,
)
from sim.p4sgd.reproduce.points import Measurements, measure
from sim.p4sgd.reproduce.requested import FIGURES, P4sgdRequest
from sim.p4sgd.reproduce.scaling import BATCH_SIZE, SCALE_OUT, SCALE_UP
from sim.reproduce.contents import items_of
from sim.reproduce.figure import Figure
from sim.reproduce.report import Progress, Report, figures_of, points_of

#: Lists the figures of points: which points they need, and what makes a figure of them.
OF_POINTS = {
    "schedules": (schedules.points, schedules.figure),
    "parallelism": (parallelism.points, parallelism.figure),
    "epoch-time": (epoch_time.points, epoch_time.figure),
    "loss-time": (loss_time.points, loss_time.figure),
    **{sweep.name: (sweep.points, sweep.figure) for sweep in (BATCH_SIZE, SCALE_UP, SCALE_OUT)},
}
#: Lists the figures that are simulated on their own.
SIMULATED_ALONE = {"allreduce": allreduce.figure}
#: Lists the figures of trainings; of these, loss-time needs points as well.
OF_TRAININGS = {"convergence", "loss-time"}

METHOD = (
    "Cycles are counted by the hardware's own counters in simulated RTL, in the steady state: a run"
    " of two passes over the data less a run of one. The network's links delay packets by a fixed"
    " number of cycles. Each row of a table says how it came about: *RTL* is of this row's size,"
    " *RTL, paper's shape* is a whole epoch of data with the paper's features and samples on the"
    " paper's workers, and *RTL, fewer samples* has all of this but the samples. What is marked"
    " *formula* was not simulated: model parallelism in (B/K) C s + T cycles a mini-batch, with the"
    " T measured in RTL."
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

    makers: dict[str, Callable[[], Figure]] = {}
    makers |= {name: partial(alone, figure) for name, figure in SIMULATED_ALONE.items()}
    makers |= {name: partial(of_points, figure) for name, (_, figure) in OF_POINTS.items()}
    trained = cache(
        lambda: convergence.trainings(requested, quick, lambda text: progress(text, 0, 1))
    )
    makers["convergence"] = lambda: convergence.judged(trained(), link_latency)
    makers["loss-time"] = lambda: of_points(partial(loss_time.figure, trained()))
    figures = figures_of(FIGURES, names, makers, progress)
    method = METHOD + (speed(result()) if points else "")
    return Report(title="P4SGD", method=method, figures=figures, contents=items_of("p4sgd"))


def speed(measurements: Measurements) -> str:
    """Return how fast the points of the paper's size were simulated, if there are any."""
    spent = {point: each for point, each in measurements.items() if point.samples}
    seconds = sum(each.seconds for each in spent.values())
    if not seconds:
        return ""
    engines = sum(each.cycles * p.workers * p.hardware.engines for p, each in spent.items())
    return f" These simulations took {engines / seconds:,.0f} cycles of an engine a second."
