"""Tests how long a network's host waits: more on links that lose more, never without a bound."""

import math
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from sim.switchgnn.gcn.golden_aggregator import Planner, SwitchSetup, deepest
from sim.switchgnn.golden.congestion import UNIT
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.network.link_settings import LinkSettings
from sim.switchgnn.network.patience import UNLIKELY, Patience
from sim.switchgnn.planning.shape import SwitchShape
from tests.hdl.switchgnn.network_sizes import RACKS, SIZES
from tests.sim.switchgnn.gcn.cases import PARTITION, problem

PARAMS = SIZES["small"]


def job(width):
    setup = SwitchSetup(shape=SwitchShape(ports=4, banks=2, depth=8, lanes=4), window=4)
    tables = Planner(setup).planned(problem().adjacency, PARTITION, [width])[width]
    return PlannedJob(tables, [], depth=deepest(tables), window=4)


def test_timers_suit_the_links():
    near, far = (Patience(params=PARAMS, links=LinkSettings(latency=n)) for n in (20, 520))
    assert far.send - near.send == 2 * 500
    for item in (near, far):
        assert item.send < item.done < item.fetch
    assert Patience(params=PARAMS, timeout=77).timers["send"] == 77


def test_rates_suit_the_furthest_switch_and_the_busiest_link():
    """With racks that is one between switches, behind those of two workers."""
    job = SimpleNamespace(places=range(2), link_bytes=np.array([[[4, 8, 2]], [[1, 1, 64]]]))
    near, far = (Patience(params=params).rates(job) for params in (PARAMS, RACKS[1]))
    assert [each["least"] for each in far] == [UNIT * bytes // 128 for bytes in (4, 8)]
    assert [each["round_trip"] for each in far] == [2 * each["round_trip"] for each in near]


@pytest.mark.parametrize("frames", [1, 1000])
def test_attempts_leave_out_unlikely_luck_only(frames):
    patience = Patience(params=PARAMS, links=LinkSettings(drop=0.3, corrupt=0.03))
    lost, most = 1 - (0.7 * 0.97) ** 2, patience.attempts(frames)
    assert frames * lost**most <= UNLIKELY < frames * lost ** (most - 1)
    for drop in (0.0, 1.0):  # nothing needs another attempt; nothing would come of one
        assert Patience(params=PARAMS, links=LinkSettings(drop=drop)).attempts(frames) == 1


def test_a_larger_aggregation_may_take_longer():
    patience = Patience(params=PARAMS)
    cycles = [patience.max_cycles(job(width)) for width in (4, 8, 16)]
    assert cycles[1] == 2 * cycles[0]
    assert cycles[2] == 4 * cycles[0]


def test_worse_links_may_take_longer():
    small = job(4)
    better = Patience(params=PARAMS)
    result = [
        replace(better, links=LinkSettings(drop=drop, reorder=0.1)).max_cycles(small)
        for drop in (0, 0.1, 0.3, 0.9)
    ]
    assert all(first < second for first, second in pairwise([better.max_cycles(small), *result]))
    assert result[-1] < math.inf
