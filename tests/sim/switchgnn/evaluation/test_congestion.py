"""Checks queues, losses and repeats: nothing is lost for good, and empty links act as slots do."""

from dataclasses import replace

import numpy as np
import pytest

from sim.switchgnn.evaluation.background import MEAN, NEVER, Background
from sim.switchgnn.evaluation.congestion import Aggregation, Network, Rules, StuckError
from sim.switchgnn.evaluation.queues import drained
from sim.switchgnn.evaluation.repeats import Repeats
from sim.switchgnn.golden.congestion import UNIT, RateSettings
from sim.switchgnn.planning.orders import ordered
from tests.sim.switchgnn.cases import cut_of, one_block

WORKERS = 8
WIDE = Network(delay=2, room=10_000, mark=20, window=1000, timeout=50)
NARROW = Network(delay=2, room=4, mark=2, window=6, timeout=30)
LOSES = Rules(keeps_sums=False)
RATE = RateSettings(burst=1, step=UNIT // 16, round_trip=5)


def senders():
    return one_block(cut_of("reddit:scale=0.02", WORKERS))


def background(load, seed=1, slots=3000):
    return Background(WORKERS, load, slots, 20_000.0, np.random.default_rng(seed))


def built(network, rules, load=0.0, order="priority-bfs"):
    own = senders()
    sequence = ordered(own, order).sequence
    return Aggregation(own, sequence, WORKERS, network, rules, background(load))


@pytest.mark.parametrize("order", ["random", "priority-bfs"])
def test_empty_links_take_what_the_slots_say(order):
    """It is the time of equations 3 to 6, and six links: both ways, DONE, ADVANCE, two to hear."""
    job = built(WIDE, LOSES, order=order)
    slots = drained(job.senders, ordered(job.senders, order).sequence).slots
    assert job.run(1).slots == slots + 4 * WIDE.delay + 1
    assert built(WIDE, LOSES, order=order).run(3).slots == 3 * (slots + 4 * WIDE.delay + 1)
    assert job.outcome.lost == job.outcome.repeated == job.outcome.halvings == 0
    assert job.outcome.marks > 0


@pytest.mark.parametrize("load", [0.0, 0.3])
def test_what_is_lost_is_sent_again(load):
    job = built(NARROW, LOSES, load)
    result = job.run(2, begin=20)
    assert result.lost > 0
    assert result.repeated > 2 * result.lost
    assert not job.required.any()
    assert not job.missing.any()
    assert (result.background > 0) == (load > 0)


def test_a_packet_that_is_lost_again_leaves_its_sums_open():
    own = senders()
    repeats, worker = Repeats(own, WORKERS), int(own.aggregator_worker[0])
    first, second = np.flatnonzero(own.aggregator_worker == worker)[:2].tolist()
    repeats.miss(np.array([first, second]))
    repeats.issue(worker, 0)
    requested = repeats.needs([first, second], worker)
    open_sums = [each for each in (first, second) if requested[0] in repeats.needs([each], worker)]
    repeats.lose(np.array([worker]))
    complete = [repeats.get(packet, worker) for packet in requested[1:]]
    assert complete == [0] * (len(complete) - 1) + [2 - len(open_sums)]
    assert repeats.lost[worker] == open_sums
    repeats.issue(worker, 0)
    assert repeats.get(requested[0], worker) == len(open_sums)


def test_sums_that_wait_are_never_lost():
    result = built(NARROW, Rules(keeps_sums=True), 0.3).run(2)
    assert result.lost == result.repeated == 0
    assert result.slots <= built(NARROW, LOSES, 0.3).run(2).slots


def test_rate_control_loses_less_and_takes_longer_on_empty_links():
    off = built(NARROW, LOSES).run(1)
    on = built(NARROW, Rules(keeps_sums=False, rate=RATE)).run(1)
    assert on.halvings > 0
    assert on.lost < off.lost
    few = replace(WIDE, mark=1)
    keeps = [built(few, Rules(keeps_sums=True, rate=rate)).run(1).slots for rate in (None, RATE)]
    assert keeps[0] < keeps[1]


def test_rows_bound_the_time_and_hold_acknowledgements():
    """A switch that adds a feature in three slots takes as long as all features' rows."""
    own = senders()
    sequence, rows = ordered(own).sequence, np.full(own.count, 3)
    job = Aggregation(
        own, sequence, WORKERS, replace(WIDE, rows=1, window=6), LOSES, background(0.0), rows
    )
    slots = job.run(1).slots
    assert 3 * own.count < slots < 3 * own.count + 12 * WIDE.delay + 20


def test_a_window_bounds_what_is_ahead_of_its_acknowledgement():
    """A window of a quarter of the round trip takes four times as long."""
    network = Network(delay=10, room=10_000, mark=99, window=5, timeout=500)
    job = built(network, LOSES)
    assert job.run(1).slots >= 20 / 5 * int(job.lengths.max())


def test_an_end_that_never_comes_is_abandoned(monkeypatch):
    monkeypatch.setattr("sim.switchgnn.evaluation.congestion.MAX_SLOTS", 1)
    with pytest.raises(StuckError, match="no end after"):
        built(NARROW, LOSES, 0.5).run(1)


def test_background_is_the_load_that_was_requested():
    some = background(0.4, slots=60_000)
    assert some.count.sum() / (WORKERS * 60_000) == pytest.approx(0.4, rel=0.1)
    assert (np.diff(some.due, axis=1)[some.due[:, 1:] != NEVER] >= 0).all()
    own = np.arange(WORKERS)[:, None] == some.target
    assert not own.any()
    assert round(MEAN) == 120_421
    assert background(0.0).count.sum() == 0


def test_links_carry_a_packet_when_it_is_due():
    some = background(0.4)
    now = int(some.due[:, 0].min())
    assert not some.waits(now - 1).any()
    waits = some.waits(now)
    assert waits.any()
    assert some.take(waits).tolist() == some.target[waits, 0].tolist()
    assert some.next.tolist() == waits.astype(int).tolist()
