"""Compares both rules by which a read and its response choose their spine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from matplotlib.axes import Axes

from sim.netsparse.reproduce.judging import ranked
from sim.netsparse.reproduce.points import PAPER, Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes
from sim.netsparse.reproduce.subjects import Subject, sizes
from sim.netsparse.spine_choice import SpineChoice
from sim.reproduce.figure import Claim, Figure, Panel, by_us

ELEMENTS = 16
NEAR = 0.05  #: by how much of its speed-up no matrix may lose

Lines = Mapping[str, Mapping[SpineChoice, Outcome]]  #: outcomes by matrix and rule


def runs(subjects: Sequence[Subject]) -> dict[str, dict[SpineChoice, Point]]:
    """Return the scaled run of each matrix, by each rule."""
    points = {item.family: Point(subject=item, elements=ELEMENTS) for item in subjects}
    return {
        family: {choice: replace(point, spine_choice=choice) for choice in SpineChoice}
        for family, point in points.items()
    }


def points(subjects: Sequence[Subject], quick: bool) -> list[Point]:
    """Return all points that must be run."""
    del quick
    return [point for own in runs(subjects).values() for point in own.values()]


def figure(subjects: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
    """Return the figure: a row for each matrix and rule."""
    del quick
    lines = {
        family: {choice: result[point] for choice, point in own.items()}
        for family, own in runs(subjects).items()
    }
    rows = [row(family, choice, own[choice]) for family, own in lines.items() for choice in own]
    return Figure(
        name="spines",
        title="What chooses the spine",
        source="section 6.2.1",
        quote="for a pair of {response, read} PRs to communicate a property in a deterministic"
        " routing network, the egress port of the read must match the ingress port of the"
        " response.",
        setting=f"K = {ELEMENTS}, scaled; {PAPER.what}. {sizes(subjects)}",
        rows=rows,
        shown=[
            {
                "matrix": item["matrix"],
                "spine by": item["spine_choice"],
                "speed-up": f"{item['speed_up']:.1f}",
                "traffic vs SU": f"{item['traffic']:.0f}x",
                "hits": f"{item['hits']:,.0f}",
                "busiest link": f"{item['link_bound']:.0%}, {item['busiest_link']}",
            }
            for item in rows
        ],
        panels=[
            Panel("speed-up over SUOpt", partial(draw, lines, lambda item: item.speed_up)),
            Panel("share of the busiest link", partial(draw, lines, lambda item: item.link_bound)),
        ],
        claims=claims(lines),
        note="Both rules fulfil the sentence. By *racks* all nodes of two racks share a spine; by"
        " *home* the node that owns an idx chooses the spine of its reads and of their responses,"
        " and two racks share all spines. The other figures use *home*.",
    )


def row(family: str, choice: SpineChoice, outcome: Outcome) -> dict[str, Any]:
    """Return a row of the CSV file."""
    return {
        "matrix": family,
        "spine_choice": choice.value,
        "speed_up": outcome.speed_up,
        "traffic": outcome.traffic_reduction,
        "hits": outcome.figures["cache_hits"],
        "link_bound": outcome.link_bound,
        "busiest_link": outcome.busiest_link,
        "seconds": round(outcome.seconds, 1),
    }


def claims(lines: Lines) -> list[Claim]:
    """Return what the default rule must show."""
    home, racks = (
        {family: own[choice].speed_up for family, own in lines.items()} for choice in SpineChoice
    )
    reported = ", ".join(f"{name} {racks[name]:.1f} -> {home[name]:.1f}" for name in home)
    europe = {choice.value: own.link_bound for choice, own in lines["europe"].items()}
    return [
        by_us(
            "by home, no matrix is slower by more than 5 %",
            all(home[name] > (1 - NEAR) * racks[name] for name in home),
            reported,
        ),
        by_us(
            "the speed-ups of the matrices are in the same order by both rules",
            ranked(home) == ranked(racks),
            reported,
        ),
        by_us(
            "by home, europe needs its busiest link for a smaller share of the time",
            europe["home"] < europe["racks"],
            ", ".join(f"{name} {share:.0%}" for name, share in europe.items()),
        ),
    ]


def draw(lines: Lines, get: Callable[[Outcome], float], axes: Axes) -> None:
    """Draw a bar for each matrix and rule."""
    for k, choice in enumerate(SpineChoice):
        heights = [get(own[choice]) for own in lines.values()]
        axes.bar([place + 0.4 * k - 0.2 for place in range(len(lines))], heights, 0.4, label=choice)
    axes.set_xticks(range(len(lines)), list(lines))
