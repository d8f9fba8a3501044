"""Judges when nodes end, of outcomes that a test makes up."""

import pytest

from sim.netsparse.reproduce import balance
from sim.netsparse.reproduce.runs import useful
from tests.sim.netsparse.reproduce.outcomes import FEW, Order, broken, outcome


@pytest.mark.parametrize(
    ("ends", "fails"),
    [
        ({"queen": 0.95}, []),
        ({"queen": 0.95, "uk": 0.93}, ["all matrices but queen"]),
        ({"queen": 0.4}, ["queen has the least"]),
    ],
)
def test_claims_hold_or_fail(ends, fails):
    result = {
        point: outcome(point, Order(first_ends=each.get(point.subject.family, 0.5)))
        for point in balance.points(FEW, quick=False)
        for each in [ends | {"queen": 0.95} if point.pending else ends]
    }
    drawn = balance.figure(FEW, False, result)
    reported = broken(drawn.claims)
    assert [text[: len(start)] for text, start in zip(reported, fails, strict=True)] == fails
    least = next(claim.result for claim in drawn.claims if "least" in claim.text)
    assert ("Tried, 256 entries" in least) == least.endswith("5% (holds)") == (ends["queen"] < 0.9)
    assert drawn.shown[0]["half of them"] == "50%"
    need = [useful(FEW[0].matrix, FEW[0].partition, node) for node in range(128)]
    share = 1 - sum(need) / 128 / max(need)
    assert drawn.shown[0]["if rows took equally long"] == f"{share:.0%}"
