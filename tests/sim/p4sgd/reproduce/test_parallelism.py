"""Checks that statements on model and data parallelism are decided by the numbers."""

import pytest

from sim.golden.choices import Schedule
from sim.p4sgd.host.capacity import DoesNotFit
from sim.p4sgd.reproduce.parallelism import figure, points, series
from tests.sim.p4sgd.reproduce.figures import broken, by_the_formula

LINK = 100
EQUAL_BY_FORMULA = "by the formula: roughly the same time at B = 1024 (up to 1.5 times)"


def make(bend=lambda point, cycles: cycles, quick=True):
    return figure(quick, LINK, by_the_formula(points(quick, LINK), bend))


@pytest.mark.parametrize("quick", [False, True])
def test_by_the_formula(quick):
    """One switch for all ports slows data parallelism on the paper's hardware; the rest holds."""
    assert broken(make(quick=quick)) == [EQUAL_BY_FORMULA]


def test_data_parallelism_that_is_as_fast():
    def bend(point, cycles):
        return point.machine.pipelined(point.features, point.batch, 300)

    result = broken(make(bend))
    assert "model parallelism is faster in most cases" in result
    assert "several times as fast at B = 16 (2 or more)" in result
    assert "more features give a higher speed-up at B = 16" in result
    assert "the smaller B, the higher its speed-up" in result
    assert "roughly the same time at B = 1024 (up to 1.5 times)" not in result
    assert any("data parallelism within" in text for text in result)


def test_data_parallelism_that_is_slow_with_a_large_batch():
    def bend(point, cycles):
        slow = point.schedule is Schedule.DATA_PARALLEL and point.batch == 1024
        return 2 * cycles if slow else cycles

    assert "roughly the same time at B = 1024 (up to 1.5 times)" in broken(make(bend))


def test_all_points_fit():
    for point in series(True, LINK):
        point.training()
    too_large = [p for p in series(False, LINK) if p.schedule is Schedule.DATA_PARALLEL][-1]
    with pytest.raises(DoesNotFit):
        type(too_large)(**(vars(too_large) | {"features": 4 * too_large.features})).training()
