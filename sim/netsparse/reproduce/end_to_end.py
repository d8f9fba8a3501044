"""Sets communication beside computation: figures 13, 14 and 21."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import geometric_mean, mean
from typing import Any

from matplotlib.axes import Axes

from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.computing import COMPUTERS, Computer, Reuse, work
from sim.netsparse.reproduce.judging import by_decades, tried, words, written
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
    " has 72. Equal blocks of europe, queen and stokes have nearly as many nonzeros; how uneven"
    " those of the real webs are needs the paper's real matrices and cannot be tried. Processing"
    " elements with equally many rows make our webs more uneven, but have a 32nd of the paper's"
    " rows. Table 7 gives the paper's communication: bytes and utilisation of the tail node's line"
    " for NetSparse, PRs and goodputs for SAOpt; what fails with that too, fails by rows of *once*."
)
NEAR, FAR = ("arabic", "queen", "uk"), ("europe", "stokes")  #: of figure 14


@dataclass(frozen=True)
class Times:
    """Holds what a product takes on 128 nodes, in ns, and on one."""

    communication: Mapping[str, float]  #: by network
    computation: float  #: of the slowest node
    alone: float
    overlapped: bool = False

    def speed_up(self, network: str) -> float:
        """Return the speed-up over one node; a node communicates, then computes, or does both."""
        both = self.communication[network], self.computation
        return self.alone / (max(both) if self.overlapped else sum(both))

    def ratio(self, network: str) -> float:
        """Return communication by computation."""
        return self.communication[network] / self.computation


Key = tuple[str, int, Reuse, str]  #: matrix, K, how often rows come from memory, and computer
Cases = Mapping[Key, Times]
Get = Callable[[Times, str], float]  #: returns a number of a network


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


def trials(cases: Cases) -> dict[str, Cases]:
    """Return the cases with one thing changed each, by what it is in words."""
    ddr, hbm = COMPUTERS[1:]
    slower = hbm.gigabytes / ddr.gigabytes * hbm.papers[0] / ddr.papers[0]
    computed = "computation", "alone"
    changes: dict[str, Callable[[Key, Times], Mapping[str, Any]]] = {
        "computing while communicating": lambda key, own: {"overlapped": True},
        "rows half way between the bounds": lambda key, own: {
            name: mean(getattr(cases[(*key[:2], reuse, key[3])], name) for reuse in Reuse)
            for name in computed
        },
        "the communication of table 7": lambda key, own: {
            "communication": table_7(key[0], own.communication)
        },
        "HBM as much faster than DDR as the paper's SUOpt": lambda key, own: {
            name: getattr(own, name) * (slower if key[3] == hbm.name else 1) for name in computed
        },
    }
    return {
        trial: {key: replace(own, **change(key, own)) for key, own in cases.items()}
        for trial, change in changes.items()
    }


def table_7(family: str, times: Mapping[str, float]) -> Mapping[str, float]:
    """Return the paper's times: as many times less than SUOpt's as its tail node's for K = 16."""
    tail = paper.MATRICES[family].tail
    time = times["SUOpt"] / (tail.traffic * tail.utilisation)
    software = time * tail.prs_sa * tail.goodput / tail.goodput_sa
    return {**times, "SAOpt": software, "NetSparse": time}


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
                partial(draw, cases, computer, Times.speed_up, NETWORKS),
            )
            for computer in computers
        ],
        claims=[
            claim
            for computer in computers
            for claim in tried(partial(mean_claims, computer=computer), cases, trials(cases))
        ],
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
    ratios = partial(draw, chosen, COMPUTERS[0], Times.ratio, NETWORKS[1:3])
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
                **{name: written(item.ratio(name), ".2g") for name in NETWORKS[:3]},
            }
            for key, item in chosen.items()
        ],
        panels=[Panel("communication by computation", ratios)],
        claims=tried(ratio_claims, chosen, trials(chosen)),
        note=NOTE,
    )


def largest(cases: Cases) -> int:
    """Return the largest K of all cases, which diagrams show."""
    return max(key[1] for key in cases)


def row(key: Key, item: Times) -> dict[str, Any]:
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
            name: written(value, ".2g") + (f" (paper {papers[name]:g})" if name in papers else "")
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
                f"{written(low, '.3g')} to {written(high, '.3g')}",
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


def draw(cases: Cases, computer: Computer, get: Get, names: Sequence[str], axes: Axes) -> None:
    """Draw a bar from one bound to the other for each matrix and network, at the largest K."""
    most, width = largest(cases), 0.8 / len(names)
    own = {key: item for key, item in cases.items() if key[1::2] == (most, computer.name)}
    families = list(dict.fromkeys(key[0] for key in own))
    for k, name in enumerate(names):
        bars = [sorted(get(own[key], name) for key in own if key[0] == each) for each in families]
        places = [place + width * (k - (len(names) - 1) / 2) for place in range(len(families))]
        lows = [low for low, _ in bars]
        axes.bar(places, [high - low for low, high in bars], width, bottom=lows, label=name)
    axes.axhline(1, color="0.5")
    axes.set_xticks(range(len(families)), families)
    by_decades(axes)
