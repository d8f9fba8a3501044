"""Reproduces table 8: what each mechanism brings, on a denser and a sparser matrix."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes

from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.judging import FACTOR, by_decades, named, written
from sim.netsparse.reproduce.points import FORMS, PAPER, Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes
from sim.netsparse.reproduce.subjects import Subject, sizes
from sim.reproduce.figure import Claim, Figure, Panel, Source, by_paper, by_us

DENSER, SPARSER = "arabic", "europe"
QUICK_ELEMENTS = (16,)
NOTHING = {"filter": False, "coalesce": False, "concatenate": False, "middle_pipes": False}

#: What each step switches on, besides what those before it have.
STEPS: Mapping[str, Mapping[str, bool]] = dict(
    zip(
        paper.STEPS,
        ({}, {"filter": True}, {"coalesce": True}, {"concatenate": True}, {"middle_pipes": True}),
        strict=True,
    )
)

Key = tuple[str, int]  #: matrix and K
Series = Mapping[Key, Sequence[Outcome]]  #: a run for each step


def steps(point: Point) -> list[Point]:
    """Return ``point`` with RIG alone, then with one more mechanism each."""
    result, on = [], dict(NOTHING)
    for switched in STEPS.values():
        on |= switched
        result.append(replace(point, **on))
    return result


def series(subjects: Sequence[Subject], quick: bool, scaled: bool) -> dict[Key, list[Point]]:
    """Return the steps of each matrix and K."""
    return {
        (item.family, elements): steps(Point(subject=item, elements=elements, scaled=scaled))
        for item in subjects
        if item.family in (DENSER, SPARSER)
        for elements in (QUICK_ELEMENTS if quick else paper.PROPERTY_BYTES)
    }


def points(subjects: Sequence[Subject], quick: bool) -> list[Point]:
    """Return all points that must be run."""
    return [
        point for form in FORMS for own in series(subjects, quick, form).values() for point in own
    ]


def figure(subjects: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
    """Return the figure: our numbers beside the paper's, a row for each matrix, K and step."""
    forms: dict[bool, Series] = {
        form: {
            key: [result[point] for point in own]
            for key, own in series(subjects, quick, form).items()
        }
        for form in FORMS
    }
    rows = [
        row(form, key, step, outcome)
        for form, outcomes in forms.items()
        for key, own in outcomes.items()
        for step, outcome in zip(paper.STEPS, own, strict=True)
    ]
    return Figure(
        name="ablation",
        title="Ablation: what each mechanism brings",
        source="section 9.2, table 8",
        quote="We progressively apply each NetSparse mechanism, and show the resulting"
        " communication speedup (Spd), tail node traffic reduction (-Trfc), and tail node goodput"
        " for different property sizes. Speedups and traffic reductions are calculated with"
        " respect to SUOpt.",
        setting=f"{PAPER.what}, on the model. Up to Conc NIC"
        " the racks' switches only forward. Bytes of all links beside the tail node's. "
        + sizes([item for item in subjects if item.family in (DENSER, SPARSER)]),
        rows=rows,
        shown=[shown(item) for item in rows],
        panels=[
            Panel(f"{family}, {name}: traffic reduction", partial(draw, family, forms[form]))
            for family in (DENSER, SPARSER)
            for form, name in FORMS.items()
        ],
        claims=[
            claim for form, outcomes in forms.items() for claim in claims(FORMS[form], outcomes)
        ],
        note="Times hold latencies that do not shrink with the matrix, so that traffic is judged"
        " first: the speed-up cannot exceed the traffic reduction, and comes the closer to it the"
        " larger the matrix and the property are. Where latency rules, the node that takes longest"
        " is another one at every step; so what the node has received that received most stands"
        f" beside it.\n\n{limits()}",
    )


def headers(family: str) -> list[float]:
    """Return the bytes beside a property that the paper's RIG rows imply, from each K to the next.

    A node that receives n properties, each with some bytes beside it, has the same n for each K;
    SUOpt brings nothing but properties.
    """
    rows = {
        paper.PROPERTY_BYTES[k]: paper.ABLATION[family][k][0][1]
        for k in sorted(paper.PROPERTY_BYTES)
    }
    result = []
    for (size, traffic), (next_size, next_traffic) in pairwise(rows.items()):
        grows = next_size / size * traffic / next_traffic  # bytes for each property
        result.append((next_size - grows * size) / (grows - 1))
    return result


def limits() -> str:
    """Return what the paper's own rows imply about each other, in words."""
    reported = {
        family: " and ".join(f"{octets:.0f}" for octets in headers(family))
        for family in (DENSER, SPARSER)
    }
    return (
        f"The paper's rows with RIG alone imply {reported[SPARSER]} bytes beside each property for"
        f" {SPARSER}, from K = 1 to 16 and from 16 to 128, as if one node were its tail for every"
        f" K; for {DENSER} they imply {reported[DENSER]}, of which the former would be fewer than a"
        f" header has. So {DENSER}'s rows are of different nodes, and ours of different ones again:"
        " where they differ by more than a factor of 2, this may be why, and the last row, with all"
        " mechanisms, is the one to be compared."
    )


def row(form: bool, key: Key, step: str, outcome: Outcome) -> dict[str, Any]:
    """Return a row of the CSV file."""
    family, elements = key
    speed, traffic, goodput = paper.ABLATION[family][elements][paper.STEPS.index(step)]
    return {
        "matrix": family,
        "K": elements,
        "step": step,
        "form": FORMS[form],
        "engine": PAPER.engine,
        "cycles": outcome.cycles,
        "speed_up": outcome.speed_up,
        "speed_up_paper": speed,
        "traffic": outcome.traffic_reduction,
        "traffic_paper": traffic,
        "traffic_of_busiest": outcome.busiest_reduction,
        "goodput": outcome.goodput,
        "goodput_paper": goodput / 100,
        "link_bytes": outcome.figures["link_bytes"],
        "prs_of_tail": outcome.tail.unit["prs"],
    }


