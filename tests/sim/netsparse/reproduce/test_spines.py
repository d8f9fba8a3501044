"""Judges outcomes of both rules for spines that a test makes up."""

from dataclasses import replace

import pytest

from sim.netsparse.reproduce.spines import SPINES
from sim.netsparse.spine_choice import SpineChoice
from tests.sim.netsparse.reproduce.outcomes import FEW, Order, broken, outcome


def claims(europe=2.0, uk=1.0, link=0.5):
    """Return the claims if matrices are so much faster by home, and europe's link is so full."""
    faster = {"europe": europe, "uk": uk}
    result = {}
    for rank, (family, own) in enumerate(SPINES.runs(FEW).items()):
        for choice, point in own.items():
            by_home = choice == SpineChoice.HOME
            speed_up = 20.0 * (rank + 1) * (faster.get(family, 1) if by_home else 1)
            run = outcome(point, Order(speed_up=speed_up))
            used = run.cycles * run.line_bytes * (link if by_home else 0.8)
            result[point] = replace(run, busiest_link_bytes=round(used))
    assert [*result] == SPINES.points(FEW, quick=False)
    return SPINES.figure(FEW, False, result).claims


@pytest.mark.parametrize(
    ("changes", "fails"),
    [
        ({"europe": 1.0}, []),
        ({"europe": 1.0, "uk": 0.96}, []),
        ({"europe": 0.94}, ["by home, no matrix is slower"]),
        ({"europe": 9.0}, ["the speed-ups of the matrices"]),
        ({"europe": 1.0, "link": 0.9}, ["by home, europe needs"]),
    ],
)
def test_claims_hold_or_fail(changes, fails):
    result = broken(claims(**changes))
    assert [text[: len(start)] for text, start in zip(result, fails, strict=True)] == fails
