"""Runs each matrix on three topologies: figure 22."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from matplotlib.axes import Axes

from sim.netsparse.reproduce.points import PAPER, Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes
from sim.netsparse.reproduce.subjects import Subject, sizes
from sim.netsparse.topology_names import DRAGONFLY, HYPERX, LEAF_SPINE
from sim.reproduce.figure import Claim, Figure, Panel, by_paper

ELEMENTS = 16
HIGH = 0.5  #: least share of the speed-up on leaf and spine at which it "remains high"
TOPOLOGIES = {
    "leaf-spine": LEAF_SPINE,
    "HyperX": f"{HYPERX}:4x4x2:4",
    "Dragonfly": f"{DRAGONFLY}:4x8:16",
}

Lines = Mapping[str, Mapping[str, Outcome]]  #: outcomes by matrix and topology


def runs(subjects: Sequence[Subject]) -> dict[str, dict[str, Point]]:
    """Return the scaled run of each matrix on each topology."""
    points = {item.family: Point(subject=item, elements=ELEMENTS) for item in subjects}
    return {
        family: {name: replace(point, topology=text) for name, text in TOPOLOGIES.items()}
        for family, point in points.items()
    }


def points(subjects: Sequence[Subject], quick: bool) -> list[Point]:
    """Return all points that must be run."""
    del quick
    return [point for own in runs(subjects).values() for point in own.values()]


def figure(subjects: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
    """Return the figure: a row for each matrix and topology."""
    del quick
    lines = {
        family: {name: result[point] for name, point in own.items()}
        for family, own in runs(subjects).items()
    }
    rows = [row(family, name, own[name]) for family, own in lines.items() for name in own]
    return Figure(
        name="topology",
        title="Speed-up by the network's topology",
        source="figure 22, section 9.6",
        quote="the performance of NetSparse remains high for all three networks. One notable"
        " exception is stokes with HyperX, where the speedup drops by more than 2x compared to the"
        " Leaf-Spine network",
        setting=f"K = {ELEMENTS}, scaled; {PAPER.what}, or the same nodes four at each of 32"
        f" switches: a HyperX of 4 x 4 x 2 with four links between two, a Dragonfly of four groups"
        f" of eight with 16 links between two groups. {sizes(subjects)}",
        rows=rows,
        shown=[
            {
                "matrix": item["matrix"],
                "topology": item["topology"],
                "speed-up": f"{item['speed_up']:.1f}",
                "traffic vs SU": f"{item['traffic']:.0f}x",
                "hits": f"{item['hits']:,.0f}",
                "busiest link": f"{item['link_bound']:.0%}, {item['busiest_link']}",
            }
            for item in rows
        ],
        panels=[Panel("speed-up over SUOpt", partial(draw, lines))],
        claims=claims(lines),
        note="Halves of each network are joined by 64 links. The paper names four links of the"
        " Dragonfly between groups, and a bisection like that of leaf and spine, which 16 links"
        " between two groups give. All switches of the last two have caches, as each has nodes; a"
        " read can hit in a switch on its way, too.",
    )


def row(family: str, topology: str, outcome: Outcome) -> dict[str, Any]:
    """Return a row of the CSV file."""
    return {
        "matrix": family,
        "topology": topology,
        "speed_up": outcome.speed_up,
        "traffic": outcome.traffic_reduction,
        "hits": outcome.figures["cache_hits"],
        "link_bound": outcome.link_bound,
        "busiest_link": outcome.busiest_link,
        "seconds": round(outcome.seconds, 1),
    }


def claims(lines: Lines) -> list[Claim]:
    """Return the paper's sentences, each judged."""
    shares = {
        (family, name): own[name].speed_up / own["leaf-spine"].speed_up
        for family, own in lines.items()
        for name in ("HyperX", "Dragonfly")
    }
    reported = ", ".join(f"{' '.join(place)} {share:.2f}" for place, share in shares.items())
    exception = "stokes", "HyperX"
    return [
        by_paper(
            "on all three networks, but for stokes with HyperX, the speed-up is more than half of"
            " that on leaf and spine",
            all(share > HIGH for place, share in shares.items() if place != exception),
            reported,
        ),
        by_paper(
            "the speed-up of stokes drops by more than 2x with HyperX",
            shares[exception] < HIGH,
            f"{shares[exception]:.2f} of that on leaf and spine",
        ),
    ]


def draw(lines: Lines, axes: Axes) -> None:
    """Draw a bar for each matrix and topology."""
    for k, name in enumerate(TOPOLOGIES):
        heights = [own[name].speed_up for own in lines.values()]
        axes.bar([place + 0.27 * (k - 1) for place in range(len(lines))], heights, 0.27, label=name)
    axes.set_xticks(range(len(lines)), list(lines))
