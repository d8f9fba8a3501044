"""Makes all figures of the paper that plans alone decide."""

from collections.abc import Callable, Sequence

from sim.reproduce.contents import items_of
from sim.reproduce.figure import Figure
from sim.reproduce.report import Progress, Report, figures_of
from sim.switchgnn.reproduce import boundary, congestion, orders, paper, racks, timeline, traffic
from sim.switchgnn.reproduce.requested import FIGURES, SwitchGnnRequest
from sim.switchgnn.reproduce.subjects import (
    QUICK_SCALE,
    QUICK_WORKERS,
    WORKERS,
    Subject,
    subjects,
)

METHOD = (
    "The paper's graphs are not shipped: generated graphs of their kind stand for them, with their"
    " shares of boundary vertices and their copies, and fewer vertices, unless `--graph` gives real"
    " ones. Figures by plans alone count packets, or move them in slots, before any hardware runs:"
    " their switch adds at any rate. *hardware* has the limits of the RTL, by a model that is held"
    " to its cycles. Figure 19 is of a model of queues and of rate control, in time; figures 11 to"
    " 14 were measured on GPUs, and are not made."
)
QUICK = "\n\nMade with `--quick`: graphs of a quarter of the vertices, fewer numbers of workers."


def reproduce(
    names: Sequence[str], requested: SwitchGnnRequest, *, quick: bool, progress: Progress
) -> Report:
    """Make the figures of these names, in the order of the paper."""
    scale = requested.graph_scale * (QUICK_SCALE if quick else 1)
    graphs = subjects(requested.graph or (), scale)
    reddit = graphs[0]
    # Time goes with the size of a graph that is generated.
    half = reddit if quick or not reddit.generated else Subject("reddit", scale / 2)
    workers = QUICK_WORKERS if quick else WORKERS
    busy = workers[-1:] if quick else workers[-2:]
    draws = 1 if quick else congestion.DRAWS
    loads = congestion.QUICK_LOADS if quick else congestion.LOADS
    sizes = (10, 100) if quick else paper.MEMORIES

    def report(text: str) -> None:
        progress(text, 0, 1)

    makers: dict[str, Callable[[], Figure]] = {
        "copies": lambda: boundary.copies(graphs, workers),
        "timeline": lambda: timeline.timelines(reddit),
        "strawman": lambda: traffic.strawmen(graphs),
        "degrees": lambda: boundary.degrees(graphs),
        "star-ring": orders.star_and_ring,
        "components": lambda: boundary.components(graphs, workers),
        "time": lambda: traffic.times(reddit, workers),
        "leaf-spine": lambda: racks.racks(reddit, workers),
        "order": lambda: orders.orders(graphs),
        "memory": lambda: traffic.memories(graphs, sizes),
        "congestion": lambda: congestion.congestion(half, busy, loads, draws, report),
    }
    figures = figures_of(FIGURES, names, makers, progress)
    return Report(
        title="SwitchGNN",
        method=METHOD + QUICK * quick,
        figures=figures,
        contents=items_of("switchgnn"),
    )
