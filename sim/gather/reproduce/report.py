"""Reproduces all figures of the paper that are about fetching rows."""

from collections.abc import Sequence
from functools import cache, partial

from sim.gather.rates import Measured, Requested, measure
from sim.gather.reproduce import alignment, row_size, set_up, threads, training_data, under_way
from sim.gather.reproduce.points import HARDWARE
from sim.gather.reproduce.requested import FIGURES, GatherRequest
from sim.gather.reproduce.runs import measure as measure_engines
from sim.reproduce.contents import items_of
from sim.reproduce.figure import Figure
from sim.reproduce.report import Progress, Report, figures_of, points_of

#: Figures of rates: which points they need, and what becomes of them.
OF_RATES = {
    "alignment": (alignment.points, alignment.figure),
    "under-way": (under_way.points, under_way.figure),
    "training-data": (training_data.points, training_data.figure),
    "set-up": (set_up.points, set_up.figure),
}

METHOD = (
    "The paper fetches scattered rows of a table in host memory by kernels of a GPU, an RTX 3090 on"
    " PCI Express Gen4 x16. Ours fetches them by hardware with a PCIe requester of its own, on a"
    " U280's Gen3 x16. So shares of a link's best case stand beside the paper's, and bandwidths"
    " beside those that its arithmetic gives for each of both links. Measured numbers are those of"
    " counters, in RTL and of a simulated host that has a link's rate, headers and round trip;"
    " every byte that is fetched is compared. DMA is a model everywhere. The paper's numbers are"
    " those of its text; none was read off a chart."
)
QUICK = "\n\nMade with `--quick`: fewer rows, and fewer points of each figure."


def reproduce(
    names: Sequence[str], requested: GatherRequest, *, quick: bool, progress: Progress
) -> Report:
    """Return the figures of these names, in the order of the paper."""
    points = points_of(names, OF_RATES, requested, quick)

    @cache
    def rates() -> dict[Requested, Measured]:
        progress(f"measuring {len(points)} points of a gather on a host", 0, 1)
        return dict(zip(points, measure(HARDWARE, points), strict=True))

    def of_rates(name: str) -> Figure:
        needed, figure = OF_RATES[name]
        return figure(requested, [rates()[item] for item in needed(requested, quick)])

    def of_rows() -> Figure:
        runs = measure_engines(row_size.points(requested, quick), progress)
        return row_size.figure(requested, runs)

    makers = {name: partial(of_rates, name) for name in OF_RATES}
    makers |= {"row-size": of_rows, "threads": threads.figure}
    figures = figures_of(FIGURES, names, makers, progress)
    return Report(
        title="GPU-oriented gather",
        method=METHOD + QUICK * quick,
        figures=figures,
        contents=items_of("gather"),
    )
