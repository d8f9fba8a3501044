"""Tests orders: the paper's example, a plain search beside ours, and what each order is for."""

import numpy as np
import pytest

from gen.base.errors import UserError
from sim.switchgnn.planning.cut import cut_graph
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.orders import ORDERS, ordered
from sim.switchgnn.planning.senders import senders_of
from tests.sim.switchgnn.cases import cut_of, directed, one_block, undirected_graph


def test_the_papers_example():
    """In Figure 8, 1 is first, 5 precedes 3 by its degree, 3 precedes 7 as it came, 9 is last."""
    cut = undirected_graph([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)], 5)  # 1 3 5 7 9
    senders = one_block(cut)
    assert ordered(senders, root=0).sequence.tolist() == [0, 2, 1, 3, 4]


def plain_search(cut, root):
    """Do Priority BFS with nothing but lists, for an undirected cut graph in one block."""
    near = {vertex: [] for vertex in range(cut.n)}
    for source, destination in zip(cut.sources.tolist(), cut.destinations.tolist(), strict=True):
        near[source].append(destination)
    result, seen = [], {root}
    waiting = [root]
    left = sorted(near, key=lambda vertex: -len(near[vertex]))
    while len(result) < cut.n:
        if not waiting:
            waiting = [next(vertex for vertex in left if vertex not in seen)]
            seen.update(waiting)
        best = max(waiting, key=lambda vertex: len(near[vertex]))  # the first of equal ones
        waiting.remove(best)
        result.append(best)
        for vertex in near[best]:
            if vertex not in seen:
                seen.add(vertex)
                waiting.append(vertex)
    return result


@pytest.mark.parametrize("root", [0, 100, 393])
def test_priority_bfs_is_the_search_that_the_page_describes(root):
    cut = cut_of("digits", 4)
    assert ordered(one_block(cut), root=root).sequence.tolist() == plain_search(cut, root)


@pytest.mark.parametrize("theta", [0, 2])
@pytest.mark.parametrize("order", ORDERS)
def test_blocks_come_one_after_the_other_with_all_senders(order, theta):
    cut = cut_graph(*directed())
    senders = senders_of(cut, destination_plan(cut, 10), theta)
    built = ordered(senders, order, seed=3)
    assert sorted(built.sequence.tolist()) == list(range(senders.count))
    assert (np.diff(senders.block[built.sequence]) >= 0).all()
    assert (ordered(senders, order, seed=3).sequence == built.sequence).all()


def test_a_seed_draws_roots_and_random_orders():
    senders = one_block(cut_of("digits", 4))
    for order in ("priority-bfs", "random"):
        first, second = (ordered(senders, order, seed=seed).sequence for seed in (1, 2))
        assert (first != second).any()


def test_degree_order_falls():
    cut = cut_of("digits", 4)
    sequence = ordered(one_block(cut), "degree").sequence
    assert (np.diff(cut.in_degrees[sequence]) <= 0).all()


def test_finish_first_finishes_the_destination_that_misses_least():
    # 0 misses 1 alone; then 2 misses 3 alone; then 4 misses 5 alone.
    cut = undirected_graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 3)], 6)
    senders = one_block(cut)
    sequence = ordered(senders, "finish-first").sequence
    assert senders.vertex[sequence][:3].tolist() == [1, 3, 5]


def test_an_order_that_there_is_not():
    with pytest.raises(UserError, match="no order 'dfs'"):
        ordered(one_block(cut_of("digits", 4)), "dfs")
