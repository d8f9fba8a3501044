"""Decides by the numbers alone whether marks hold."""

import pytest

from sim.bench.limits import Limit, Row, number
from sim.p4sgd.bench import card, emission, speed


@pytest.mark.parametrize(
    ("limit", "value", "holds"),
    [
        (Limit(3), 2.9, True),
        (Limit(3), 3, True),
        (Limit(3), 3.01, False),
        (Limit(3, at_least=True), 2.9, False),
        (Limit(3, at_least=True), 3, True),
        (Limit(3, at_least=True), 3.01, True),
    ],
)
def test_limit(limit, value, holds):
    row = Row(what="it", value=value, limit=limit)
    assert limit.holds(value) is holds
    assert row.holds is holds
    assert row.verdict == ("yes" if holds else "NO")
    assert row.result()["holds"] is holds


def test_row_without_mark_cannot_fail():
    row = Row(what="it", value=float("inf"))
    assert row.holds
    assert row.verdict == ""


@pytest.mark.parametrize(
    ("value", "text"), [(0.6, "0.6"), (60, "60"), (23.456, "23.5"), (1234567.8, "1,234,568")]
)
def test_number(value, text):
    assert number(value) == text


def broken(rows):
    return [row.what for row in rows if not row.holds]


FINDINGS = {
    "ours": {"seconds": 4.0, "bytes": 1_000_000, "modules": 80},
    "plain": {"seconds": 10.0, "bytes": 9_000_000, "modules": 200},
    "lean": {"seconds": 1.0, "bytes": 1_000_000, "modules": 200},
}


@pytest.mark.parametrize(
    ("path", "change", "fails"),
    [
        ("ours", {}, []),
        ("ours", {"seconds": 4.1}, ["ours is faster"]),
        ("plain", {"seconds": 9.9}, ["ours is faster"]),
        ("lean", {"seconds": 0.1}, []),
        ("ours", {"bytes": 1_000_001}, ["u280 worker, ours"]),
        ("ours", {"modules": 81}, ["u280 worker, ours"]),
    ],
)
def test_emission_counts_an_engine_eight_times(path, change, fails):
    result = FINDINGS | {path: FINDINGS[path] | change}
    assert broken(emission.judge(result, 8)) == fails


def test_speed_compares_medians():
    assert broken(speed.judge([80, 1, 81], [100, 99, 1000])) == []
    assert broken(speed.judge([79, 1000, 1], [100, 99, 1000])) == ["train / alone"]


ENGINE = {
    "total": {"luts": 12_000, "ff": 20_000, "dsp": 512, "uram": 96, "bram18": 0},
    "depth": {"most_levels": 6, "most_chains": 1, "most_carry": 64},
}


@pytest.mark.parametrize("kind", ["luts", "ff", "dsp", "uram"])
def test_an_engine_s_sizes_have_marks(kind):
    more = ENGINE["total"] | {kind: ENGINE["total"][kind] + 1}
    assert broken(card.sizes(ENGINE)) == []
    assert len(broken(card.sizes(ENGINE | {"total": more}))) == 1


@pytest.mark.parametrize("kind", list(ENGINE["depth"]))
def test_an_engine_s_depth_has_marks(kind):
    more = ENGINE["depth"] | {kind: ENGINE["depth"][kind] + 1}
    assert len(broken(card.sizes(ENGINE | {"depth": more}))) == 1


def test_the_worker_s_estimate_has_marks():
    fits = {"modules": [1, 2], "lacks": []}
    assert broken(card.times(300, 30, fits)) == []
    assert broken(card.times(301, 31, fits | {"lacks": ["LUT"]})) == [
        "worker, estimated from nothing",
        "worker, nothing changed",
        "worker: kinds that the card lacks",
    ]
