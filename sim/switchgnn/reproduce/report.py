"""All figures of the paper that plans alone decide."""

from collections.abc import Callable, Sequence

from sim.reproduce.figure import Figure
from sim.reproduce.report import Progress, Report
from sim.switchgnn.reproduce import boundary, orders, paper, traffic
from sim.switchgnn.reproduce.asked import FIGURES, SwitchGnnAsked
from sim.switchgnn.reproduce.subjects import QUICK_SCALE, QUICK_WORKERS, WORKERS, Subject

METHOD = (
    "The paper's graphs are not shipped: generated graphs of their kind stand for them, with their"
    " shares of boundary vertices and their copies, and fewer vertices. All figures here follow"
    " from plans, which are made before any hardware runs: packets are counted, not timed. Figures"
    " 2(a) to 2(c), 16 and 19 need the hardware; 11 to 14 were measured on GPUs, and are not made."
)
QUICK = "\n\nMade with `--quick`: graphs of a quarter of the vertices, fewer numbers of workers."


def reproduce(
    names: Sequence[str], asked: SwitchGnnAsked, *, quick: bool, progress: Progress
) -> Report:
    """The figures of these names, in the order of the paper."""
    scale = asked.graph_scale * (QUICK_SCALE if quick else 1)
    subjects = [Subject(family, scale) for family in paper.DATA_SETS]
    workers = QUICK_WORKERS if quick else WORKERS
    sizes = (10, 100) if quick else paper.MEMORIES
    makers: dict[str, Callable[[], Figure]] = {
        "copies": lambda: boundary.copies(subjects, workers),
        "strawman": lambda: traffic.strawmen(subjects),
        "degrees": lambda: boundary.degrees(subjects),
        "star-ring": orders.star_and_ring,
        "components": lambda: boundary.components(subjects, workers),
        "time": lambda: traffic.times(subjects[0], workers),
        "order": lambda: orders.orders(subjects),
        "memory": lambda: traffic.memories(subjects, sizes),
    }
    wanted = [name for name in FIGURES if name in names]
    figures = []
    for done, name in enumerate(wanted):
        progress(f"planning for {name}", done, len(wanted))
        figures.append(makers[name]())
    return Report(title="SwitchGNN", method=METHOD + QUICK * quick, figures=figures)
