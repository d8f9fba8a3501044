"""Makes figure 17, and the star and ring of section 3.2.2: what the order of sending is worth."""

from collections.abc import Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.sparse import csr_array

from sim.reproduce.figure import Figure, Panel, by_paper
from sim.switchgnn.evaluation.queues import drained
from sim.switchgnn.planning.cut import CutGraph, cut_graph
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.orders import ORDERS, ordered
from sim.switchgnn.planning.senders import Senders, senders_of
from sim.switchgnn.planning.workers import provided_workers
from sim.switchgnn.reproduce import paper
from sim.switchgnn.reproduce.subjects import SEED, Subject

SMALL = (4, 5, 6, 7)  #: vertices of graphs whose orders are all tried
LARGE = 400
DRAWN = 20  #: random orders of a large ring
GRAPHS = ("star", "ring")


def orders(subjects: Sequence[Subject]) -> Figure:
    """Make figure 17: time and queues of a block that holds every boundary vertex."""
    rows = [_of_order(each, order) for each in subjects for order in ORDERS]
    result = {(row["family"], row["order"]): row for row in rows}
    random, own = result["reddit", "random"], result["reddit", "priority-bfs"]

    def draw(column: str, label: str, axes: Axes) -> None:
        for at, order in enumerate(ORDERS):
            values = [result[each.family, order][column] for each in subjects]
            places = [place + 0.2 * at for place in range(len(subjects))]
            axes.bar(places, values, 0.2, label=order)
        axes.set_xticks(
            [place + 0.3 for place in range(len(subjects))], [s.family for s in subjects]
        )
        axes.set_ylabel(label)

    return Figure(
        name="order",
        title="Order of sending, by plans alone",
        source="section 6.3, figure 17",
        quote="GAMR enhances the pipeline efficiency for each block, improving the overall"
        " aggregation throughput. Moreover, as the switch memory increases, the maximum queue"
        " length under SwitchGNN without GAMR grows rapidly.",
        setting=f"{paper.MAX_WORKERS} workers, all boundary vertices in one block, a packet in and"
        " one out of each port in a slot (equations 3 to 6). The bound is what the busiest port"
        " sends or receives.",
        rows=rows,
        shown=[
            {
                "family": row["family"],
                "order": row["order"],
                "time, x the bound": f"{row['time']:.2f}",
                "longest queue, x n": f"{row['queue']:.2f}",
            }
            for row in rows
        ],
        panels=[
            Panel("time", partial(draw, "time", "time, x the bound")),
            Panel("queue", partial(draw, "queue", "longest queue, x n")),
        ],
        claims=[
            by_paper(
                "the paper's order shortens Reddit's queue to less than half",
                own["queue"] < random["queue"] / 2,
                f"{own['queue']:.2f} n, random {random['queue']:.2f} n",
            ),
            by_paper(
                "and its time",
                own["time"] < random["time"],
                f"{own['time']:.2f} x the bound, random {random['time']:.2f}",
            ),
        ],
        note="The degree alone, without a search, does as well; finish-first needs more of the"
        " graph and is close to the bound everywhere.",
    )


def _of_order(subject: Subject, order: str) -> dict[str, Any]:
    cut = subject.cut(paper.MAX_WORKERS)
    senders = cut.unlimited().senders
    built = drained(senders, ordered(senders, order, SEED).sequence)
    return {
        "family": subject.family,
        "graph": subject.name,
        "order": order,
        "time": built.slots / built.bound,
        "queue": built.longest_queue / cut.n,
        "aggregators": built.max_aggregators / cut.n,
    }


