"""Checks times of the paper's star and ring, and compares queues with a slot-by-slot simulation."""

from itertools import permutations

import numpy as np
import pytest

from sim.switchgnn.evaluation.queues import departures, drained
from sim.switchgnn.planning.orders import ordered
from tests.sim.switchgnn.cases import cut_of, one_block, ring, star


def times(cut):
    """Return slots of every order of a graph on one link (section 3.2.2)."""
    senders = one_block(cut)
    orders = permutations(range(senders.count))
    return [drained(senders, np.array(each), one_link=True).slots for each in orders]


@pytest.mark.parametrize("vertices", [4, 5, 6])
def test_a_star(vertices):
    result = times(star(vertices))
    assert min(result) == vertices
    assert max(result) == 2 * vertices - 2
    assert np.mean(result) == pytest.approx((3 * vertices - 1) / 2 - 1 / vertices)
    senders = one_block(star(vertices))
    best = ordered(senders, root=0)
    assert drained(senders, best.sequence, one_link=True).slots == vertices


@pytest.mark.parametrize("vertices", [4, 5, 6])
def test_a_small_ring(vertices):
    result = times(ring(vertices))
    assert set(result) == {vertices + 1, vertices + 2}
    senders = one_block(ring(vertices))
    assert drained(senders, ordered(senders).sequence, one_link=True).slots == vertices + 2


def test_a_large_ring_holds_few_aggregators_in_the_papers_order():
    senders = one_block(ring(200))
    own = drained(senders, ordered(senders).sequence, one_link=True)
    assert (own.slots, own.max_aggregators) == (202, 4)
    drawn = [ordered(senders, "random", seed).sequence for seed in range(20)]
    result = [drained(senders, each, one_link=True) for each in drawn]
    assert np.mean([each.slots for each in result]) == pytest.approx(1.26 * 200, rel=0.02)
    assert np.mean([each.max_aggregators for each in result]) == pytest.approx(0.51 * 200, rel=0.1)


def slot_by_slot(senders, sequence):
    """Return the slots, and the longest queue, one packet after the other."""
    lists = {}
    for sender in sequence.tolist():
        lists.setdefault(int(senders.worker[sender]), []).append(sender)
    reached = {}
    for sender, aggregator in zip(*(each.tolist() for each in senders.additions), strict=True):
        reached.setdefault(sender, []).append(aggregator)
    missing = senders.expected.tolist()
    queues = {int(port): 0 for port in senders.aggregator_worker}
    left, slot, longest = senders.aggregators, 0, 0
    while left:
        for each in lists.values():
            for aggregator in reached[each[slot]] if slot < len(each) else []:
                missing[aggregator] -= 1
                queues[int(senders.aggregator_worker[aggregator])] += missing[aggregator] == 0
        left -= sum(length > 0 for length in queues.values())
        queues = {port: max(length - 1, 0) for port, length in queues.items()}
        longest = max(longest, sum(queues.values()))
        slot += 1
    return slot, longest


@pytest.mark.parametrize("order", ["random", "priority-bfs", "degree", "finish-first"])
def test_ports_drain_a_result_a_slot(order):
    senders = one_block(cut_of("reddit:scale=0.02", 8))
    sequence = ordered(senders, order).sequence
    built = drained(senders, sequence)
    assert (built.slots, built.longest_queue) == slot_by_slot(senders, sequence)
    assert built.bound <= built.slots


def test_the_papers_order_keeps_queues_shorter_than_a_random_one():
    senders = one_block(cut_of("reddit:scale=0.05", 8))
    result = {
        order: drained(senders, ordered(senders, order).sequence)
        for order in ("random", "priority-bfs")
    }
    assert result["priority-bfs"].slots < 0.9 * result["random"].slots
    assert result["priority-bfs"].longest_queue < 0.5 * result["random"].longest_queue


def test_results_leave_one_a_slot():
    complete, port = np.array([5, 0, 0, 6, 0, 5]), np.array([0, 0, 0, 0, 3, 0])
    assert departures(complete, port).tolist() == [5, 0, 1, 7, 0, 6]
