"""Orders the senders of a plan (section 3.2)."""

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gen.base.errors import unknown
from sim.switchgnn.planning.choices import ORDER_NAMES
from sim.switchgnn.planning.saved import Int64s, Saved, refuse, starts
from sim.switchgnn.planning.senders import Senders

Ints = NDArray[np.int64]
DONE = np.iinfo(np.int64).max


@dataclass(frozen=True, kw_only=True, eq=False)
class SendOrder(Saved):
    """Lists every sender, block after block; a worker sends its own ones in this order."""

    schema = "switchgnn.order/1"

    order: str  #: its name in ORDERS
    sequence: Int64s  #: [senders]

    def check(self) -> None:
        refuse(
            (np.sort(self.sequence) != np.arange(self.sequence.size)).any(),
            "an order has every sender once",
        )


def ordered(
    senders: Senders, order: str = "priority-bfs", seed: int = 1, root: int = -1
) -> SendOrder:
    """Return the senders in one of the ORDERS.

    ``root`` is the sender that priority-bfs begins its block with; in other blocks
    ``seed`` draws one. UserError for an unknown name.
    """
    if order not in ORDERS:
        raise unknown("order", order, ORDERS)
    sequence = ORDERS[order](senders, np.random.default_rng(seed), root)
    return SendOrder(order=order, sequence=sequence)


def priority_bfs(senders: Senders, rng: np.random.Generator, root: int = -1) -> Ints:
    """Order by breadth-first search with a priority queue: highest degree in the block first
    (3.2.2).

    Of equal degrees the one that arrived in the queue first goes first. A block's further
    components begin with their highest degree. Nodes are the vertices of a block, whether they
    send, receive or both, and its PARTIALs; those that only receive are passed over in the result.
    """
    node, graph = _graph(senders)
    degree = np.diff(graph.indptr)
    sends = np.zeros(degree.size, bool)
    sends[node] = True
    sender_of = np.zeros(degree.size, np.int64)
    sender_of[node] = np.arange(senders.count)
    result: list[int] = []
    by_degree = _by_degree(degree[node], senders.block)
    first = starts(np.bincount(senders.block, minlength=senders.blocks))
    seen = np.zeros(degree.size, bool)
    for block in range(senders.blocks):
        low, high = int(first[block]), int(first[block + 1])
        begin = root if low <= root < high else int(rng.integers(low, high))
        for start in (begin, *by_degree[low:high].tolist()):
            if not seen[node[start]]:
                result += _component(graph, degree, seen, int(node[start]))
    visited = np.array(result, np.int64)
    return sender_of[visited[sends[visited]]]


def _component(graph: csr_array, degree: Ints, seen: NDArray[np.bool_], root: int) -> list[int]:
    """Return the nodes that ``root`` is connected to, in the order of the priority queue."""
    indptr, indices = graph.indptr, graph.indices
    seen[root] = True
    queue = [(0, 0, root)]
    arrivals = 1
    result: list[int] = []
    while queue:
        node = heapq.heappop(queue)[2]
        result.append(node)
        near = indices[indptr[node] : indptr[node + 1]]
        near = near[~seen[near]]
        seen[near] = True
        for priority, each in zip((-degree[near]).tolist(), near.tolist(), strict=True):
            heapq.heappush(queue, (priority, arrivals, each))
            arrivals += 1
    return result


def _graph(senders: Senders) -> tuple[Ints, csr_array]:
    """Return the node of each sender, and the edges between nodes in both directions.

    A vertex that sends and receives in a block is one node.
    """
    n = int(max(senders.vertex.max(), senders.aggregator_vertex.max())) + 1
    feature = ~senders.partial
    key = senders.block.astype(np.int64) * n + senders.vertex
    ends = senders.aggregator_block.astype(np.int64) * n + senders.aggregator_vertex
    vertices = np.unique(np.concatenate([key[feature], ends]))
    node = np.empty(senders.count, np.int64)
    node[feature] = np.searchsorted(vertices, key[feature])
    node[~feature] = vertices.size + np.arange(senders.partial.sum())
    first, aggregator = senders.additions
    first, second = node[first], np.searchsorted(vertices, ends)[aggregator]
    count = vertices.size + int(senders.partial.sum())
    both = np.concatenate([first, second]), np.concatenate([second, first])
    graph = csr_array((np.ones(2 * first.size, np.int8), both), (count, count))
    graph.sum_duplicates()
    return node, graph


def _by_degree(degree: Ints, block: NDArray[np.int32]) -> Ints:
    """Sort senders by block, then from the highest degree on."""
    return np.lexsort((-degree, block))


def random(senders: Senders, rng: np.random.Generator, root: int = -1) -> Ints:
    """Order the senders of each block at random, every order as likely."""
    return np.lexsort((rng.random(senders.count), senders.block))


def by_degree(senders: Senders, rng: np.random.Generator, root: int = -1) -> Ints:
    """Order senders from the highest degree in the block; ``rng`` and ``root`` are ignored."""
    node, graph = _graph(senders)
    return _by_degree(np.diff(graph.indptr)[node], senders.block)


def finish_first(senders: Senders, rng: np.random.Generator, root: int = -1) -> Ints:
    """Send what the destination with the fewest missing additions lacks, again and again."""
    sender, aggregator = senders.additions
    shape = (senders.count, senders.aggregators)
    of_sender = csr_array((np.ones(sender.size, np.int8), (sender, aggregator)), shape)
    of_aggregator = of_sender.T.tocsr()
    waiting = np.ones(senders.count, bool)
    missing = senders.expected.copy()
    bounds = starts(np.bincount(senders.aggregator_block, minlength=senders.blocks))
    result: list[Ints] = []
    for low, high in pairwise(bounds.tolist()):
        block = missing[low:high]
        for _ in range(high - low):
            nearest = int(low + np.argmin(block))
            first, last = of_aggregator.indptr[nearest : nearest + 2]
            sent = of_aggregator.indices[first:last]
            sent = sent[waiting[sent]]
            waiting[sent] = False
            result.append(sent.astype(np.int64))
            for item in sent.tolist():
                missing[of_sender.indices[slice(*of_sender.indptr[item : item + 2])]] -= 1
            missing[nearest] = DONE
    return np.concatenate(result)


Order = Callable[[Senders, np.random.Generator, int], Ints]
ORDERS: Mapping[str, Order] = MappingProxyType(
    dict(zip(ORDER_NAMES, (priority_bfs, random, by_degree, finish_first), strict=True))
)
