"""Reproduces figure 12: speed-up of communication over SUOpt, by SAOpt and by NetSparse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import geometric_mean
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from hdl.common.core_clock import CORE_MHZ
from hdl.common.packets import BEAT_BYTES
from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.judging import FACTOR, by_decades, named, ranked, words
from sim.netsparse.reproduce.points import FORMS, OUR_SOFTWARE_CYCLES, PAPER, SOFTWARE_CYCLES, Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes
from sim.netsparse.reproduce.subjects import Subject, sizes
from sim.reproduce.figure import Claim, Figure, Panel, by_paper

QUICK_ELEMENTS = (16,)

Key = tuple[str, int]  #: matrix and K


@dataclass(frozen=True)
class SpeedUps:
    """Holds the speed-ups over SUOpt of a matrix and K."""

    netsparse: float
    traffic: float  #: traffic reduction of the tail node: the speed-up if only the line took time
    saopt: float  #: SAOpt's speed-up on cores as fast against the line as the paper's
    saopt_own: float  #: SAOpt's speed-up on the same cores and our slower line
    bounds: str  #: what bounds NetSparse's time, in words
    saopt_balanced: float  #: SAOpt's if all cores had equal work, at the paper's line

    @classmethod
    def of(cls, outcome: Outcome) -> "SpeedUps":
        """Return them from the counters of a run, and from the formulas of both baselines."""
        line = outcome.line_bytes
        return cls(
            outcome.speed_up,
            outcome.traffic_reduction,
            outcome.sa_speed_up(SOFTWARE_CYCLES, line),
            outcome.sa_speed_up(OUR_SOFTWARE_CYCLES, BEAT_BYTES),
            outcome.bounds,
            outcome.su.cycles(line) / (outcome.sa.prs.mean() * SOFTWARE_CYCLES),
        )


def points(subjects: Sequence[Subject], quick: bool) -> list[Point]:
    """Return a point for every matrix and K, scaled and unscaled."""
    sizes = QUICK_ELEMENTS if quick else paper.PROPERTY_BYTES
    return [
        Point(subject=item, elements=elements, scaled=form)
        for form in FORMS
        for elements in sizes
        for item in subjects
    ]


def figure(subjects: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
    """Return the figure: bars for all, and geometric means."""
    requested = points(subjects, quick)
    simulated: dict[bool, dict[Key, SpeedUps]] = {form: {} for form in FORMS}
    for point in requested:
        simulated[point.scaled][point.subject.family, point.elements] = SpeedUps.of(result[point])
    su = {item.family: item.redundancy.su for item in subjects}
    rows = [row(point, result[point]) for point in requested]
    return Figure(
        name="speed-up",
        title="Communication speed-up over SUOpt",
        source="section 9.1, figure 12",
        quote="We observe that NetSparse outperforms both baselines for all matrices and all"
        " property sizes. In contrast, SAOpt performs worse than SUOpt for stokes (all K values)"
        " and arabic (for K=1). [...] On average (i.e., gmean), NetSparse outperforms SUOpt by 33x"
        " and SAOpt by 15x.",
        setting=f"{PAPER.what}, on the model. SUOpt and SAOpt by"
        f" section 8.1: no latency; {paper.CORES} cores that spend {paper.SOFTWARE_US} us on a PR,"
        f" {SOFTWARE_CYCLES:.0f} cycles of {paper.CLOCK_GHZ} GHz beside the paper's line of"
        f" {paper.LINE_GBPS} Gb/s, {OUR_SOFTWARE_CYCLES:.0f} of {CORE_MHZ} MHz beside ours of 128"
        " Gb/s; SAOpt here means the former, the latter stands beside it. No time is shorter than"
        f" the line's. {sizes(subjects)}",
        rows=rows,
        shown=[shown(key, item, simulated[False][key]) for key, item in simulated[True].items()],
        panels=[
            Panel(f"K = {elements}, scaled", partial(draw, elements, simulated[True]))
            for elements in sorted({elements for _, elements in simulated[True]})
        ],
        claims=[
            software_claim(simulated[True]),
            *(claim for form, own in simulated.items() for claim in claims(FORMS[form], own, su)),
        ],
        note="A bar of NetSparse reaches up to its time; the mark above it is the traffic"
        " reduction of the tail node, which it comes the closer to the larger the matrix is: the"
        " pipelines' latencies do not shrink with the matrix.",
    )


def row(point: Point, outcome: Outcome) -> dict[str, Any]:
    """Return a row of the CSV file."""
    return {
        "matrix": point.subject.family,
        "K": point.elements,
        "form": point.form,
        "engine": point.cluster.engine,
        "cycles": outcome.cycles,
        "cycles_suopt": outcome.su.cycles(outcome.line_bytes),
        "cycles_saopt": outcome.sa.cycles(outcome.line_bytes, SOFTWARE_CYCLES),
        "cycles_saopt_our_line": outcome.sa.cycles(BEAT_BYTES, OUR_SOFTWARE_CYCLES),
        **vars(SpeedUps.of(outcome)),
        "line_bound": outcome.utilisation,
        "link_bound": outcome.link_bound,
        "client_bound": outcome.client_bound,
        "seconds": round(outcome.seconds, 1),
    }


def shown(key: Key, item: SpeedUps, unscaled: SpeedUps) -> dict[str, str]:
    """Return a row of the page, with the paper's numbers where it prints them (table 8)."""
    family, elements = key
    printed = paper.ABLATION.get(family, {}).get(elements)
    return {
        "matrix": family,
        "K": str(elements),
        "NetSparse": f"{item.netsparse:.1f}",
        "paper": f"{printed[-1][0]:.1f}" if printed else "",
        "unscaled": f"{unscaled.netsparse:.1f}",
        "by traffic alone": f"{item.traffic:.0f}",
        "the same unscaled": f"{unscaled.traffic:.0f}",
        "SAOpt": f"{item.saopt:.2f}",
        "SAOpt at our line": f"{item.saopt_own:.2f}",
        "NetSparse over SAOpt": f"{item.netsparse / item.saopt:.1f}",
    }


