"""Checks the bench's rows of the network: each limit fails by the numbers it is about."""

import pytest

from hdl.p4sgd.switch.params import SwitchParams
from sim.bench.limits import Limit
from sim.p4sgd.bench.network import (
    MOST_SWITCH,
    allreduce_rows,
    measure_switch,
    scale_out_points,
    scale_out_rows,
    switch_rows,
)
from sim.p4sgd.reproduce.allreduce import Latencies, Order
from sim.p4sgd.reproduce.points import Measurement

STALLS = {"cycles": 1000} | {f"{s}_stalls": 5 for s in ("memory", "network", "dependency", "fifo")}


def broken(rows):
    return [row.what for row in rows if not row.holds]


@pytest.mark.parametrize(
    ("cycles", "fails"),
    [
        ([40, 40], []),
        ([41, 41], ["AllReduce"]),
        ([24, 25], ["AllReduce: most - least"]),
    ],
)
def test_allreduce(cycles, fails):
    assert broken(allreduce_rows(Latencies(Order(0, 0, 1), cycles))) == fails


GOOD = {"latencies": [8, 8], "random": (800, 800), "single": (800, 800)}


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ({}, []),
        ({"latencies": [8, 9]}, ["switch: last packet to sum"]),
        ({"random": (800, 801)}, ["switch: random slots"]),
        ({"single": (800, 1600)}, ["switch: a single slot"]),
    ],
)
def test_switch(change, fails):
    assert broken(switch_rows(GOOD | change, "switch", Limit(8))) == fails


def measured(changes):
    """Return a measurement by the formula, T being 340 cycles, with ``changes`` by workers."""
    found = {}
    for point in scale_out_points():
        for each in (point, point.turnaround):
            cycles = each.ideal(340)
            if each == point:
                cycles *= changes.get(point.workers, 1)
            found[each] = Measurement(cycles, [STALLS] * point.workers)
    return found


@pytest.mark.parametrize(
    ("changes", "fails"),
    [
        ({}, []),
        ({2: 1.029}, []),
        ({2: 1.031}, ["2 workers: off the formula"]),
        ({4: 0.969}, ["4 workers: off the formula"]),
        ({8: 1.15}, ["8 workers: off the formula", "8 workers: of linear"]),
    ],
)
def test_scale_out(changes, fails):
    found = [*scale_out_rows(scale_out_points(), measured(changes))]
    assert broken(found) == fails
    assert [row.value for row in found if "waits" in row.what] == [0.5] * 4


def test_points_of_scale_out_fit():
    for point in scale_out_points():
        engine = point.hardware.engine
        words = point.machine.words(point.features)
        assert engine.fifo_words >= words + 400
        assert engine.chunks * 4 >= words


def test_a_small_switch():
    found = measure_switch(SwitchParams(ports=2, slots=16))
    assert len(found["latencies"]) == 5 * 2 * 2
    assert broken(switch_rows(found, "switch", MOST_SWITCH[1 << 15])) == []
    assert found["random"] == found["single"] == [200, 200]
