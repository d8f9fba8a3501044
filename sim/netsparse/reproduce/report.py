"""Reproduces all figures and tables of the paper that can be reproduced."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

from sim.netsparse.reproduce import (
    ablation,
    balance,
    calibration,
    egress_cache,
    end_to_end,
    goodput,
    queues,
    speed_up,
    tail_node,
    tail_node_rtl,
)
from sim.netsparse.reproduce.adapted_batch import ADAPTED
from sim.netsparse.reproduce.measuring import measure
from sim.netsparse.reproduce.partitions import PARTITIONED
from sim.netsparse.reproduce.points import Point
from sim.netsparse.reproduce.requested import FIGURES, LONG, NetSparseRequest
from sim.netsparse.reproduce.sensitivity import SENSITIVITIES
from sim.netsparse.reproduce.spines import SPINES
from sim.netsparse.reproduce.structure import OF_MATRICES
from sim.netsparse.reproduce.subjects import part_of_the_paper, subjects
from sim.netsparse.reproduce.topology import FAR, TOPOLOGY
from sim.reproduce.contents import items_of
from sim.reproduce.figure import Figure
from sim.reproduce.report import Progress, Report, figures_of, points_of

QUICK_SCALE = 0.25  #: of the generated matrices that clusters multiply

#: Figures of runs: which points they need, and what becomes of them.
OF_RUNS = {
    "speed-up": (speed_up.points, speed_up.figure),
    "end-to-end": (end_to_end.points, end_to_end.spade),
    "breakdown": (end_to_end.points, end_to_end.breakdown),
    "cpus": (end_to_end.points, end_to_end.cpus),
    "tail-node": (tail_node.points, tail_node.figure),
    "tail-node-rtl": (tail_node_rtl.points, tail_node_rtl.figure),
    **{each.name: (each.points, each.figure) for each in (SPINES, PARTITIONED, ADAPTED)},
    **{each.name: (each.points, each.figure) for each in (TOPOLOGY, FAR)},
    "balance": (balance.points, balance.figure),
    "egress-cache": (egress_cache.points, egress_cache.figure),
    "ablation": (ablation.points, ablation.figure),
    **{name: (each.points, each.figure) for name, each in SENSITIVITIES.items()},
    "calibration": (calibration.points, calibration.figure),
}

METHOD = (
    "The paper's five matrices are not shipped: generated matrices of their families stand for"
    " them, at the scale that each figure states, or real ones that were given with `--matrix`."
    " The paper's numbers stand beside ours; where they differ, the matrices' own statistics say"
    " why.\n\n"
    "Figures of clusters come from the counters of SNICs and switches. 128 nodes of the paper's"
    " size are beyond RTL, and run on the model of the same hardware, with the same parameters;"
    " *calibration* sets the model beside the RTL on a cluster of 8, and `--only tail-node-rtl`, in"
    " hours, on one of 128 with small SNICs. Cycles are those of"
    " the paper's SNIC, of 2.2 GHz, in which a client takes an idx and a line of 400 Gb/s brings"
    " 22.7 bytes: links of ours, of 64 bytes, stand still for the rest of the time. *Scaled* runs"
    " have batch, cache and latencies multiplied by our nonzeros for each one of the paper's, as"
    " many pending entries for each cycle of a PR's way as there, and a middle pipe for each port,"
    " because a pipe of the paper's switch carries four lines; a client gets a consecutive share of"
    " its node's requests, because scaled requests are so short that neighbouring ones ask for the"
    " same idxs, which clients that run them at the same time do twice. *Unscaled* ones deal"
    " requests in turn and have the numbers of table 5. The hardware's own pipelines, and"
    " DelayCycles, do not shrink, so that latencies weigh more in short runs than in the paper's:"
    " traffic is judged before time."
)
QUICK = (
    "\n\nMade with `--quick`: clusters multiply generated matrices of a quarter of the rows, fewer"
    " values are swept, batches are adapted for three matrices, and calibration, which needs a"
    " simulator of the RTL, is left out unless `--only` names it."
)


def titled(figure: Figure, points: Sequence[Point]) -> Figure:
    """Return ``figure`` with a title that says what its runs were made on."""
    engines = {point.cluster.engine for point in points}
    source = "the model alone" if engines == {"model"} else " and ".join(sorted(engines))
    return replace(figure, title=f"{figure.title}, from {source}")


def reproduce(
    names: Sequence[str], requested: NetSparseRequest, *, quick: bool, progress: Progress
) -> Report:
    """Return the figures of these names, in the order of the paper."""
    if set(names) == set(FIGURES):
        left_out = {*LONG, "calibration"} if quick else LONG
        names = [name for name in names if name not in left_out]
    part, rows = QUICK_SCALE if quick else 1, part_of_the_paper()
    whole = subjects(requested.matrix or (), scale=requested.scale, rows_of_node=rows)
    small = subjects(requested.matrix or (), scale=requested.scale * part, rows_of_node=rows)
    points = points_of(names, OF_RUNS, small, quick)
    result = cache(lambda: measure(points, progress))

    def of_queues() -> Figure:
        sizes = queues.QUICK_NODES if quick else queues.NODES
        text = "elaborating concatenators and tables"
        return queues.figure(queues.memories(sizes, lambda *of: progress(text, *of)))

    makers = {name: partial(figure, whole) for name, figure in OF_MATRICES.items()}
    makers |= {
        name: lambda of=of, figure=figure: titled(figure(small, quick, result()), of(small, quick))
        for name, (of, figure) in OF_RUNS.items()
    }
    formulas = {"queues": of_queues, "goodput": goodput.figure}
    figures = figures_of(FIGURES, names, makers | formulas, progress)
    return Report(
        title="NetSparse",
        method=METHOD + QUICK * quick,
        figures=figures,
        contents=items_of("netsparse"),
    )