def star_and_ring() -> Figure:
    """Reproduce section 3.2.2 by all orders of small graphs and some of a large one."""
    rows = [_small(graph, count) for graph in GRAPHS for count in SMALL]
    large = {graph: _large(graph) for graph in GRAPHS}
    rings = [row for row in rows if row["graph"] == "ring"]
    stars = [row for row in rows if row["graph"] == "star"]

    def draw(graph: str, axes: Axes) -> None:
        own = [row for row in rows if row["graph"] == graph]
        for name in ("priority_bfs", "mean", "worst"):
            axes.plot(SMALL, [row[name] for row in own], "o-", label=name)
        axes.set_xlabel("vertices")
        axes.set_ylabel("slots")

    text = {graph: _words(graph, *values) for graph, values in large.items()}
    return Figure(
        name="star-ring",
        title="Star and ring, by plans alone",
        source="section 3.2.2",
        quote="the best execution time under RO is n + 1, and the worst execution time under RO is"
        " n + 2.",
        setting="One packet in and one out in a slot (k = 1); every order of small graphs.",
        rows=rows,
        shown=[{**row, "mean": f"{row['mean']:.3f}"} for row in rows],
        panels=[Panel(graph, partial(draw, graph)) for graph in GRAPHS],
        claims=[
            by_paper(
                "star: n slots in the paper's order",
                all(row["priority_bfs"] == row["n"] for row in stars),
                ", ".join(f"{row['n']}: {row['priority_bfs']}" for row in stars),
            ),
            by_paper(
                "star: (3n - 1) / 2 slots in the mean, within 1 / n",
                all(abs(row["mean"] - (3 * row["n"] - 1) / 2) <= 1.001 / row["n"] for row in stars),
                ", ".join(f"{row['n']}: {row['mean']:.3f}" for row in stars),
            ),
            by_paper(
                "star: 2n - 1 slots at worst",
                all(row["worst"] == 2 * row["n"] - 1 for row in stars),
                ", ".join(f"{row['n']}: {row['worst']}" for row in stars)
                + ": the hub sent last completes the leaves in its own slot, so that one leaves in"
                " it",
            ),
            by_paper(
                "ring: n + 2 slots in the paper's order",
                all(row["priority_bfs"] == row["n"] + 2 for row in rings),
                ", ".join(f"{row['n']}: {row['priority_bfs']}" for row in rings),
            ),
            by_paper(
                "ring: at most n + 2 slots in every order",
                all(row["worst"] <= row["n"] + 2 for row in rings),
                ", ".join(f"{row['n']}: {row['worst']}" for row in rings) + f"; {text['ring']}",
            ),
        ],
        note=" ".join(text.values()),
    )


def _senders(graph: str, count: int) -> Senders:
    """Return a star or a ring, each of whose vertices has a worker of its own, in one block."""
    hub = np.zeros(count - 1, np.int64), np.arange(1, count)
    around = np.arange(count), (np.arange(count) + 1) % count
    first, second = hub if graph == "star" else around
    both = np.concatenate([first, second]), np.concatenate([second, first])
    adjacency = csr_array((np.ones(both[0].size, np.int8), both), (count, count))
    cut: CutGraph = cut_graph(adjacency, provided_workers(np.arange(count), count, count))
    return senders_of(cut, destination_plan(cut, count))


def _slots(senders: Senders, sequence: np.ndarray) -> int:
    return drained(senders, sequence, one_link=True).slots


def _small(graph: str, count: int) -> dict[str, Any]:
    senders = _senders(graph, count)
    all_orders = [np.array(each) for each in permutations(range(count))]
    slots = [_slots(senders, each) for each in all_orders]
    own = ordered(senders, "priority-bfs", SEED, root=0).sequence
    return {
        "graph": graph,
        "n": count,
        "priority_bfs": _slots(senders, own),
        "best": min(slots),
        "mean": float(np.mean(slots)),
        "worst": max(slots),
    }


def _large(graph: str) -> tuple[float, float, int, float]:
    """Return a large graph's times and aggregators, by n, in the paper's and in random orders."""
    senders = _senders(graph, LARGE)
    own = drained(senders, ordered(senders, root=0).sequence, one_link=True)
    drawn = [ordered(senders, "random", seed).sequence for seed in range(DRAWN)]
    random = [drained(senders, each, one_link=True) for each in drawn]
    return (
        own.slots / LARGE,
        float(np.mean([each.slots for each in random])) / LARGE,
        own.max_aggregators,
        float(np.mean([each.max_aggregators for each in random])) / LARGE,
    )


def _words(graph: str, own: float, mean: float, aggregators: int, share: float) -> str:
    return (
        f"A {graph} of {LARGE} vertices takes {own:.3f} n slots in the paper's order and"
        f" {mean:.2f} n in a random one, and its switch has up to {aggregators} unfinished sums,"
        f" {share:.2f} n in a random one."
    )
