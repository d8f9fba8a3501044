"""Reproduces table 7: the node that takes longest, K = 16."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from operator import attrgetter
from typing import Any

from sim.netsparse.reproduce import paper
from sim.netsparse.reproduce.judging import FACTOR, bars, ranking, within_factor, words, written
from sim.netsparse.reproduce.points import FORMS, PAPER, SOFTWARE_CYCLES, Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes, repeats
from sim.netsparse.reproduce.subjects import Subject, resized, sizes
from sim.reproduce.figure import Claim, Figure, Panel, by_paper, by_us

ELEMENTS = 16
GROWING = "queen"  #: the matrix that is run in several sizes
SIZES = (0.5, 1, 2)  #: factors of the matrix's rows
#: columns judged as they stand; the other two have statements of their own
COLUMNS = ("prs_per_packet", "hit_rate", "goodput", "utilisation", "goodput_sa", "prs_sa")
NEAR_RATE = 0.10  #: difference below which filter + coalesce rates count as equal


def points(subjects: Sequence[Subject], quick: bool) -> list[Point]:
    """Return every matrix, scaled and unscaled, and one in several sizes."""
    return [*tails(subjects), *growing(subjects, quick)]


def tails(subjects: Sequence[Subject]) -> list[Point]:
    """Return every matrix, scaled and unscaled."""
    return [
        Point(subject=item, elements=ELEMENTS, scaled=form) for form in FORMS for item in subjects
    ]


def growing(subjects: Sequence[Subject], quick: bool) -> list[Point]:
    """Return one matrix in several sizes, the smallest first; none if it is a file."""
    return [
        Point(subject=item if size == 1 else resized(item, size), elements=ELEMENTS)
        for item in subjects
        if item.family == GROWING and item.generated
        for size in SIZES
        if size <= 1 or not quick
    ]


@dataclass(frozen=True)
class Node:
    """Holds a row of the table, ours or the paper's."""

    tail: paper.Tail
    received: float  #: properties received, by those that the mean node can use
    bytes_of_property: float  #: bytes received by property, with headers and reads

    @classmethod
    def of_paper(cls, matrix: paper.Matrix) -> "Node":
        """Return the paper's row, with two factors that follow from its tables 1 and 7."""
        size, tail = paper.PROPERTY_BYTES[ELEMENTS], matrix.tail
        each = size * tail.utilisation / tail.goodput
        return cls(tail, (matrix.su + 1) / tail.traffic * size / each, each)

    @classmethod
    def of(cls, subject: Subject, outcome: Outcome) -> "Node":
        """Return our row, from counters."""
        node, sa = outcome.tail, outcome.sa
        line = outcome.line_bytes
        slowest = sa.tail(line, SOFTWARE_CYCLES)
        tail = paper.Tail(
            filter_coalesce=node.filter_coalesce_rate,
            prs_per_packet=outcome.prs_per_packet,
            hit_rate=outcome.tail_hit_rate,
            goodput=outcome.goodput,
            utilisation=outcome.utilisation,
            traffic=outcome.traffic_reduction,
            goodput_sa=sa.goodput(slowest, line, SOFTWARE_CYCLES),
            prs_sa=float(sa.prs[outcome.tail_node].sum()) / max(1, node.unit["prs"]),
        )
        useful = subject.redundancy.useful / subject.nodes
        responses = max(1, node.unit["responses"])
        return cls(tail, responses / useful, node.packet_bytes("received") / responses)

    @property
    def shown(self) -> dict[str, str]:
        """Return the row as the paper prints it."""
        tail = self.tail
        return {
            "F+C rate": f"{tail.filter_coalesce:.0%}",
            "PRs of a packet": f"{tail.prs_per_packet:.1f}",
            "hit rate": f"{tail.hit_rate:.0%}",
            "goodput": f"{tail.goodput:.0%}",
            "line util.": f"{tail.utilisation:.0%}",
            "traffic vs SU": f"{tail.traffic:.0f}x",
            "goodput SA": f"{tail.goodput_sa:.1%}",
            "PRs vs SA": f"{tail.prs_sa:.1f}x",
        }


