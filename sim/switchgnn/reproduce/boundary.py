"""Makes figures 1, 7 and 9: the boundary vertices of graphs, before any plan."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from scipy.sparse.csgraph import connected_components

from sim.reproduce.figure import Figure, Panel, by_paper, doubling
from sim.switchgnn.planning.cut import CutGraph
from sim.switchgnn.reproduce import paper
from sim.switchgnn.reproduce.subjects import Subject, share_of_top

NEARLY = 0.98
POINTS = 20  #: of a curve


def copies(subjects: Sequence[Subject], workers: Sequence[int]) -> Figure:
    """Make figure 1: boundary vertices and copies by the number of workers."""
    rows = [
        {
            "graph": each.name,
            "workers": count,
            "boundary_share": each.cut(count).n / each.vertices,
            "copies": each.cut(count).copies,
            "edges_of_a_vertex": each.cut(count).graph.edges / each.cut(count).n,
        }
        for each in subjects
        for count in workers
    ]
    most = {each.family: each.cut(paper.MAX_WORKERS).copies for each in subjects}

    def draw(column: str, label: str, axes: Axes) -> None:
        for each in subjects:
            own = [row[column] for row in rows if row["graph"] == each.name]
            axes.plot(workers, own, "o-", label=each.family)
        doubling(axes, workers, "workers")
        axes.set_ylabel(label)

    return Figure(
        name="copies",
        title="Boundary vertices and copies",
        source="section 2.2, figure 1",
        quote="in Reddit with 128 partitions, the traffic volume is 16 times the boundary size",
        setting="METIS divides each generated graph; copies are a vertex's other workers with a"
        " neighbour of it.",
        rows=rows,
        shown=[
            {
                "graph": row["graph"],
                "workers": row["workers"],
                "boundary vertices, % of all": f"{100 * row['boundary_share']:.0f}",
                "copies": f"{row['copies']:.1f}",
            }
            for row in rows
        ],
        panels=[
            Panel("boundary vertices", partial(draw, "boundary_share", "share of all vertices")),
            Panel("copies", partial(draw, "copies", "copies of a boundary vertex")),
        ],
        claims=[
            by_paper(
                f"a vertex of Reddit has {paper.COPIES} copies at {paper.MAX_WORKERS} workers,"
                " within 15 %",
                abs(most["reddit"] / paper.COPIES - 1) <= 0.15,
                f"{most['reddit']:.1f}",
            ),
            by_paper(
                "the denser Reddit has most copies",
                max(paper.DATA_SETS, key=lambda name: most[name]) == "reddit",
                ", ".join(f"{name} {value:.1f}" for name, value in most.items()),
            ),
        ],
    )


def degrees(subjects: Sequence[Subject]) -> Figure:
    """Make figure 7: how skewed the boundary vertices' degrees are."""
    cuts = {each.family: each.cut(paper.SKEW_WORKERS).graph for each in subjects}
    shares = np.linspace(0, 1, POINTS + 1)[1:]
    curves = {name: [share_of_top(cut, share) for share in shares] for name, cut in cuts.items()}
    top = {name: share_of_top(cut, paper.TOP_VERTICES) for name, cut in cuts.items()}
    whole = {each.family: whole_share(each) for each in subjects}

    def draw(axes: Axes) -> None:
        for name, curve in curves.items():
            axes.plot(100 * shares, [100 * value for value in curve], label=name)
        axes.plot([100 * paper.TOP_VERTICES], [100 * paper.TOP_SHARE], "x", label="paper, Reddit")
        axes.set_xlabel("vertices, % of the boundary, highest degree first")
        axes.set_ylabel("neighbours, %")

    return Figure(
        name="degrees",
        title="Few vertices have most neighbours",
        source="section 3.2.2, figure 7",
        quote="in the Reddit dataset, with 32 workers, 20% of vertices account for 80% of the total"
        " neighbors.",
        setting=f"Neighbours at other workers, {paper.SKEW_WORKERS} workers.",
        rows=[
            {"vertices": share, **{name: curve[at] for name, curve in curves.items()}}
            for at, share in enumerate(shares.tolist())
        ],
        panels=[Panel("neighbours", draw)],
        claims=[
            by_paper(
                f"a fifth of Reddit's vertices has {paper.TOP_SHARE:.0%} of the neighbours, within"
                " 15 %",
                abs(top["reddit"] / paper.TOP_SHARE - 1) <= 0.15,
                ", ".join(f"{name} {value:.0%}" for name, value in top.items()),
            ),
        ],
        note="Of all neighbours, those at the same worker included, a fifth of the vertices has "
        + ", ".join(f"{value:.0%} ({name})" for name, value in whole.items())
        + ".",
    )


def whole_share(subject: Subject) -> float:
    """Return the share of all neighbours that a fifth of a graph's vertices has, before any cut."""
    result = np.sort(np.diff(subject.adjacency.indptr))[::-1]
    return float(result[: round(paper.TOP_VERTICES * result.size)].sum() / result.sum())


def components(subjects: Sequence[Subject], workers: Sequence[int]) -> Figure:
    """Make figure 9: the largest connected component of the boundary vertices."""
    rows = [
        {
            "family": each.family,
            "graph": each.name,
            "workers": count,
            "boundary": each.cut(count).n,
            "connected": largest_component(each.cut(count).graph),
        }
        for each in subjects
        for count in workers
    ]
    result = {
        row["family"]: row["connected"] / row["boundary"]
        for row in rows
        if row["workers"] == paper.MAX_WORKERS
    }

    def draw(axes: Axes) -> None:
        for each in subjects:
            own = [row for row in rows if row["graph"] == each.name]
            shares = [100 * row["connected"] / row["boundary"] for row in own]
            axes.plot(workers, shares, "o-", label=each.family)
        doubling(axes, workers, "workers")
        axes.set_ylabel("largest component, % of the boundary")

    return Figure(
        name="components",
        title="Boundary vertices depend on each other",
        source="section 3.3, figure 9",
        quote="nearly 99% of boundary vertices exhibit dependency relationships",
        setting="The largest connected component of each cut graph.",
        rows=rows,
        panels=[Panel("largest component", draw)],
        claims=[
            by_paper(
                f"{paper.CONNECTED:.0%} of the boundary vertices are connected at"
                f" {paper.MAX_WORKERS} workers, or nearly: more than {NEARLY:.0%}",
                min(result[name] for name in paper.DATA_SETS) > NEARLY,
                ", ".join(f"{name} {share:.2%}" for name, share in result.items()),
            )
        ],
    )


def largest_component(cut: CutGraph) -> int:
    """Return the number of vertices of the largest connected component."""
    return int(np.bincount(connected_components(cut.undirected(), directed=False)[1]).max())
