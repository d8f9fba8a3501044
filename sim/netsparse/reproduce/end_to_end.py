"""Sets communication beside computation: figures 13, 14 and 21."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.axes import Axes

from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.computing import COMPUTERS, Computer, Reuse, work
from sim.netsparse.reproduce.judging import by_decades, geometric_mean, words
from sim.netsparse.reproduce.points import PAPER, SOFTWARE_CYCLES, Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes
from sim.netsparse.reproduce.subjects import Subject, sizes
from sim.reproduce.figure import Claim, Figure, Panel, by_paper

ELEMENTS = (16, 128)  #: K; the paper's accelerator knows no 1
QUICK_ELEMENTS = (16,)
NETWORKS = ("SUOpt", "SAOpt", "NetSparse", "ideal")
COMPARABLE = 1.5  #: communication that takes at most this many times the computation
HALF = 0.5
NOTE = (
    "Means are geometric, over matrices and K. No simulation of SPADE's pipelines or of a CPU's"
    " caches stands behind computation, only two bounds of its memory. An ideal network is as many"
    " times as fast as one node as the slowest node has less to move than one node alone; the paper"
    " has 72, so the slowest of its nodes has more than ours."
)
NEAR, FAR = ("arabic", "queen", "uk"), ("europe", "stokes")  #: of figure 14


@dataclass(frozen=True)
class Times:
    """Holds what a product takes on 128 nodes, in ns, and on one."""

    communication: Mapping[str, float]  #: by network
    computation: float  #: of the slowest node
    alone: float

    def speed_up(self, network: str) -> float:
        """Return the speed-up over one node, if a node first communicates and then computes."""
        return self.alone / (self.communication[network] + self.computation)

    def ratio(self, network: str) -> float:
        """Return communication by computation."""
        return self.communication[network] / self.computation


#: by matrix, K, how often rows come from memory, and computer
Cases = Mapping[tuple[str, int, Reuse, str], Times]


def points(subjects: Sequence[Subject], quick: bool) -> list[Point]:
    """Return every matrix and K, scaled, as figure 12 runs them."""
    sizes = QUICK_ELEMENTS if quick else ELEMENTS
    return [Point(subject=item, elements=elements) for elements in sizes for item in subjects]


def times(point: Point, outcome: Outcome, reuse: Reuse, computer: Computer) -> Times:
    """Return the times of a run and of its baselines, with such a computer in each node."""
    cycles = {
        "SUOpt": outcome.su.cycles(outcome.line_bytes),
        "SAOpt": outcome.sa.cycles(outcome.line_bytes, SOFTWARE_CYCLES),
        "NetSparse": outcome.cycles,
        "ideal": 0,
    }
    octets = work(point.subject, point.elements, reuse)
    return Times(
        {name: count / paper.CLOCK_GHZ for name, count in cycles.items()},
        octets.slowest / computer.gigabytes,
        octets.alone / computer.gigabytes,
    )


def cases_of(
    subjects: Sequence[Subject], quick: bool, result: Outcomes, computers: Sequence[Computer]
) -> Cases:
    """Return the times of all runs, by both bounds, with such computers."""
    return {
        (point.subject.family, point.elements, reuse, computer.name): times(
            point, result[point], reuse, computer
        )
        for point in points(subjects, quick)
        for reuse in Reuse
        for computer in computers
    }


def setting(subjects: Sequence[Subject], computers: Sequence[Computer]) -> str:
    """Return what both figures are made of, in words."""
    rates = ", ".join(f"{item.gigabytes:g} GB/s ({item.name})" for item in computers)
    return (
        f"Communication as in *speed-up*, scaled. Computation takes the time of its bytes at"
        f" {rates}; a row of the dense matrix comes from memory once for a node, or for each"
        f" nonzero. A node first communicates, then computes. {PAPER.what}. {sizes(subjects)}"
    )


def speed_ups(
    name: str,
    source: str,
    computers: Sequence[Computer],
    quote: str,
    subjects: Sequence[Subject],
    quick: bool,
    result: Outcomes,
) -> Figure:
    """Return a figure of speed-ups over one node."""
    cases = cases_of(subjects, quick, result, computers)
    return Figure(
        name=name,
        title=f"Speed-up of 128 nodes over one, {' and '.join(item.name for item in computers)}",
        source=source,
        quote=quote,
        setting=setting(subjects, computers),
        rows=[row(*case) for case in cases.items()],
        shown=[means_row(cases, computer, reuse) for computer in computers for reuse in Reuse],
        panels=[
            Panel(
                f"speed-up over one node, {computer.name}, K = {largest(cases)}",
                partial(draw, cases, computer),
            )
            for computer in computers
        ],
        claims=[claim for computer in computers for claim in mean_claims(cases, computer)],
        note=NOTE,
    )


#: Figures 13 and 21, of runs.
spade = partial(
    speed_ups,
    "end-to-end",
    "section 9.1, figure 13",
    COMPUTERS[:1],
    "The 128-node system is 38x faster than the single-node one. This is more than half of the"
    " speedup of a hypothetical ideal system without any communications overheads, which reaches a"
    " speedup of 72x.",
)
cpus = partial(
    speed_ups,
    "cpus",
    "section 9.6, figure 21",
    COMPUTERS[1:],
    "the 128-node DDR system becomes 2.6x, 13x, and 53x faster than the single-node one with SUOpt,"
    " SAOpt, and NetSparse, respectively. The same numbers for the 128-node HBM system are 1.4x,"
    " 7x, and 42x.",
)


def breakdown(subjects: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
    """Return figure 14: communication by computation, for the largest K."""
    cases = cases_of(subjects, quick, result, COMPUTERS[:1])
    most = largest(cases)
    chosen = {key: item for key, item in cases.items() if key[1] == most}
    return Figure(
        name="breakdown",
        title="Communication beside computation",
        source="section 9.1, figure 14",
        quote="With NetSparse, communication is accelerated and becomes comparable or faster than"
        " accelerated computation for arabic, queen, and uk. For europe and stokes, communication"
        " has still non-negligible potential for improvement.",
        setting=f"K = {most}. {setting(subjects, COMPUTERS[:1])}",
        rows=[row(*case) for case in chosen.items()],
        shown=[
            {
                "matrix": key[0],
                "rows from memory": key[2].value,
                **{name: f"{item.ratio(name):.2g}" for name in NETWORKS[:3]},
            }
            for key, item in chosen.items()
        ],
        panels=[Panel("communication by computation", partial(draw_ratios, chosen))],
        claims=ratio_claims(chosen),
        note=NOTE,
    )


def largest(cases: Cases) -> int:
    """Return the largest K of all cases, which diagrams show."""
    return max(key[1] for key in cases)


def row(key: tuple[str, int, Reuse, str], item: Times) -> dict[str, Any]:
    """Return a row of the CSV file."""
    family, elements, reuse, computer = key
    return {
        "matrix": family,
        "K": elements,
        "rows_from_memory": reuse.value,
        "computer": computer,
        "computation_ns": item.computation,
        **{f"communication_ns_{name}": item.communication[name] for name in NETWORKS},
        **{f"speed_up_{name}": item.speed_up(name) for name in NETWORKS},
    }


def means(cases: Cases, computer: Computer, reuse: Reuse) -> dict[str, float]:
    """Return the mean speed-up of each network, over matrices and K."""
    chosen = [item for key, item in cases.items() if key[2:] == (reuse, computer.name)]
    return {name: geometric_mean(item.speed_up(name) for item in chosen) for name in NETWORKS}


def means_row(cases: Cases, computer: Computer, reuse: Reuse) -> dict[str, str]:
    """Return a row of the page: means beside the paper's."""
    own = means(cases, computer, reuse)
    papers = dict(zip(NETWORKS, computer.papers, strict=False))
    return {
        "computer": computer.name,
        "of the paper": computer.figure,
        "rows from memory": reuse.value,
        **{
            name: f"{value:.2g}" + (f" (paper {papers[name]:g})" if name in papers else "")
            for name, value in own.items()
        },
    }