def claims(form: str, own: Mapping[Key, SpeedUps], su: Mapping[str, float]) -> list[Claim]:
    """Return the statements of section 9.1 on the figure, judged."""
    sizes = sorted({elements for _, elements in own})
    slower = [key for key, item in own.items() if item.netsparse <= max(1.0, item.saopt)]
    over_su = geometric_mean(item.netsparse for item in own.values())
    over_sa = geometric_mean(item.netsparse / item.saopt for item in own.values())
    by_traffic = geometric_mean(item.traffic for item in own.values())
    families = {family for family, _ in own}
    return [
        by_paper(
            f"{form}: NetSparse is faster than both baselines for all matrices and sizes",
            not slower,
            "; ".join(
                f"{named(*key)}: {own[key].netsparse:.2f}, SAOpt {own[key].saopt:.2f}"
                f" ({own[key].bounds})"
                for key in slower
            )
            or f"all {len(own)}",
        ),
        mean_claim(
            f"{form}: NetSparse over SUOpt", over_su, paper.NETSPARSE_OVER_SUOPT, sizes, by_traffic
        ),
        mean_claim(f"{form}: NetSparse over SAOpt", over_sa, paper.NETSPARSE_OVER_SAOPT, sizes),
        *(order_claim(form, elements, own, su) for elements in sizes),
        by_paper(
            f"{form}: speed-ups of SAOpt and NetSparse rise with K",
            all(
                own[family, large].netsparse > own[family, small].netsparse
                and own[family, large].saopt > own[family, small].saopt
                for family in families
                for small, large in pairwise(sizes)
            ),
            "; ".join(
                f"{family} "
                + ", ".join(f"{own[family, elements].netsparse:.1f}" for elements in sizes)
                for family in sorted(families)
            ),
        ),
    ][: None if len(sizes) > 1 else -1]  # a single K has nothing smaller


def software_claim(own: Mapping[Key, SpeedUps]) -> Claim:
    """Return the claim on where SAOpt is behind SUOpt, from formulas alone.

    Its text names the best speed-up that the paper's own SU leaves to SAOpt: that of cores which
    have equal work and ask for no property twice.
    """
    #: Bytes that the line brings in a property's time.
    per_property = SOFTWARE_CYCLES * PAPER.line_bytes / paper.CORES

    def at_best(key: Key) -> float:
        family, elements = key
        return (paper.MATRICES[family].su + 1) * paper.PROPERTY_BYTES[elements] / per_property

    sizes = sorted({elements for _, elements in own})
    expected = {("stokes", elements) for elements in sizes} | {("arabic", 1)} & own.keys()
    behind = {key for key, item in own.items() if item.saopt < 1}
    return by_paper(
        "SAOpt is slower than SUOpt for stokes (all K) and arabic (K = 1), and only there",
        behind == expected,
        "slower: "
        + "; ".join(
            f"{named(*key)} {own[key].saopt:.2f}, {own[key].saopt_balanced:.2f} with all cores"
            f" alike, at best {at_best(key):.2f} by the paper's SU"
            for key in sorted(behind)
        ),
    )


def mean_claim(
    what: str, result: float, papers: float, sizes: Sequence[int], by_traffic: float = 0
) -> Claim:
    """Return the claim that a geometric mean is near the paper's, which is over all K."""
    of = f"of K = {', '.join(map(str, sizes))}"
    text = f"{what}: {papers} on average (geometric mean), within a factor of {FACTOR}"
    reported = f"{result:.1f} {of}" + (f"; by traffic alone {by_traffic:.1f}" if by_traffic else "")
    return by_paper(text, papers / FACTOR <= result <= papers * FACTOR, reported)


def order_claim(
    form: str, elements: int, simulated: Mapping[Key, SpeedUps], su: Mapping[str, float]
) -> Claim:
    """Return the claim that gains follow SU's redundancy: a rank correlation of at least 0.8."""
    own = {family: item.netsparse for (family, k), item in simulated.items() if k == elements}
    places = ranked(su)
    apart = sum((ranked(own).index(family) - places.index(family)) ** 2 for family in own)
    count = len(own)
    rank = 1 - 6 * apart / (count * (count**2 - 1))
    return by_paper(
        f"{form}, K = {elements}: gains over SUOpt follow the redundant transfers of table 1 (rank"
        " correlation of at least 0.8)",
        rank >= 0.8,
        f"{rank:.2f}: {words({family: own[family] for family in ranked(own)}, '.1f')}",
    )


def draw(elements: int, simulated: Mapping[Key, SpeedUps], axes: Axes) -> None:
    """Draw bars of SAOpt and NetSparse, and marks of traffic's bound."""
    own = {family: item for (family, k), item in simulated.items() if k == elements}
    places = np.arange(len(own))
    axes.bar(places - 0.2, [item.saopt for item in own.values()], 0.4, label="SAOpt", color="0.7")
    axes.bar(places + 0.2, [item.netsparse for item in own.values()], 0.4, label="NetSparse")
    traffic = [item.traffic for item in own.values()]
    axes.plot(places + 0.2, traffic, "_", color="k", ms=14, label="by traffic alone")
    axes.axhline(1, color="0.4", linewidth=0.8)
    axes.set_xticks(places, list(own))
    by_decades(axes)
    axes.set_ylabel("times SUOpt")
