"""Marks hold, or not, by the numbers alone."""

import pytest

from sim.bench import emission, speed
from sim.bench.marks import Mark, Row, number


@pytest.mark.parametrize(
    ("mark", "value", "holds"),
    [
        (Mark(3), 2.9, True),
        (Mark(3), 3, True),
        (Mark(3), 3.01, False),
        (Mark(3, at_least=True), 2.9, False),
        (Mark(3, at_least=True), 3, True),
        (Mark(3, at_least=True), 3.01, True),
    ],
)
def test_mark(mark, value, holds):
    row = Row(what="it", value=value, mark=mark)
    assert mark.holds(value) is holds
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


FOUND = {
    "ours": {"seconds": 4.0, "bytes": 1_000_000, "modules": 60},
    "plain": {"seconds": 10.0, "bytes": 9_000_000, "modules": 200},
    "lean": {"seconds": 1.0, "bytes": 1_000_000, "modules": 200},
}


@pytest.mark.parametrize(
    ("way", "change", "fails"),
    [
        ("ours", {}, []),
        ("ours", {"seconds": 4.1}, ["ours is faster"]),
        ("plain", {"seconds": 9.9}, ["ours is faster"]),
        ("lean", {"seconds": 0.1}, []),
        ("ours", {"bytes": 1_000_001}, ["u280 worker, ours"]),
        ("ours", {"modules": 61}, ["u280 worker, ours"]),
    ],
)
def test_emission_counts_an_engine_eight_times(way, change, fails):
    found = FOUND | {way: FOUND[way] | change}
    assert broken(emission.judge(found)) == fails


def test_speed_compares_medians():
    assert broken(speed.judge([60, 1, 61], [100, 99, 1000])) == []
    assert broken(speed.judge([59, 1000, 1], [100, 99, 1000])) == ["train / alone"]