def mean_claims(cases: Cases, computer: Computer) -> list[Claim]:
    """Return the paper's statements on the means of a computer."""
    own = {reuse: means(cases, computer, reuse) for reuse in Reuse}
    shown = "; ".join(f"{reuse}: {words(each, '.2g')}" for reuse, each in own.items())
    ordered = all([*each.values()] == sorted(each.values()) for each in own.values())
    text = f"{computer.name}: NetSparse is faster than SAOpt, and that than SUOpt"
    result = [by_paper(text, ordered, shown)]
    for name, printed in zip(NETWORKS, computer.papers, strict=False):
        low, high = sorted(own[reuse][name] for reuse in Reuse)
        result.append(
            by_paper(
                f"{computer.name}: the paper's mean speed-up of {name}, {printed:g}, is between"
                " both bounds",
                low <= printed <= high,
                f"{low:.2g} to {high:.2g}",
            )
        )
    if "ideal" in dict(zip(NETWORKS, computer.papers, strict=False)):
        shares = {reuse.value: each["NetSparse"] / each["ideal"] for reuse, each in own.items()}
        text = f"{computer.name}: NetSparse has more than half of the ideal network's speed-up"
        result.append(by_paper(text, min(shares.values()) > HALF, words(shares, ".0%")))
    return result


