"""Places the nodes of a drawing in columns, so that most arrows go to the right.

The usual four steps: cycles are cut, nodes put in columns by the longest path to them, columns
ordered so that neighbours stand at like heights, and heights found by least squares. An arrow that
passes a column has a place of its own in it. Equal graphs are laid out equally.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

SWEEPS = 12  #: passes over all columns, for order and again for heights
PASSING = 14  #: height of an arrow that passes a column
GAP = 22  #: between things in a column


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Describes what is to be laid out."""

    nodes: Sequence[str]
    edges: Sequence[tuple[str, str]]  #: from, to
    first: frozenset[str] = frozenset()  #: nodes of the first column
    last: frozenset[str] = frozenset()  #: nodes of the last column


@dataclass
class Layout:
    """Holds columns from left to right, and the middle of everything in them."""

    columns: list[list[str]]  #: nodes, and arrows that pass by, from the top
    heights: dict[str, float]  #: height of each node and arrow
    middles: dict[str, float]  #: where the middles of their heights are
    routes: list[list[str]]  #: for each edge, from left to right: what it is called in each column
    turned: list[bool]  #: whether the edge goes to the left

    @property
    def column_of(self) -> dict[str, int]:
        """Return the column of each node."""
        return {name: k for k, column in enumerate(self.columns) for name in column}


def lay_out(graph: Graph, height: Callable[[int], float]) -> Layout:
    """Lay out ``graph`` in columns; ``height`` gives a node's height for the arrows on one side."""
    ranks = rank(graph)
    columns: list[list[str]] = [[] for _ in range(max(ranks.values()) + 1)]
    for name in graph.nodes:
        columns[ranks[name]].append(name)
    layout = Layout(columns, {}, {}, [], [])
    lefts: Counter[str] = Counter()
    rights: Counter[str] = Counter()
    for index, (source, sink) in enumerate(graph.edges):
        left, right = (sink, source) if ranks[sink] < ranks[source] else (source, sink)
        passing = [f"edge {index} {column}" for column in range(ranks[left] + 1, ranks[right])]
        for column, name in enumerate(passing, ranks[left] + 1):
            columns[column].append(name)
            layout.heights[name] = PASSING
        layout.routes.append([left, *passing, right])
        layout.turned.append(left != source)
        rights[left] += 1
        lefts[right] += 1
    for name in graph.nodes:
        layout.heights[name] = height(max(lefts[name], rights[name]))
    order(layout)
    settle(layout)
    return layout


def rank(graph: Graph) -> dict[str, int]:
    """Return the column of each node; edges that close a cycle count backwards."""
    forward = acyclic(graph)
    ranks: dict[str, int] = {}

    def of(name: str) -> int:
        if name not in ranks:
            before = [a for a, b in forward if b == name]
            least = 0 if name in graph.first else 1 if graph.first else 0
            ranks[name] = max([least, *(of(a) + 1 for a in before)])
        return ranks[name]

    for name in graph.nodes:
        of(name)
    end = max([0, *(ranks[name] for name in graph.nodes if name not in graph.last)])
    # What nothing leads to stands beside what it leads to, not far on the left.
    for name in sorted(ranks, key=lambda name: -ranks[name]):
        after = [ranks[b] for a, b in forward if a == name and b not in graph.last]
        if after and name not in graph.first:
            ranks[name] = min(after) - 1
    return ranks | {name: end + 1 for name in graph.last}


def acyclic(graph: Graph) -> list[tuple[str, str]]:
    """Return the edges, with those turned round that would close a cycle."""
    after: dict[str, list[str]] = {name: [] for name in graph.nodes}
    for source, sink in graph.edges:
        after[source].append(sink)
    state: dict[str, int] = {}
    back: set[tuple[str, str]] = set()

    def walk(name: str) -> None:
        state[name] = 1
        for other in after[name]:
            if other not in state:
                walk(other)
            elif state[other] == 1:
                back.add((name, other))
        state[name] = 2

    for name in sorted(graph.nodes, key=lambda name: name not in graph.first):
        if name not in state:
            walk(name)
    return sorted({(b, a) if (a, b) in back else (a, b) for a, b in graph.edges if a != b})


def neighbours(layout: Layout) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return what is next to each thing along arrows: to its left, and to its right."""
    left: dict[str, list[str]] = {name: [] for name in layout.heights}
    right: dict[str, list[str]] = {name: [] for name in layout.heights}
    for route in layout.routes:
        for a, b in pairwise(route):
            left[b].append(a)
            right[a].append(b)
    return left, right


def order(layout: Layout) -> None:
    """Sort the columns by the mean places of neighbours; keep the order with least crossings."""
    left, right = neighbours(layout)
    best, fewest = [list(column) for column in layout.columns], crossings(layout)
    for sweep in range(SWEEPS):
        beside, columns = (right, layout.columns[::-1]) if sweep % 2 else (left, layout.columns)
        for column in columns:
            places = {name: k for c in layout.columns for k, name in enumerate(c)}
            expected = {
                name: sum(places[n] for n in beside[name]) / len(beside[name])
                if beside[name]
                else places[name]
                for name in column
            }
            column.sort(key=expected.__getitem__)
        if (count := crossings(layout)) < fewest:
            best, fewest = [list(column) for column in layout.columns], count
    layout.columns[:] = best


def crossings(layout: Layout) -> int:
    """Count how often two arrows cross between neighbouring columns."""
    places = {name: k for column in layout.columns for k, name in enumerate(column)}
    columns = layout.column_of
    steps: dict[int, list[tuple[int, int]]] = {}
    for route in layout.routes:
        for a, b in pairwise(route):
            steps.setdefault(columns[a], []).append((places[a], places[b]))
    return sum(
        (a - c) * (b - d) < 0
        for gap in steps.values()
        for k, (a, b) in enumerate(gap)
        for c, d in gap[:k]
    )


def settle(layout: Layout) -> None:
    """Move everything towards the mean of its neighbours, as far as the order allows."""
    left, right = neighbours(layout)
    middles = layout.middles
    for column in layout.columns:
        middles.update(zip(column, stacked(layout, column, [0.0] * len(column)), strict=True))
    for sweep in range(SWEEPS):
        for column in layout.columns if sweep % 2 else layout.columns[::-1]:
            expected = []
            for name in column:
                near = [middles[other] for other in left[name] + right[name]]
                expected.append(sum(near) / len(near) if near else middles[name])
            middles.update(zip(column, stacked(layout, column, expected), strict=True))
    top = min(middles[name] - layout.heights[name] / 2 for name in middles)
    for name in middles:
        middles[name] = round(middles[name] - top, 1)


def stacked(layout: Layout, column: Sequence[str], required: Sequence[float]) -> list[float]:
    """Return middles nearest to ``required`` that keep things in ``column`` apart (least
    squares).
    """
    offsets = [0.0]
    for a, b in pairwise(column):
        offsets.append(offsets[-1] + (layout.heights[a] + layout.heights[b]) / 2 + GAP)
    # Pool adjacent violators: without the offsets, middles must only not decrease.
    pools: list[tuple[float, int]] = []
    for need, offset in zip(required, offsets, strict=True):
        total, count = need - offset, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            more, others = pools.pop()
            total, count = total + more, count + others
        pools.append((total, count))
    bases = [total / count for total, count in pools for _ in range(count)]
    return [base + offset for base, offset in zip(bases, offsets, strict=True)]
