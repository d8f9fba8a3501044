"""Sets the tail nodes of 128 in RTL beside those of the model and of table 7."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sim.netsparse.model.accuracy import Compared
from sim.netsparse.reproduce.calibration import COUNTED, Pair, draw
from sim.netsparse.reproduce.points import SHAPE, SHAPE_MODEL, Point
from sim.netsparse.reproduce.runs import Outcome, Outcomes
from sim.netsparse.reproduce.subjects import Subject, subjects
from sim.netsparse.reproduce.tail_node import Node
from sim.reproduce.figure import Claim, Figure, Panel, by_us

SCALE = 0.02  #: share of the families' rows of a node
QUICK = "uk"  #: the matrix that is run alone if there is less time


def small() -> tuple[Subject, ...]:
    """Return the generated matrices for 128 nodes in RTL."""
    return subjects(scale=SCALE, nodes=SHAPE.nodes)


def points(_: Sequence[Subject], quick: bool) -> list[Point]:
    """Return each matrix on both engines; one alone if it has to be quick.

    Unscaled runs have links of the paper's latency, at which nodes are processes of their own.
    """
    return [
        Point(subject=subject, cluster=cluster, scaled=False)
        for subject in small()
        if not quick or subject.family == QUICK
        for cluster in (SHAPE, SHAPE_MODEL)
    ]


def figure(_: Sequence[Subject], quick: bool, result: Outcomes) -> Figure:
    """Return the figure: RTL, model and paper, and what of both engines is compared."""
    pairs = {
        point.subject: Pair(
            point.subject.family, "all", result[point], result[replace(point, cluster=SHAPE_MODEL)]
        )
        for point in points(_, quick)
        if not point.cluster.model
    }
    return Figure(
        name="tail-node-rtl",
        title="The tail node of 128",
        source="section 9.1, table 7",
        quote="(ours) The paper's nodes, racks and spines run in RTL, if SNICs and matrices are"
        " small: each node and switch is a process.",
        setting=f"{SHAPE.what}, K = 16, unscaled; {'; '.join(item.what for item in pairs)}.",
        rows=[row for item, pair in pairs.items() for row in rows(item, pair)],
        shown=[row for item, pair in pairs.items() for row in shown(item, pair)],
        panels=[Panel("error of the model", partial(draw, [*pairs.values()]))],
        claims=[*claims([*pairs.values()])],
        note="The paper's SNICs have more clients and Pending PRs, and its matrices thousands of"
        " times the nonzeros, so that its shares of the line are far larger.",
    )


def engines(pair: Pair) -> Iterator[tuple[str, Outcome]]:
    """Yield the outcome of each engine, with its name."""
    yield from (("RTL", pair.rtl), ("model", pair.model))


def rows(subject: Subject, pair: Pair) -> Iterator[dict[str, Any]]:
    """Yield rows of the CSV file: of each engine, what all nodes and the tail have counted."""
    for engine, outcome in engines(pair):
        yield {
            "matrix": pair.matrix,
            "engine": engine,
            **{name.lower(): get(outcome) for name, get in COUNTED.items()},
            "tail_node": outcome.tail_node,
            **{f"tail_{name}": value for name, value in of_tail(outcome).items()},
            **vars(Node.of(subject, outcome).tail),
            "exact": outcome.exact,
            "seconds": round(outcome.seconds, 1),
        }


def of_tail(outcome: Outcome) -> dict[str, int]:
    """Return the counters that table 7 is made of."""
    node = outcome.tail
    return {
        "prs": node.unit["prs"],
        "coalesced": node.unit["coalesced"],
        "filtered": node.unit["filtered"],
        "responses": node.unit["responses"],
        "packets": node.packets("received", "responses"),
        "bytes": node.packet_bytes("received"),
    }


def shown(subject: Subject, pair: Pair) -> Iterator[dict[str, str]]:
    """Yield rows of the page: those of both engines, and the paper's."""
    for engine, outcome in engines(pair):
        yield {
            "matrix": f"{pair.matrix}, {engine}",
            "node": str(outcome.tail_node),
            **{name: f"{count:,}" for name, count in of_tail(outcome).items()},
            **Node.of(subject, outcome).shown,
        }
    unknown = dict.fromkeys(("node", *of_tail(pair.rtl)), "-")
    yield {"matrix": f"{pair.matrix}, paper", **unknown, **Node.of_paper(subject.paper).shown}


#: counters of the tail node that are compared, under the names of those of all nodes
COMPARED = {"PRs": "prs", "packets": "packets", "bytes": "bytes"}


def claims(pairs: Sequence[Pair]) -> Iterator[Claim]:
    """Yield the claims that the model is as near as in every other comparison, and RTL exact."""
    for name, get in COUNTED.items():
        yield near(
            f"{name} of all nodes",
            name,
            {pair.matrix: (get(pair.rtl), get(pair.model)) for pair in pairs},
        )
    ends = {pair.matrix: (pair.rtl.tail_node, pair.model.tail_node) for pair in pairs}
    yield by_us(
        "the same node takes longest in RTL and on the model",
        all(rtl == model for rtl, model in ends.values()),
        "; ".join(f"{name}: {rtl}, {model}" for name, (rtl, model) in ends.items()),
    )
    for name, counter in COMPARED.items():
        counts = {
            pair.matrix: (of_tail(pair.rtl)[counter], of_tail(pair.model)[counter])
            for pair in pairs
        }
        yield near(f"{name} of the tail node", name, counts)
    exact = [pair.matrix for pair in pairs if pair.rtl.exact]
    yield by_us(
        "memories and products of the RTL equal the golden model's and scipy's",
        len(exact) == len(pairs),
        f"{len(exact)} of {len(pairs)} runs",
    )


def near(what: str, name: str, counts: Mapping[str, tuple[float, float]]) -> Claim:
    """Return the claim that the model's counts are as near to the RTL's as in all tests."""
    every = {matrix: Compared(name, *map(round, both)) for matrix, both in counts.items()}
    return by_us(
        f"{what}: the model is as near as tests demand",
        all(item.near for item in every.values()),
        "; ".join(f"{matrix} {item}" for matrix, item in every.items()),
    )
