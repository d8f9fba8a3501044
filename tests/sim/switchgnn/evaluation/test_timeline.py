"""Compares timelines with a switch that is simulated packet by packet."""

import numpy as np
import pytest

from sim.switchgnn.evaluation.baselines import strawman
from sim.switchgnn.evaluation.queues import drained, inside
from sim.switchgnn.evaluation.timeline import Timeline, plan_timeline, strawman_timeline
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.orders import ordered
from sim.switchgnn.planning.senders import senders_of
from tests.sim.switchgnn.cases import cut_of, one_block

CUT = "reddit:scale=0.02", 8


def simulated(cut, aggregators, seed):
    """Return a strawman's slots: what leaves, sums, what waits, and aggregators that are held."""
    near = {}
    for source, destination in zip(cut.sources.tolist(), cut.destinations.tolist(), strict=True):
        near.setdefault(source, []).append(destination)
    lists = {}
    for source in np.random.default_rng(seed).permutation(np.unique(cut.sources)).tolist():
        lists.setdefault(int(cut.worker[source]), []).append(source)
    sends = sorted((at, which, u) for which, each in lists.items() for at, u in enumerate(each))
    rank = {u: at for at, u in enumerate(np.random.default_rng(seed).permutation(list(near)))}
    missing = cut.in_degrees.tolist()
    held, queues, result, slot = set(), {}, [], 0
    while any(queues.values()) or sends:
        now = sorted((send for send in sends if send[0] == slot), key=lambda send: rank[send[2]])
        sends = [send for send in sends if send[0] != slot]
        for _, _, source in now:
            raw, done = set(), []
            for destination in near[source]:
                missing[destination] -= 1
                if destination not in held and len(held) < aggregators:
                    held.add(destination)
                if destination not in held:
                    raw.add(int(cut.worker[destination]))
                elif not missing[destination]:
                    done.append(destination)
            held -= set(done)
            for worker, is_sum in [(w, 0) for w in raw] + [(int(cut.worker[v]), 1) for v in done]:
                queues.setdefault(worker, []).append(is_sum)
        left = [queue.pop(0) for queue in queues.values() if queue]
        result.append((len(left), sum(left), sum(map(len, queues.values())), len(held)))
        slot += 1
    return np.array(result).T


@pytest.mark.parametrize("aggregators", [0, 20, 10_000])
def test_a_strawman(aggregators):
    cut = cut_of(*CUT)
    built = strawman_timeline(cut, aggregators, seed=4)
    leaving, sums, queue, held = simulated(cut, aggregators, 4)
    assert built.leaving.tolist() == leaving.tolist()
    assert built.queue.tolist() == queue.tolist()
    assert built.held.tolist() == held.tolist()
    assert built.sums.sum() == sums.sum() == strawman(cut, aggregators, 4).results.sum()
    assert (built.sums <= built.leaving).all()


def test_blocks_come_one_after_the_other():
    cut = cut_of(*CUT)
    senders = senders_of(cut, destination_plan(cut, 100))
    sequence = ordered(senders).sequence
    built = plan_timeline(senders, sequence, gap=7)
    result = [drained(senders, sequence, block) for block in range(senders.blocks)]
    assert len(result) > 2
    assert built.slots == sum(each.slots for each in result) + 7 * (len(result) - 1)
    assert built.leaving.sum() == built.sums.sum() == senders.aggregators
    assert built.queue.max() == max(each.longest_queue for each in result)
    assert built.held.max() == max(each.max_aggregators for each in result)
    assert not built.leaving[result[0].slots :][:7].any()
    assert built.leaving[result[0].slots + 7 :].any()


def test_every_slice_takes_a_turn():
    senders = one_block(cut_of(*CUT))
    once, thrice = (plan_timeline(senders, ordered(senders).sequence, 2, turns) for turns in (1, 3))
    assert thrice.slots == 3 * once.slots + 4
    assert thrice.sums.sum() == 3 * once.sums.sum()


def test_nothing_is_left_between_joined_parts_without_a_gap():
    part = Timeline(**dict.fromkeys(("leaving", "sums", "queue", "held"), np.array([2, 1])))
    assert Timeline.joined([part, part]).leaving.tolist() == [2, 1, 2, 1]
    assert Timeline.joined([part, part], 2).held.tolist() == [2, 1, 0, 0, 2, 1]


def test_inside_is_what_has_come_and_not_gone():
    assert inside(np.array([0, 0, 1]), np.array([0, 2, 3])).tolist() == [1, 2, 1, 0]