def shown(item: Mapping[str, Any]) -> dict[str, str]:
    """Return a row of the page."""
    return {
        "matrix": item["matrix"],
        "K": str(item["K"]),
        "step": item["step"],
        "form": item["form"],
        "traffic, ours": f"{item['traffic']:.1f}x",
        "paper": f"{item['traffic_paper']:.1f}x",
        "of the busiest node": f"{item['traffic_of_busiest']:.1f}x",
        "speed-up, ours": f"{item['speed_up']:.1f}",
        "paper ": f"{item['speed_up_paper']:.1f}",
        "goodput, ours": f"{item['goodput']:.1%}",
        "paper  ": f"{item['goodput_paper']:.1%}",
        "bytes of all links": f"{item['link_bytes']:,.0f}",
    }


def claims(form: str, outcomes: Series) -> list[Claim]:
    """Return the statements of section 9.2, judged by one form of our runs."""
    speeds = {key: [item.speed_up for item in own] for key, own in outcomes.items()}
    traffic = {key: [item.traffic_reduction for item in own] for key, own in outcomes.items()}
    goodputs = {key: [100 * item.goodput for item in own] for key, own in outcomes.items()}
    gains = {key: each[-1] / each[0] for key, each in traffic.items()}
    without_redundancy = {key: each[2] / each[0] for key, each in traffic.items()}
    joined = {key: each[3] / each[2] for key, each in traffic.items()}
    falls = {key: [item.figures["link_bytes"] for item in own] for key, own in outcomes.items()}
    by_k = sorted({elements for _, elements in traffic})
    busiest = {key: [item.busiest_reduction for item in own] for key, own in outcomes.items()}
    more = all(without_redundancy[DENSER, k] > without_redundancy[SPARSER, k] for k in by_k)
    return [
        by_paper(
            f"{form}: each mechanism reduces the tail node's traffic, within 1 %",
            all(b >= 0.99 * a for each in traffic.values() for a, b in pairwise(each)),
            by_step(traffic),
        ),
        by_us(
            f"{form}: each mechanism reduces the bytes of all links, within 1 %",
            all(b <= 1.01 * a for each in falls.values() for a, b in pairwise(each)),
            factors({key: each[0] / each[-1] for key, each in falls.items()}),
        ),
        by_us(
            f"{form}: each mechanism reduces what any node receives at most, within 1 %",
            all(b >= 0.99 * a for each in busiest.values() for a, b in pairwise(each)),
            by_step(busiest),
        ),
        *(
            near(f"{form}: {what} of each step within a factor of {FACTOR}", values, column)
            for column, (what, values) in enumerate(
                [("speed-up", speeds), ("traffic reduction", traffic), ("goodput", goodputs)]
            )
        ),
        near(
            f"{form}: traffic reduction of the node that receives most, of each step within"
            f" a factor of {FACTOR}",
            busiest,
            source=Source.OWN,
        ),
        by_paper(
            f"{form}: filtering and coalescing bring {DENSER} more than {SPARSER}",
            more,
            factors(without_redundancy),
        ),
        by_paper(
            f"{form}: after RIG, {DENSER} still has more to gain than {SPARSER}",
            all(gains[DENSER, k] > gains[SPARSER, k] for k in by_k),
            factors(gains),
        ),
        by_paper(
            f"{form}: concatenation at the NIC is the more effective, the smaller K is",
            all(
                joined[family, small] > joined[family, large]
                for family in (DENSER, SPARSER)
                for small, large in pairwise(by_k)
            ),
            factors(joined),
        ),
    ][: None if len(by_k) > 1 else -1]  # a single K has nothing smaller


def by_step(result: Mapping[Key, Sequence[float]]) -> str:
    """Return the number of each step, in words."""
    return "; ".join(
        f"{named(*key)} " + ", ".join(f"{written(value, '.3g')}" for value in each)
        for key, each in result.items()
    )


def factors(result: Mapping[Key, float]) -> str:
    """Return a factor of each matrix and K, in words."""
    return "; ".join(f"{named(*key)} x {factor:.2f}" for key, factor in result.items())


def near(
    text: str, result: Mapping[Key, Sequence[float]], column: int = 1, source: Source = Source.PAPER
) -> Claim:
    """Return the claim that each step is within :data:`FACTOR` of a column of the paper's table."""
    apart = [
        f"{named(*key)} {step} {written(own, '.3g')} against {papers[column]:g}"
        for key, each in result.items()
        for step, own, papers in zip(paper.STEPS, each, paper.ABLATION[key[0]][key[1]], strict=True)
        if not papers[column] / FACTOR <= own <= papers[column] * FACTOR
    ]
    reported = "; ".join(apart) or f"all {sum(map(len, result.values()))} are"
    return Claim(source, text, not apart, reported)


def draw(family: str, outcomes: Series, axes: Axes) -> None:
    """Draw traffic reductions: ours as lines, the paper's as marks."""
    places = range(len(paper.STEPS))
    axes.set_xticks(places, paper.STEPS, fontsize=8)
    axes.set_ylabel("SUOpt's bytes for each of the tail's")
    own = {key[1]: each for key, each in outcomes.items() if key[0] == family}
    for index, (elements, each) in enumerate(own.items()):
        simulated = [item.traffic_reduction for item in each]
        papers = [of[1] for of in paper.ABLATION[family][elements]]
        axes.plot(places, simulated, color=f"C{index}", label=f"K = {elements}, ours")
        axes.plot(places, papers, "o", color=f"C{index}", label=f"K = {elements}, paper")
    by_decades(axes)
