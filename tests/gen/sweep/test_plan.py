"""Turns specifications into points."""

import pytest

from gen.base.errors import UserError
from gen.sweep.plan import Plan
from tests.gen.sweep.fake import FakeParams, FakeSession, FakeWorkload, InnerParams, spec
from tests.rejects import refuses

pytestmark = pytest.mark.usefixtures("fakes")


def test_a_grid_is_multiplied_the_last_axis_fastest():
    points = Plan(spec(grid={"size": [1, 2], "load": {"from": 1, "to": 3}})).points()
    assert [(p.params.size, p.workload.load) for p in points] == [
        (size, load) for size in (1, 2) for load in (1, 2, 3)
    ]
    assert points[0].provided == {"size": 1, "load": 1}
    assert points[0].row.parameters == {"size": 1, "wide": False, "inner.depth": 4}
    assert points[0].row.workload["depth"] == 2
    assert len({p.key for p in points}) == 6


def test_each_step_adds_to_those_before_it():
    """All steps are taken at each point of a grid, and they override [set]."""
    steps = [{}, {"wide": True}, {"load": 3}, {"wide": False, "inner": {"depth": 7}}]
    plan = Plan(spec(grid={"size": [1, 2]}, steps=steps, set={"load": 2}))
    result = [(p.params.wide, p.workload.load, p.params.inner.depth) for p in plan.points()]
    assert result == 2 * [(False, 2, 4), (True, 2, 4), (True, 3, 4), (False, 3, 7)]
    assert [p.params.size for p in plan.points()] == [1] * 4 + [2] * 4
    assert [s.name for s in plan.varied] == ["size", "wide", "load", "inner.depth"]
    assert len(Plan(spec(steps=steps)).points()) == 4


def test_preset_set_and_axis_win_in_this_order():
    def built(**parts):
        return Plan(spec(grid={"load": [1]}, **parts)).points()[0].params

    assert built().size == 2
    assert built(preset="large").size == 8
    assert built(preset="large", set={"size": 3, "wide": True}) == FakeParams(size=3, wide=True)


def test_names_with_two_meanings_are_distinguished():
    sides = {"inner": {"depth": [3]}, "depth": [7]}
    point = Plan(spec(grid=sides)).points()[0]
    assert point.params.inner == InnerParams(depth=3)
    assert point.workload == FakeWorkload(depth=7)
    point = Plan(spec(grid={"workload.depth": [7]})).points()[0]
    assert point.workload == FakeWorkload(depth=7)


def test_an_illegal_point_has_failed():
    legal, illegal = Plan(spec(grid={"size": [8, 9]})).points()
    assert (legal.row.status, legal.row.error) == ("waiting", "")
    assert (illegal.row.status, illegal.row.error) == ("failed", "size must be from 1 to 8: 9")
    assert illegal.params is None


def test_values_are_converted_so_that_equal_points_are_one():
    first = Plan(spec(grid={"size": [3], "share": [1]})).points()[0]
    second = Plan(spec(grid={"size": ["3"]}, set={"share": 1.0})).points()[0]
    assert first.key == second.key


def test_keys_follow_what_decides_the_metrics(monkeypatch):
    def key(**parts):
        return Plan(spec(**{"grid": {"size": [3]}, **parts})).points()[0].key

    keys = [
        key(),
        key(set={"load": 2}),
        key(clock_mhz=100),
        key(metrics=["ideal"]),
        key(metrics=["speed", "luts"]),
    ]
    assert len(set(keys)) == len(keys)
    assert key(metrics=["cost"]) == key()
    monkeypatch.setattr("gen.sweep.plan.version", lambda sources: "new")
    assert key() not in keys


def test_contents_of_files_count(monkeypatch, tmp_path):
    file = tmp_path / "data"
    monkeypatch.setattr(FakeSession, "files", lambda work: [file])

    def key():
        return Plan(spec(grid={"size": [1]})).points()[0].key

    keys = {key()}
    for text in "ab":
        file.write_text(text)
        keys.add(key())
    assert len(keys) == 3


def test_random_points_are_different_and_the_seeds():
    def drawn(seed, points=20):
        ranges = {"size": {"from": 1, "to": 8}, "share": {"from": 0.01, "to": 1.0, "log": True}}
        built = Plan(spec(random={"points": points, "seed": seed, "ranges": ranges})).points()
        return [(p.params.size, p.workload.share) for p in built]

    first = drawn(1)
    assert len(set(first)) == 20
    assert drawn(1) == first
    assert drawn(2) != first
    assert drawn(1, 10) == first[:10]
    assert all(1 <= size <= 8 and 0.01 <= share <= 1 for size, share in first)
    assert sum(share < 0.1 for _, share in drawn(1, 200)) > 60


def test_there_may_be_fewer_random_points_than_requested():
    ranges = {"size": [1, 2], "wide": [True, False]}
    assert len(Plan(spec(random={"points": 9, "ranges": ranges})).points()) == 4


def test_origins_follow_the_metrics():
    assert Plan(spec()).origins == {"rtl"}
    assert Plan(spec(metrics=["luts", "ideal"])).origins == {"synth"}
    assert Plan(spec(metrics=["ideal"])).origins == set()


MISTAKES = [
    ({"grid": {"sise": [1]}}, "no parameter 'sise'; did you mean size?"),
    ({"set": {"laod": 1}}, "did you mean load?"),
    ({"metrics": ["sped"]}, "no metric 'sped'; did you mean speed?"),
    ({"metrics": ["lutz"]}, "did you mean lut"),
    ({"preset": "smal"}, "did you mean small?"),
    ({"grid": {"size": ["few"]}}, "size should be a valid integer"),
    ({"grid": {"size": {"from": 1.5, "to": 3}}}, "size should be"),
    ({"grid": {"size": [1, 1]}}, "has a value twice"),
    ({"grid": {"size": [1]}, "set": {"size": 2}}, "both set and swept"),
    ({"random": {"points": 2, "ranges": {"sise": [1]}}}, "did you mean size?"),
    ({"grid": {"load": [1]}, "steps": [{"load": 2}]}, "load is in [grid] and in [[steps]]"),
    ({"steps": [{"laod": 2}]}, "did you mean load?"),
]


@pytest.mark.parametrize(("parts", "words"), MISTAKES)
def test_mistakes_are_a_line(parts, words):
    with pytest.raises(UserError) as error:
        Plan(spec(**parts))
    assert words in str(error.value)


test_grids_are_judged = refuses(
    lambda grid: Plan(spec(grid=grid)).points(),
    ({}, "nothing to sweep"),
    ({"share": {"from": 0.1, "to": 0.9}}, "share: a range in a grid"),
    ({"load": {"from": 1, "to": 10**6}}, "at most 100,000 values, not 1,000,000"),
    ({"load": {"from": 1, "to": 1000}, "depth": {"from": 1, "to": 1000}}, "1,000,000 points"),
    error=UserError,
)
