"""Judges outcomes of blocks and partitioners that a test makes."""

from dataclasses import replace

import pytest

from sim.netsparse.reproduce.partitions import PARTITIONED
from tests.sim.netsparse.reproduce.outcomes import FEW, Order, broken, outcome


@pytest.mark.parametrize(
    ("speed_up", "prs", "fails"),
    [
        (60, 0.5, []),
        (40, 0.5, ["by hypergraph, stokes and europe are"]),
        (60, 1.5, ["by hypergraph, all matrices need"]),
    ],
)
def test_claims_hold_or_fail(speed_up, prs, fails):
    result = {}
    for own in PARTITIONED.runs(FEW).values():
        for way, point in own.items():
            is_better = way == "hypergraph"
            run = outcome(point, Order(speed_up=speed_up if is_better else 50))
            count = run.figures["unit_prs"] * (prs if is_better else 1)
            result[point] = replace(run, figures={**run.figures, "unit_prs": count})
    assert [*result] == PARTITIONED.points(FEW, quick=False)
    reported = broken(PARTITIONED.figure(FEW, False, result).claims)
    assert [text[: len(start)] for text, start in zip(reported, fails, strict=True)] == fails
