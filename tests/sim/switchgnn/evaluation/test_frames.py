"""Compares bytes of plans and of baselines with a count by hand and edge by edge."""

import numpy as np
import pytest

from sim.switchgnn.evaluation.baselines import full_graph, raw_multicast, strawman
from sim.switchgnn.evaluation.frames import PAPER, FrameSizes, traffic_of
from sim.switchgnn.planning.cut import cut_graph
from tests.sim.switchgnn.cases import cut_of, directed, one_block, star


@pytest.mark.parametrize(
    ("lanes", "feature", "sums"), [(2, 128, 128), (32, 128, 192), (128, 320, 576)]
)
def test_a_frame_is_a_head_and_whole_beats(lanes, feature, sums):
    assert FrameSizes.of(lanes) == FrameSizes(feature=feature, sums=sums)


def test_a_star_sends_and_receives_each_vertex_once():
    traffic = traffic_of(one_block(star(5)), 5)
    assert traffic.features.tolist() == traffic.results.tolist() == [[1] * 5]
    sizes = FrameSizes.of(32)
    assert traffic.packets == 10
    assert traffic.bytes(sizes) == 5 * 128 + 5 * 192
    assert traffic.busiest(sizes) == 192
    assert traffic.mean(sizes) == 192
    full = full_graph(star(5))
    assert full.features.tolist() == full.raws.tolist() == [[4, 1, 1, 1, 1]]
    assert full.busiest(PAPER) == 4
    assert full.mean(PAPER) == 8 / 5
    assert raw_multicast(star(5)).features.tolist() == [[1] * 5]
    assert raw_multicast(star(5)).raws.tolist() == [[4, 1, 1, 1, 1]]


def test_hosts_send_a_copy_to_each_worker_with_a_neighbour():
    cut = cut_graph(*directed())
    ends = zip(cut.sources.tolist(), cut.worker[cut.destinations].tolist(), strict=True)
    copies = set(ends)
    sent, received = np.zeros((2, 3), int)
    for source, worker in copies:
        sent[cut.worker[source]] += 1
        received[worker] += 1
    traffic = full_graph(cut)
    assert traffic.features[0].tolist() == sent.tolist()
    assert traffic.raws[0].tolist() == received.tolist()


def plain_strawman(cut, aggregators, seed):
    """Count RAWs and RESULTs, one feature and destination after the other."""
    near = {}
    for source, destination in zip(cut.sources.tolist(), cut.destinations.tolist(), strict=True):
        near.setdefault(source, []).append(destination)
    missing = dict(enumerate(cut.in_degrees.tolist()))
    held, raws, results = set(), 0, 0
    drawn = np.random.default_rng(seed).permutation(np.unique(cut.sources)).tolist()
    lists = [[u for u in drawn if cut.worker[u] == worker] for worker in range(cut.workers)]
    slot = {u: at for each in lists for at, u in enumerate(each)}
    for source in sorted(drawn, key=slot.get):  # workers send at the same time
        passed, complete = set(), set()
        for destination in near[source]:
            missing[destination] -= 1
            if destination not in held and len(held) < aggregators:
                held.add(destination)
            if destination not in held:
                passed.add(int(cut.worker[destination]))
            elif not missing[destination]:
                complete.add(destination)
        raws += len(passed)
        results += len(complete)
        held -= complete
    return raws, results


@pytest.mark.parametrize("aggregators", [0, 1, 7, 100])
def test_the_strawman_adds_where_an_aggregator_is_free(aggregators):
    cut = cut_graph(*directed())
    built = strawman(cut, aggregators, seed=3)
    assert (built.raws.sum(), built.results.sum()) == plain_strawman(cut, aggregators, 3)


def test_the_strawman_is_multicast_without_aggregators_and_switchgnn_with_enough():
    cut = cut_of("digits", 4)
    empty, enough = strawman(cut, 0), strawman(cut, cut.n)
    assert empty.bytes(PAPER) == raw_multicast(cut).bytes(PAPER)
    assert enough.bytes(PAPER) == traffic_of(one_block(cut), 4).bytes(PAPER)