@dataclass(frozen=True)
class OwnNode:
    """Holds a run, and its row of the table."""

    point: Point
    outcome: Outcome
    node: Node

    @property
    def node_requests(self) -> float:
        """Return the number of work requests that the idxs of the mean node fill."""
        return (
            self.point.subject.matrix.indices.size / self.point.subject.nodes / self.point.requests
        )


def figure(subjects: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
    """Return the figure: ours scaled, ours unscaled and the paper's."""
    papers = {item.family: Node.of_paper(item.paper) for item in subjects}
    forms: dict[bool, dict[str, OwnNode]] = {}
    for point in tails(subjects):
        own = OwnNode(point, result[point], Node.of(point.subject, result[point]))
        forms.setdefault(point.scaled, {})[point.subject.family] = own
    shown = []
    for item in subjects:
        for scaled, own in forms.items():
            shown.append(
                {"matrix": f"{item.family}, {FORMS[scaled]}"} | own[item.family].node.shown
            )
        shown.append({"matrix": f"{item.family}, paper"} | papers[item.family].shown)
    return Figure(
        name="tail-node",
        title="The tail node",
        source="section 9.1, table 7",
        quote="First, PRs get filtered and coalesced, as revealed by the filtering and coalescing"
        " (F+C) rate. Second, PRs get concatenated, as shown by the high number of PRs per packet."
        " Third, we have hits in the Property Caches. For europe, the filter and cache hit rates"
        " are low because the matrix is very sparse",
        setting=f"K = {ELEMENTS}; {PAPER.what}, on the model. PRs of a packet: of the responses"
        " that the node has received; hit rate: of its rack's switch. Bytes received include"
        f" headers, and reads for what the node serves. {sizes(subjects)}",
        rows=[row(item) for own in forms.values() for item in own.values()],
        shown=shown,
        panels=panels({family: item.node for family, item in forms[True].items()}, papers),
        claims=[
            *(claim for scaled, own in forms.items() for claim in claims(scaled, own, papers)),
            *growth({point: result[point] for point in growing(subjects, quick)}),
        ],
        note=f"{note(forms[True])}\n\n{unscaled_note(forms[False], papers)}\n\n"
        + limits(papers, {item.family: item.paper for item in subjects}),
    )


def row(item: OwnNode) -> dict[str, Any]:
    """Return a row of the CSV file."""
    point, outcome, node = item.point, item.outcome, item.node
    papers = point.subject.paper.tail
    return {
        "matrix": point.subject.family,
        "source": point.subject.text,
        "engine": point.cluster.engine,
        "scaled": point.scaled,
        "nonzeros_scale": point.subject.scale,
        "batch": point.requests,
        "cache_bytes_of_a_pipe": point.cache.cache_bytes,
        "cycles": outcome.cycles,
        "speed_up": outcome.speed_up,
        "tail_node": outcome.tail_node,
        **vars(node.tail),
        **{f"{name}_paper": value for name, value in vars(papers).items()},
        "properties_of_the_mean": node.received,
        "bytes_of_a_property": node.bytes_of_property,
        "line_bound": outcome.utilisation,
        "link_bound": outcome.link_bound,
        "client_bound": outcome.client_bound,
        "exact": outcome.exact,
        "seconds": round(outcome.seconds, 1),
    }


def claims(scaled: bool, own: Mapping[str, OwnNode], papers: Mapping[str, Node]) -> list[Claim]:
    """Return the statements of section 9.1 on the table, judged by one form of our runs."""

    def each(get: Callable[[paper.Tail], float]) -> dict[str, float]:
        return {name: get(item.node.tail) for name, item in own.items()}

    form = FORMS[scaled]
    rates = each(lambda tail: tail.filter_coalesce)
    paper_rates = {name: node.tail.filter_coalesce for name, node in papers.items()}
    apart = [name for name in rates if abs(rates[name] - paper_rates[name]) > NEAR_RATE]
    hits = each(lambda tail: tail.hit_rate)
    joined = each(lambda tail: tail.prs_per_packet)
    goodputs, of_software = each(lambda tail: tail.goodput), each(lambda tail: tail.goodput_sa)
    fewer = each(lambda tail: tail.prs_sa)
    return [
        ranking(f"{form}: the same order of the matrices by F+C rate", rates, paper_rates),
        by_paper(
            f"{form}: F+C rate of each matrix within {100 * NEAR_RATE:.0f} points",
            not apart,
            "; ".join(
                f"{name} {rates[name]:.0%} against {paper_rates[name]:.0%}: {redundant(own[name])}"
                for name in apart
            )
            or words(rates, ".0%"),
        ),
        within_factor(
            f"{form}: traffic reduction over SUOpt within a factor of {FACTOR} for each matrix",
            each(lambda tail: tail.traffic),
            {name: node.tail.traffic for name, node in papers.items()},
            {name: why(item.node, papers[name]) for name, item in own.items()},
        ),
        *(
            within_factor(
                f"{form}: {field.replace('_', ' ')} within a factor of {FACTOR} for each matrix",
                each(attrgetter(field)),
                {name: getattr(node.tail, field) for name, node in papers.items()},
            )
            for field in COLUMNS
        ),
        by_paper(
            f"{form}: PRs get concatenated, at least two in a packet for each matrix",
            min(joined.values()) >= 2,
            words(joined, ".1f"),
        ),
        by_paper(
            f"{form}: the caches hit, for europe and stokes less often than for the others",
            min(hits.values()) > 0
            and max(hits["europe"], hits["stokes"])
            < min(hits[name] for name in ("arabic", "queen", "uk")),
            words(hits, ".1%"),
        ),
        by_paper(
            f"{form}: higher goodput than SAOpt's for each matrix",
            all(goodputs[name] > of_software[name] for name in goodputs),
            "; ".join(
                f"{name} {goodputs[name]:.1%}, {of_software[name]:.1%}"
                + (f" ({item.outcome.bounds})" if goodputs[name] <= of_software[name] else "")
                for name, item in own.items()
            ),
        ),
        by_paper(
            f"{form}: fewer PRs than SAOpt for each matrix",
            min(fewer.values()) > 1,
            words(fewer, ".1f"),
        ),
    ]


def growth(result: Outcomes) -> list[Claim]:
    """Return the claim that fixed costs weigh less in a larger matrix."""
    if not result:
        return []
    papers = paper.MATRICES[GROWING].tail.traffic
    own = {point: outcome.traffic_reduction for point, outcome in result.items()}
    apart = [abs(log(traffic / papers)) for traffic in own.values()]
    reported = ", ".join(
        f"{written(traffic, '.3g')} with 1/{1 / point.subject.scale:.0f} of the nonzeros"
        for point, traffic in own.items()
    )
    return [
        by_us(
            f"scaled: the larger {GROWING} is, the nearer its traffic reduction comes to"
            " the paper's",
            all(after <= before for before, after in pairwise(apart)),
            f"{reported}; the paper {papers:g}",
        )
    ]


def redundant(item: OwnNode) -> str:
    """Return why some PRs are redundant, in words."""
    point = item.point
    same, close = repeats(point.subject, point.requests, point.clients, shares=point.scaled)
    return (
        f"with each idx asked for once it would be {max_rate(item.outcome):.0%}; of all repeated"
        f" idxs {same:.0%} were last in the same request of {point.requests} idxs, and {close:.0%}"
        f" in the one that another of {point.clients} clients runs at the same time"
    )


def max_rate(outcome: Outcome) -> float:
    """Return the tail node's F+C rate if it asked for each of its remote idxs once."""
    node = outcome.tail
    return 1 - outcome.tail_useful / node.remote if node.remote else 0.0


def why(own: Node, papers: Node) -> str:
    """Return the two factors of a traffic reduction, in words."""
    return (
        f"the tail receives {own.received:.1f} times the properties that the mean node can use"
        f" (paper {papers.received:.1f}), with {own.bytes_of_property:.0f} bytes each"
        f" ({papers.bytes_of_property:.0f})"
    )


def note(own: Mapping[str, OwnNode]) -> str:
    """Return what the time is spent on, in words."""
    spent = "; ".join(f"{name} {item.outcome.bounds}" for name, item in own.items())
    return (
        f"Time, scaled: {spent}. What none of them explains is latency, of the hardware's own"
        " pipelines above all, which does not shrink with the matrix. A response has to pass the"
        " cache that its read has passed: the node that owns an idx chooses the spine of both."
    )


def unscaled_note(own: Mapping[str, OwnNode], papers: Mapping[str, Node]) -> str:
    """Return why the unscaled runs are in another order, and receive less, in words."""
    requests = {name: item.node_requests for name, item in own.items()}
    rates = {name: item.node.tail.filter_coalesce for name, item in own.items()}
    most = {name: max_rate(item.outcome) for name, item in own.items()}
    received = {name: item.node.received for name, item in own.items()}
    clients = next(iter(own.values())).point.clients
    return (
        f"Unscaled, the idxs of a mean node make {words(requests, '.1f')} requests of the paper's"
        f" size, for {clients} clients: most of them have nothing to do, and an idx that comes"
        " again is mostly in the request of the one before it, or comes after its property."
        f" So tail nodes drop {words(rates, '.0%')}, where {words(most, '.0%')} would be all, and"
        " stand in the order of the matrices' own redundancy, which is not that of the paper's tail"
        f" nodes; and they receive {words(received, '.1f')} times the properties that the mean node"
        f" can use, the paper's {words({name: papers[name].received for name in own}, '.1f')}:"
        " where ours is less than half, the traffic reduction is more than twice the paper's."
    )


def limits(papers: Mapping[str, Node], matrices: Mapping[str, paper.Matrix]) -> str:
    """Return what the paper's tables 1 and 7 imply about each other, in words.

    A node drops all of its remote idxs but one for each property: SA of SA + 1 in the mean. The
    remote idxs of a tail node follow from the share that it drops and the properties that it
    receives.
    """
    most = {name: item.sa / (item.sa + 1) for name, item in matrices.items()}
    remote = {
        name: papers[name].received / (1 - item.tail.filter_coalesce) / (item.sa + 1)
        for name, item in matrices.items()
    }
    return (
        f"By the paper's table 1 the mean node can drop at most {words(most, '.0%')}: uk more than"
        " stokes. Its order of the tail nodes is that of nodes unlike the mean: with what they"
        f" receive they have {words(remote, '.1f')} times the mean's remote idxs. The nodes of a"
        " regular box, queen and stokes of ours, have the mean's."
    )


def panels(own: Mapping[str, Node], papers: Mapping[str, Node]) -> list[Panel]:
    """Return the panels of the picture: rates, and traffic."""

    def pair(get: Callable[[paper.Tail], float]) -> tuple[dict[str, float], dict[str, float]]:
        return (
            {name: get(node.tail) for name, node in own.items()},
            {name: get(node.tail) for name, node in papers.items()},
        )

    return [
        Panel("F+C rate", bars(*pair(lambda tail: tail.filter_coalesce), logarithmic=False)),
        Panel("hit rate", bars(*pair(lambda tail: tail.hit_rate), logarithmic=False)),
        Panel("traffic reduction over SUOpt", bars(*pair(lambda tail: tail.traffic))),
    ]
