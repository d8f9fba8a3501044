"""All figures and tables of the paper that can be reproduced."""

from collections.abc import Sequence

from sim.netsparse.reproduce import queues
from sim.netsparse.reproduce.asked import FIGURES, NetSparseAsked
from sim.netsparse.reproduce.structure import OF_MATRICES
from sim.netsparse.reproduce.subjects import subjects
from sim.reproduce.figure import Figure
from sim.reproduce.report import Progress, Report

METHOD = (
    "The paper's five matrices are not shipped: generated matrices of their families stand for"
    " them, at the scale that each figure states, or real ones that were given with `--matrix`."
    " The paper's numbers stand beside ours; where they differ, the matrices' own statistics say"
    " why."
)


def reproduce(
    names: Sequence[str], asked: NetSparseAsked, *, quick: bool, progress: Progress
) -> Report:
    """The figures of these names, in the order of the paper."""
    given = subjects(asked.matrix or (), scale=asked.scale)
    made: dict[str, Figure] = {}
    of_matrices = [name for name in names if name in OF_MATRICES]
    for done, name in enumerate(of_matrices):
        progress("counting transfers of the matrices", done, len(of_matrices))
        made[name] = OF_MATRICES[name](given)
    if "queues" in names:
        sizes = queues.QUICK_NODES if quick else queues.NODES
        text = "elaborating concatenators and tables"
        made["queues"] = queues.figure(queues.memories(sizes, lambda *of: progress(text, *of)))
    figures = [made[name] for name in FIGURES if name in made]
    return Report(title="NetSparse", method=METHOD, figures=figures)
