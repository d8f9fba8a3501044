"""Shows what software alone makes of a line, by the number of cores: figure 10."""

import numpy as np
from matplotlib.axes import Axes

from sim.netsparse.golden.software import SaOpt
from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.judging import words
from sim.netsparse.reproduce.points import PAPER, SOFTWARE_CYCLES
from sim.reproduce.figure import Figure, Panel, by_paper, doubling

CORES = (1, 2, 4, 8, 16, 32, paper.CORES)
ELEMENTS = tuple(paper.PROPERTY_BYTES)  #: the text does not say which two K the paper drew
JUDGED = 16  #: K of table 7
PRS = 1 << 20  #: PRs of a core


def goodput(cores: int, elements: int) -> float:
    """Return SAOpt's goodput, a share of the line, if all ``cores`` ask for equally much."""
    prs = np.full((1, cores), PRS)
    size = paper.PROPERTY_BYTES[elements]
    own = SaOpt(property_bytes=size, prs=prs, responses=prs * size)  # headers do not count
    return own.goodput(0, PAPER.line_bytes, SOFTWARE_CYCLES)


def figure() -> Figure:
    """Return the figure: a line for each K."""
    shares = {K: [goodput(cores, K) for cores in CORES] for K in ELEMENTS}
    best, most = max(line[-1] for line in shares.values()), shares[JUDGED][-1]
    tails = {name: matrix.tail.goodput_sa for name, matrix in paper.MATRICES.items()}
    name, largest = max(tails.items(), key=lambda item: item[1])
    needed = paper.SOFTWARE_US * most / largest

    def draw(axes: Axes) -> None:
        doubling(axes, CORES, "cores")
        axes.set_ylabel("goodput, % of the line")
        for elements, line in shares.items():
            axes.plot(CORES, [100 * share for share in line], "o-", label=f"K = {elements}")

    return Figure(
        name="goodput",
        title="Goodput of SAOpt by cores, by formula alone",
        source="section 8.1, figure 10",
        quote="the (optimistic) goodput scales almost linearly with the number of cores. [...] the"
        " maximum achievable goodput [...] is far from the optimal 100%.",
        setting=f"All cores ask for equally many properties, each in {paper.SOFTWARE_US} us, of a"
        f" line of {paper.LINE_GBPS} Gb/s; no headers, no network. No software was measured.",
        rows=[
            {"cores": cores, **{f"goodput_{K}": shares[K][k] for K in ELEMENTS}}
            for k, cores in enumerate(CORES)
        ],
        shown=[
            {"cores": cores, **{f"K = {K}": f"{shares[K][k]:.1%}" for K in ELEMENTS}}
            for k, cores in enumerate(CORES)
        ],
        panels=[Panel("goodput of SAOpt", draw)],
        claims=[
            by_paper("even the largest goodput is below 100 %", best < 1, f"{best:.1%}"),
            by_paper(
                f"no tail node of table 7 has more than balanced cores would, at K = {JUDGED}",
                largest <= most,
                f"{most:.1%}; {words(tails, '.0%')}: that of {name} takes {needed:.2f} us a PR",
            ),
        ],
        note=f"{paper.SOFTWARE_US} us a PR are assumed wherever SAOpt is shown: the"
        " paper prints no time. The lines are straight by construction.",
    )
