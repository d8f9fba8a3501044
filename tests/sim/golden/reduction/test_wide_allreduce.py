"""Reduces numbers of several workers through the golden switch of wide frames, on bad links."""

from collections import Counter
from random import Random

import numpy as np
import pytest

from sim.golden.reduction.allreduce import GaveUp, Verdict
from sim.golden.reduction.frames import ACKED, IS_AGG, Quality
from sim.golden.reduction.wide_frames import JUMBO, MOST, Operation, WideFrame, judge, wire_bytes
from tests.rejects import rejects
from tests.sim.golden.reduction.wide_network import ADDRESS, GROUP, reduced, setup

RESULTS = {
    Operation.SUM: lambda every: np.clip(every.astype(object).sum(0), -(1 << 31), (1 << 31) - 1),
    Operation.MAX: lambda every: every.max(0),
    Operation.OR: lambda every: np.bitwise_or.reduce(every),
}


def check(random, switch, workers, count, operation=Operation.SUM, bad=0.0):
    generator, before = np.random.default_rng(random.getrandbits(32)), switch.saturations
    numbers = generator.integers(-(1 << 31), 1 << 31, (len(workers), count)).astype(np.int32)
    came = reduced(random, switch, workers, numbers, operation, bad)
    expected = RESULTS[operation](numbers)
    exact = numbers.astype(object).sum(0) if operation is Operation.SUM else expected
    for worker in workers:
        assert worker.result.tolist() == expected.tolist()
    assert switch.saturations - before == sum(map(int.__ne__, exact.tolist(), expected.tolist()))
    return came


@pytest.mark.parametrize("length", [range(first, first + 32) for first in range(1, MOST, 32)])
def test_every_length_with_a_shorter_last_frame(length):
    """Without loss, a part takes one frame of each worker, and a slot one acknowledgement."""
    for count in length:
        switch, workers = setup(slots=3, length=count)
        check(Random(count), switch, workers, 7 * count + max(1, count // 2))
        counts = {Verdict.ADDED: 8, Verdict.ACKNOWLEDGED: 3}
        assert switch.counters == {(k, v): n for k in range(2) for v, n in counts.items()}
        assert [worker.saturated for worker in workers] == [switch.saturations] * 2


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_exact_on_links_that_lose_double_reorder_cut_and_corrupt(count, operation, seed):
    random = Random(f"{seed} {count} {operation}")
    length = random.choice([1, 9, 64, MOST, JUMBO])
    switch, workers = setup(count, slots=5, length=length, timeout=90)
    came = Counter()
    for _ in range(3):
        came += check(random, switch, workers, workers[0].length * 25 - 1, operation, bad=0.3)
    for quality in set(Quality) - {Quality.GOOD}:
        counted = sum(n for (_, verdict), n in switch.counters.items() if verdict == quality.value)
        counted += sum(worker.counters[Verdict(quality.value)] for worker in workers)
        assert counted == came[quality] > 0


def test_more_uses_than_a_number_has(seed):
    switch, workers = setup(3, slots=1, length=1, timeout=90)
    check(Random(seed), switch, workers, 600, bad=0.1)


def test_who_disagrees_is_dropped_and_counted():
    switch, (first, second) = setup()
    first.begin(np.arange(9), Operation.MAX)
    second.begin(np.arange(8), Operation.MAX)
    for worker in (first, second):
        assert [switch.take(worker.port, data) for data in worker.due(0)] == [[]]
    first.numbers = np.arange(8)  # sent again with fewer numbers, after a restart
    assert [switch.take(0, data) for data in first.due(100)] == [[]]
    assert switch.counters == {(0, Verdict.ADDED): 1} | {(k, Verdict.DIFFERENT): 1 for k in (0, 1)}
    fields = {"destination": ADDRESS, "bm": 1, "job": 1, "epoch": 3, "seq": 5}
    assert switch.take(0, WideFrame(**fields, flags=ACKED).to_bytes()) == []  # a switch's
    assert switch.counters[0, Verdict.MALFORMED] == 1


@pytest.mark.parametrize("answered", [False, True])
def test_gives_up_on_a_silent_switch_and_on_missing_peers(answered):
    switch, (worker, _) = setup(retries=2, peer_retries=4)
    worker.begin(np.arange(3))
    for now in range(0, 1000, 100):
        for data in worker.due(now):
            for _, answer in switch.take(0, data) if answered else ():
                worker.take(answer)
    assert worker.failure is (GaveUp.PEERS if answered else GaveUp.NETWORK)
    assert not worker.done


FRAME = WideFrame(destination=ADDRESS, source=GROUP, flags=IS_AGG, numbers=np.int32([5, -2]))


def test_a_frame_byte_by_byte():
    fields = {"bm": 0x01020304, "job": 5, "epoch": 0x0708, "seq": 0x090A, "use": 11}
    frame = WideFrame(**vars(FRAME) | fields | {"operation": 2, "saturated": 0x0D0E})
    assert frame.to_bytes() == bytes.fromhex(
        "000102030405 060708090a0b 88b5 04 01 04030201 05 0b 0807 0a09 0220"
        "05000000 feffffff 0e0d0000" + 20 * "00"
    )
    assert WideFrame.from_bytes(frame.to_bytes()).to_bytes() == frame.to_bytes()
    assert [wire_bytes(count) for count in (0, 7, 8, 256)] == [60, 60, 64, 1056]


@pytest.mark.parametrize(
    ("change", "quality"),
    [
        ({}, Quality.GOOD),
        ({"destination": GROUP}, Quality.FOREIGN),
        ({"flags": 0}, Quality.MALFORMED),
        ({"flags": IS_AGG | 4}, Quality.MALFORMED),
        ({"flags": IS_AGG | ACKED}, Quality.MALFORMED),
        ({"operation": 3}, Quality.MALFORMED),
        ({"numbers": np.int32([])}, Quality.MALFORMED),
        ({"numbers": np.zeros(MOST + 1, np.int32)}, Quality.MALFORMED),
    ],
)
def test_judges(change, quality):
    wire = WideFrame(**vars(FRAME) | change).to_bytes()
    assert judge(wire, False, ADDRESS) is quality
    assert judge(wire, True, ADDRESS) is Quality.CORRUPT
    if quality is Quality.GOOD:
        others = [*(wire[:n] for n in range(60)), wire + bytes(1)]
        assert {judge(other, False, ADDRESS) for other in others} == {Quality.MALFORMED}


test_rejects_what_does_not_fit = rejects(
    lambda **fields: WideFrame(**fields).to_bytes(),
    ({"destination": bytes(5)}, "addresses are six bytes"),
    ({"use": 256}, "Python integer 256 out of bounds for uint8"),
)
