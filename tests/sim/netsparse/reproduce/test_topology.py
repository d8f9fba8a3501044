"""Judges outcomes of three topologies that a test makes up."""

import pytest

from sim.netsparse.reproduce.topology import TOPOLOGY
from tests.sim.netsparse.reproduce.outcomes import FEW, Order, broken, outcome


def claims(**shares):
    """Return the claims if matrices have these shares of their speed-ups on another topology."""
    result = {}
    for family, own in TOPOLOGY.runs(FEW).items():
        for name, point in own.items():
            share = shares.get(f"{family}_{name}".replace("-", "_"), 1.0)
            result[point] = outcome(point, Order(speed_up=20.0 * share))
    assert [*result] == TOPOLOGY.points(FEW, quick=False)
    return TOPOLOGY.figure(FEW, False, result).claims


@pytest.mark.parametrize(
    ("shares", "fails"),
    [
        ({"stokes_HyperX": 0.4}, []),
        ({"stokes_HyperX": 0.6}, ["the speed-up of stokes drops"]),
        ({"stokes_HyperX": 0.4, "uk_HyperX": 0.4}, ["on all three networks, but for stokes"]),
        ({"stokes_HyperX": 0.4, "stokes_Dragonfly": 0.4}, ["on all three networks, but for"]),
    ],
)
def test_claims_hold_or_fail(shares, fails):
    result = broken(claims(**shares))
    assert [text[: len(start)] for text, start in zip(result, fails, strict=True)] == fails
