"""Compares two sweeps point by point."""

import json
import math

import pytest

from gen.sweep.diff import Change, compare
from tests.gen.report import sample


def points(cycles, **changes):
    return [sample.point(1, 2, metrics={"cycles": cycles, "lut": 9000.0}, **changes)]


def test_equal_sweeps():
    difference = compare(sample.grid(), sample.grid())
    assert difference.equal
    assert difference.common == 12


@pytest.mark.parametrize(("threshold", "changes"), [(0, 1), (0.09, 1), (0.11, 0)])
@pytest.mark.parametrize(("after", "relative"), [(1100.0, 0.1), (900.0, -0.1)])
def test_a_metric_that_differs(threshold, changes, after, relative):
    difference = compare(points(1000.0), points(after), threshold)
    assert len(difference.changes) == changes
    assert difference.equal is not bool(changes)
    for change in difference.changes:
        assert (change.metric, change.before, change.after) == ("cycles", 1000.0, after)
        assert change.absolute == after - 1000
        assert change.relative == pytest.approx(relative)
        assert change.settings["bits"] == 2


def test_the_key_of_a_point_does_not_matter_but_what_was_requested_does():
    assert compare(points(1.0), points(1.0, key="of other sources")).equal
    for other in ({"workload": {"bits": 3}}, {"parameters": {"engines": 9}}, {"design": "x"}):
        difference = compare(points(1.0), points(1.0, **other))
        assert (difference.common, difference.changes) == (0, ())
        assert len(difference.only_first) == len(difference.only_second) == 1
        assert not difference.equal


def test_what_only_one_has_always_counts():
    (change,) = compare([sample.point(1, 2)], [sample.point(1, 2, "failed")], 10).changes
    assert (change.metric, change.before, change.after) == ("status", "done", "failed")
    (change,) = compare(points(1.0), [sample.point(1, 2, metrics={"cycles": 1.0})], 10).changes
    assert (change.metric, change.before, change.after) == ("lut", 9000.0, None)
    assert change.absolute is None
    (change,) = compare(points(0.0), points(1.0), 10).changes
    assert (change.absolute, change.relative) == (1.0, math.inf)


def test_no_number_equals_itself():
    assert compare(points(math.nan), points(math.nan)).equal
    assert len(compare(points(math.nan), points(1.0), 0.5).changes) == 1


def test_the_largest_shares_first():
    before = [sample.point(1, bits, metrics={"cycles": 100.0}) for bits in (1, 2, 4)]
    after = [
        sample.point(1, bits, metrics={"cycles": cycles})
        for bits, cycles in ((1, 101.0), (2, 150.0), (4, 90.0))
    ]
    assert [change.after for change in compare(before, after).changes] == [150.0, 90.0, 101.0]


def test_as_json():
    described = compare(points(0.0), points(1.0)).describe()
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert described["changes"][0]["relative"] is None
    change = Change(settings={"bits": 2}, metric="a", before=4, after=5)
    assert change.describe() == {
        "settings": {"bits": 2},
        "metric": "a",
        "before": 4,
        "after": 5,
        "absolute": 1,
        "relative": 0.25,
    }
