"""Judges outcomes of three topologies that a test makes up."""

import pytest

from sim.netsparse.reproduce.topology import FAR, TOPOLOGY
from tests.sim.netsparse.reproduce.outcomes import FEW, Order, broken, outcome


def claims(figure, **shares):
    """Return the claims if matrices have these shares of their speed-ups on another topology."""
    result = {}
    for family, own in figure.runs(figure.of_all(FEW, quick=False)).items():
        for name, point in own.items():
            share = shares.get(
                f"{family}_{name}".replace(",", "").replace("-", "_").replace(" ", "_"), 1.0
            )
            result[point] = outcome(point, Order(speed_up=20.0 * share))
    assert [*result] == figure.points(FEW, quick=False)
    return figure.figure(FEW, False, result).claims


@pytest.mark.parametrize(
    ("figure", "shares", "fails"),
    [
        (TOPOLOGY, {"stokes_HyperX": 0.4}, []),
        (TOPOLOGY, {"stokes_HyperX": 0.6}, ["the speed-up of stokes drops"]),
        (TOPOLOGY, {"stokes_HyperX": 0.4, "uk_HyperX": 0.4}, ["on all three networks, but for"]),
        (TOPOLOGY, {"stokes_HyperX": 0.4, "stokes_Dragonfly": 0.4}, ["on all three networks"]),
        (FAR, {"stokes_far_one_link": 0.5}, []),
        (FAR, {}, ["both together"]),
        (FAR, {"stokes_far_one_link": 0.5, "stokes_one_link": 0.7}, ["neither alone"]),
        (FAR, {"stokes_far_one_link": 0.5, "stokes_far_HyperX": 0.7}, ["neither alone"]),
        (FAR, {"stokes_far_one_link": 0.5, "stokes_far_leaf_spine": 0.7}, ["both together"]),
    ],
)
def test_claims_hold_or_fail(figure, shares, fails):
    result = broken(claims(figure, **shares))
    assert [text[: len(start)] for text, start in zip(result, fails, strict=True)] == fails
