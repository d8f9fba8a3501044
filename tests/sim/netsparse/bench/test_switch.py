"""Checks the rows of the switch's bench, from figures that are made up."""

import pytest

from hdl.netsparse.protocol import Kind
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.netsparse.bench.switch import HARDWARE, ideal, latency_rows, rate_rows


@pytest.mark.parametrize(
    ("kind", "size", "rate"),
    [
        (Kind.READ, 64, 1),  # 79 PRs in 24 beats
        (Kind.RESPONSE, 4, 1),  # 65 in 24
        (Kind.RESPONSE, 64, 17 / 23),  # 17 of 82 bytes and 64, in 23
        (Kind.RESPONSE, 512, 2 / 18),
    ],
)
def test_ideal_is_a_pr_or_a_beat_a_cycle(kind, size, rate):
    assert ideal(kind, size) == rate


def test_rows_hold_what_is_measured_to_the_limits():
    names = ("read", "hit", "response")
    rates = {f"{name}_prs_per_cycle": 0.7 for name in names}
    assert [row.holds for row in rate_rows(rates, 64)] == [False, False, False]
    rates |= {"read_prs_per_cycle": 0.96, "hit_prs_per_cycle": 0.73}
    assert [row.holds for row in rate_rows(rates, 64)] == [True, True, False]
    expected = NetSparseSwitch(HARDWARE).latencies
    for late, holds in ((2, True), (3, False)):
        found = {f"{name}_latency_cycles": expected[name] + late for name in names}
        assert [row.holds for row in latency_rows(found)] == [holds] * 3
