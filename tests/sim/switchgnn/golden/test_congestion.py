"""Tests rates, and how settings of rate control follow from a plan."""

import numpy as np
import pytest

from sim.switchgnn.golden.congestion import UNIT, RateSettings, TokenBuckets, least_rates, step_of


def test_lowest_rates_take_twice_as_long_as_the_busiest_port():
    sent, received = np.array([[4, 8, 2], [4, 0, 4]]), np.array([[1, 1, 16], [8, 4, 4]])
    assert least_rates(sent, received).tolist() == [UNIT * n // 48 for n in (8, 8, 6)]
    nothing = np.zeros((1, 2), int)
    assert least_rates(nothing, nothing).tolist() == [1, 1]


@pytest.mark.parametrize(("trip", "level", "step"), [(100, 400, UNIT // 32), (999, 1, UNIT // 2)])
def test_a_queue_does_not_run_empty_while_a_rate_grows(trip, level, step):
    assert step_of(trip, level) == step


@pytest.mark.parametrize("rate", [UNIT // 2, UNIT // 8, UNIT // 100])
@pytest.mark.parametrize("size", [1, 2, 9])
def test_the_rate_is_kept(size, rate):
    """Frames of ``size`` beats leave without a pause, but for the tokens that they wait for."""
    bucket, left, beats = TokenBuckets(1, RateSettings(most=rate)), 0, 0
    for _ in range(4000):
        left = left or size * int(bucket.may_begin[0])
        bucket.step(np.zeros(1, bool), np.array([left > 0]))
        beats, left = beats + (left > 0), max(0, left - 1)
    assert abs(beats - 4000 * rate / UNIT) <= 2 * size + 3
