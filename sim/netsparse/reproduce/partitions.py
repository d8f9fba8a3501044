"""Runs each matrix in blocks of rows and by partitioners: what section 9.4 leaves to others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from matplotlib.axes import Axes

from sim.netsparse.partition_names import BLOCKS, HYPERGRAPH, PARTITIONS
from sim.netsparse.reproduce.balance import idle
from sim.netsparse.reproduce.judging import words
from sim.netsparse.reproduce.points import PAPER, Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes
from sim.netsparse.reproduce.subjects import Subject, sizes
from sim.reproduce.figure import Claim, Figure, Panel, by_us

ELEMENTS = 16
OPEN = ("stokes", "europe")  #: matrices that "could benefit from further improvements"

Lines = Mapping[str, Mapping[str, Outcome]]  #: outcomes by matrix and partition


def runs(subjects: Sequence[Subject]) -> dict[str, dict[str, Point]]:
    """Return the scaled run of each matrix, by each partition."""
    points = {item.family: Point(subject=item, elements=ELEMENTS) for item in subjects}
    return {
        family: {way: replace(point, partition=way) for way in PARTITIONS}
        for family, point in points.items()
    }


def points(subjects: Sequence[Subject], quick: bool) -> list[Point]:
    """Return all points that must be run."""
    del quick
    return [point for own in runs(subjects).values() for point in own.values()]


def figure(subjects: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
    """Return the figure: a row for each matrix and partition."""
    del quick
    lines = {
        family: {way: result[point] for way, point in own.items()}
        for family, own in runs(subjects).items()
    }
    rows = [row(family, way, own[way]) for family, own in lines.items() for way in PARTITIONS]
    return Figure(
        name="partitions",
        title="Rows in blocks, and by partitioners",
        source="section 9.4",
        quote="This imbalance is not a consequence of the NetSparse hardware, but of the way the"
        " sparse matrix is partitioned across nodes. [...] future work should rethink partitioning"
        " methods and algorithms.",
        setting=f"K = {ELEMENTS}, scaled; {PAPER.what}. METIS cuts few nonzeros, and"
        " *hypergraph*, Mt-KaHyPar, leaves few PRs; both give nodes nearly as many nonzeros."
        f" Speed-ups are over SUOpt in blocks. {sizes(subjects)}",
        rows=rows,
        shown=[
            {
                "matrix": item["matrix"],
                "rows by": item["partition"],
                "speed-up": f"{item['speed_up']:.1f}",
                "PRs": f"{item['prs']:,.0f}",
                "nodes wait for the last": f"{item['idle']:.0%}",
            }
            for item in rows
        ],
        panels=[Panel("speed-up over SUOpt in blocks", partial(draw, lines))],
        claims=claims(lines),
    )


def row(family: str, way: str, outcome: Outcome) -> dict[str, Any]:
    """Return a row of the CSV file."""
    return {
        "matrix": family,
        "partition": way,
        "speed_up": outcome.speed_up,
        "prs": outcome.figures["unit_prs"],
        "idle": idle(outcome),
        "link_bound": outcome.link_bound,
        "busiest_link": outcome.busiest_link,
        "seconds": round(outcome.seconds, 1),
    }


def claims(lines: Lines) -> list[Claim]:
    """Return what the hypergraph must bring."""
    prs, faster = {}, {}
    for family, own in lines.items():
        blocks, best = own[BLOCKS], own[HYPERGRAPH]
        prs[family] = best.figures["unit_prs"] / blocks.figures["unit_prs"]
        faster[family] = best.speed_up / blocks.speed_up
    return [
        by_us(
            "by hypergraph, all matrices need fewer PRs than in blocks",
            max(prs.values()) < 1,
            words(prs, ".2f"),
        ),
        by_us(
            f"by hypergraph, {' and '.join(OPEN)} are faster, of which the section says that they"
            " could benefit",
            min(faster[family] for family in OPEN) > 1,
            words(faster, ".2f"),
        ),
    ]


def draw(lines: Lines, axes: Axes) -> None:
    """Draw a bar for each matrix and partition."""
    for k, way in enumerate(PARTITIONS):
        heights = [own[way].speed_up for own in lines.values()]
        axes.bar([place + 0.27 * (k - 1) for place in range(len(lines))], heights, 0.27, label=way)
    axes.set_xticks(range(len(lines)), list(lines))