def ratio_claims(cases: Cases) -> list[Claim]:
    """Return the paper's statements on figure 14, by each bound."""
    result = []
    for reuse in Reuse:
        own = {key[0]: item for key, item in cases.items() if key[2] == reuse}
        fast = {family: own[family].ratio("NetSparse") for family in NEAR}
        slow = {family: own[family].ratio("NetSparse") for family in FAR}
        software = {family: item.ratio("SAOpt") for family, item in own.items()}
        result += [
            by_paper(
                f"rows {reuse}: SAOpt's communication takes longer than computation",
                min(software.values()) > 1,
                words(software, ".2g"),
            ),
            by_paper(
                f"rows {reuse}: NetSparse's takes at most {COMPARABLE} times as long as computation"
                f" for {', '.join(NEAR)}",
                max(fast.values()) <= COMPARABLE,
                words(fast, ".2g"),
            ),
            by_paper(
                f"rows {reuse}: it takes a larger share for {' and '.join(FAR)}",
                min(slow.values()) > max(fast.values()),
                words(slow, ".2g"),
            ),
        ]
    return result


def draw_ratios(cases: Cases, axes: Axes) -> None:
    """Draw a bar from one bound to the other for each matrix, of SAOpt and NetSparse."""
    ratios = {name: partial(Times.ratio, network=name) for name in NETWORKS[1:3]}
    axes.axhline(1, color="0.5")
    draw_bounds(axes, cases, ratios, 0.3)


def draw(cases: Cases, computer: Computer, axes: Axes) -> None:
    """Draw a bar from one bound to the other for each matrix and network, at the largest K."""
    place = largest(cases), computer.name
    own = {key: item for key, item in cases.items() if (key[1], key[3]) == place}
    draw_bounds(axes, own, {name: partial(Times.speed_up, network=name) for name in NETWORKS}, 0.2)


def draw_bounds(
    axes: Axes, cases: Cases, shown: Mapping[str, Callable[[Times], float]], width: float
) -> None:
    """Draw a bar of this ``width`` for each matrix and each of ``shown``, over all its cases."""
    families = list(dict.fromkeys(key[0] for key in cases))
    for k, (name, get) in enumerate(shown.items()):
        of_family = [[get(cases[key]) for key in cases if key[0] == each] for each in families]
        lows, heights = [min(own) for own in of_family], [max(own) - min(own) for own in of_family]
        places = [place + width * (k - (len(shown) - 1) / 2) for place in range(len(families))]
        axes.bar(places, heights, width, bottom=lows, label=name)
    axes.set_xticks(range(len(families)), families)
    by_decades(axes)
