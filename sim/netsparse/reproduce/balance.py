"""Shows how many nodes still communicate as time passes: figure 19."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from sim.netsparse.reproduce.judging import tried, words
from sim.netsparse.reproduce.points import PAPER, Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes, useful
from sim.netsparse.reproduce.subjects import Subject, sizes
from sim.reproduce.figure import Claim, Figure, Panel, by_paper

ELEMENTS = 16
BALANCED = "queen"
ENTRIES = PAPER.snic.rig.pending_entries
SIGNIFICANT = 0.1  #: share of the time that nodes wait for the last, from which on it counts


def points(
    subjects: Sequence[Subject], quick: bool, entries: Sequence[int | None] = (None, ENTRIES)
) -> list[Point]:
    """Return each matrix, scaled, with Pending PR Tables in proportion and with the paper's."""
    del quick
    return [
        Point(subject=item, elements=ELEMENTS, pending=each)
        for each in entries
        for item in subjects
    ]


def idle(outcome: Outcome) -> float:
    """Return the share of the time that nodes have ended and wait for the last, their mean."""
    ends = np.array(outcome.node_cycles)
    return float(1 - ends.mean() / ends.max())


def figure(subjects: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
    """Return the figure: a line for each matrix."""
    own, others = (
        {point.subject.family: result[point] for point in points(subjects, quick, (entries,))}
        for entries in (None, ENTRIES)
    )
    waits, trial = ({name: idle(run) for name, run in each.items()} for each in (own, others))
    return Figure(
        name="balance",
        title="Nodes that still communicate, by time",
        source="section 9.4, figure 19",
        quote="almost all matrices (except queen) have significant imbalance in communication",
        setting=f"K = {ELEMENTS}, scaled; {PAPER.what}. Each node begins at once and computes"
        f" nothing. {sizes(subjects)}",
        rows=[row(family, outcome) for family, outcome in own.items()],
        shown=[
            {
                "matrix": item.family,
                "first node ends": f"{min(outcome.node_cycles) / max(outcome.node_cycles):.0%}",
                "half of them": f"{np.median(outcome.node_cycles) / max(outcome.node_cycles):.0%}",
                "nodes wait for the last": f"{idle(outcome):.0%}",
                "if rows took equally long": f"{uneven(item):.0%}",
            }
            for item, outcome in zip(subjects, own.values(), strict=True)
        ],
        panels=[Panel("nodes that communicate", partial(draw, own))],
        claims=tried(claims, waits, {f"{ENTRIES} entries in Pending PR Tables": trial}),
        note="Ends are shares of the time of the last node; the last column is what the matrix"
        " alone explains: little for queen, whose nodes need equally many rows. Its nodes end with"
        " the client that sends most PRs, which stands still for room in its Pending PR Table:"
        " scaled, one has fewer entries than the paper's. Nodes of queen wait about as long without"
        " caches or concatenation, unscaled (with all entries, but clients take requests in turn),"
        " with the spine that two racks share, and with a quarter of the RIG units.",
    )


def uneven(subject: Subject) -> float:
    """Return the share by which nodes need fewer remote rows than the one that needs most."""
    matrix, partition = subject.matrix, subject.partition
    needed = np.array([useful(matrix, partition, node) for node in range(subject.nodes)])
    return float(1 - needed.mean() / needed.max())


def row(family: str, outcome: Outcome) -> dict[str, Any]:
    """Return a row of the CSV file: when each node ends, in cycles."""
    return {
        "matrix": family,
        "idle": idle(outcome),
        **{f"node_{k}": cycles for k, cycles in enumerate(outcome.node_cycles)},
    }


def claims(waits: Mapping[str, float]) -> list[Claim]:
    """Return the paper's statement, in two parts."""
    others = {family: share for family, share in waits.items() if family != BALANCED}
    return [
        by_paper(
            f"all matrices but {BALANCED} have significant imbalance: nodes wait for more than"
            f" {SIGNIFICANT:.0%} of the time, their mean",
            min(others.values()) > SIGNIFICANT,
            words(others, ".0%"),
        ),
        by_paper(
            f"{BALANCED} has the least",
            waits[BALANCED] < min(others.values()),
            words({BALANCED: waits[BALANCED]}, ".0%"),
        ),
    ]


def draw(own: Mapping[str, Outcome], axes: Axes) -> None:
    """Draw how many nodes are active, by share of the time."""
    for family, outcome in own.items():
        ends = np.sort(outcome.node_cycles) / max(outcome.node_cycles)
        axes.step([0, *ends], [*range(len(ends), -1, -1)], where="post", label=family)
    axes.set_xlabel("share of the time")
