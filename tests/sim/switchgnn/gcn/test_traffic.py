"""Counts frames by kind, from the counters of endpoints."""

from hdl.switchgnn.endpoint.counters import ENDPOINT_COUNTERS
from sim.switchgnn.gcn.traffic import FRAMES, traffic

NAMES = [name for name, _ in ENDPOINT_COUNTERS.counters]


def test_counters_are_those_of_the_hardware():
    for kinds in FRAMES.values():
        for added, taken_off in kinds.values():
            assert {*added, *taken_off} <= {*NAMES}


def test_frames_of_each_worker():
    workers = [{name: 100 * k for name in NAMES} | {"sent_again": 7} for k in (1, 2)]
    result = traffic(workers)
    assert result["from the worker"]["features"] == [193, 393]
    assert result["from the worker"]["features again"] == [7, 7]
    assert result["to the worker"]["sums"] == [100, 200]
    assert result["to the worker"]["too late"] == [300, 600]
