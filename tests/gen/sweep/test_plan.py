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


def sizes_and_loads(plan):
    return [(p.params.size, p.workload.load, p.params.inner.depth) for p in plan.points()]


def test_zipped_names_move_together():
    """The product with the grid is taken, and that of two tables; ranges count as lists."""
    tables = [{"size": [1, 2, 2], "load": {"from": 4, "to": 6}}, {"inner": {"depth": [3, 5]}}]
    plan = Plan(spec(grid={"wide": [False, True]}, zip=tables))
    first = [(1, 4, 3), (1, 4, 5), (2, 5, 3), (2, 5, 5), (2, 6, 3), (2, 6, 5)]
    assert sizes_and_loads(plan) == first * 2
    assert [s.name for s in plan.varied] == ["wide", "size", "load", "inner.depth"]
    assert plan.points()[0].provided == {"wide": False, "size": 1, "load": 4, "inner.depth": 3}
    assert sizes_and_loads(Plan(spec(zip={"size": [1, 2], "load": [4, 5]}))) == [
        (1, 4, 4),
        (2, 5, 4),
    ]


def test_derived_settings_follow_each_point():
    """An expression sees axes, [set], presets, defaults, steps and other derived settings."""
    plan = Plan(
        spec(
            grid={"size": [1, 2, 4]},
            steps=[{}, {"workload": {"depth": 9}}],
            derive={"load": "inner.depth * 2 + workload.depth", "inner": {"depth": "8 / size"}},
        )
    )
    depths = {1: 8, 2: 4, 4: 2}
    assert sizes_and_loads(plan) == [
        (size, 2 * depths[size] + depth, depths[size]) for size in depths for depth in (2, 9)
    ]
    assert [s.name for s in plan.varied] == ["size", "depth", "inner.depth", "load"]
    assert plan.points()[0].provided == {"size": 1, "inner.depth": 8, "load": 18}
    assert plan.points()[0].row.workload["load"] == 18
    drawn = spec(random={"points": 9, "ranges": {"size": [1, 2, 4]}}, derive={"load": "size + 1"})
    assert all(p.workload.load == p.params.size + 1 for p in Plan(drawn).points())


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


def test_a_point_that_the_run_refuses_has_failed(monkeypatch):
    """What is not measured by a run is not refused."""

    def check(params, requested):
        if params.size * requested.load > 6:
            raise ValueError("too much for this size")

    monkeypatch.setattr(FakeSession, "check", check)
    parts = {"grid": {"size": [2, 3]}, "set": {"load": 3}}
    for metrics, failed in ((["speed"], 1), (["ideal"], 1), (["luts"], 0)):
        points = Plan(spec(metrics=metrics, **parts)).points()
        refused = [point for point in points if point.params is None]
        assert [point.row.error for point in refused] == ["too much for this size"] * failed
        assert [point.workload for point in refused] == [None] * failed


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
    ({"metrics": ["sped"]}, "no metric 'sped'; the nearest are speed"),
    ({"metrics": ["lutz"]}, "the nearest are lut"),
    ({"preset": "smal"}, "did you mean small?"),
    ({"grid": {"size": ["few"]}}, "size should be a valid integer"),
    ({"grid": {"size": {"from": 1.5, "to": 3}}}, "size should be"),
    ({"grid": {"size": [1, 1]}}, "has a value twice"),
    ({"grid": {"size": [1]}, "set": {"size": 2}}, "size is in [set] and in [grid]"),
    ({"grid": {"size": [1]}, "zip": {"size": [1]}}, "size is in [grid] and in [[zip]]"),
    ({"zip": [{"size": [1]}, {"size": [1]}]}, "size is in [[zip]] and in [[zip]]"),
    ({"zip": {"load": [1]}, "steps": [{"load": 2}]}, "load is in [[zip]] and in [[steps]]"),
    ({"grid": {"size": [1]}, "derive": {"size": "1"}}, "size is in [grid] and in [derive]"),
    ({"set": {"load": 1}, "derive": {"load": "1"}}, "load is in [set] and in [derive]"),
    ({"steps": [{"load": 2}], "derive": {"load": "1"}}, "load is in [derive] and in [[steps]]"),
    (
        {"random": {"points": 1, "ranges": {"load": [1]}}, "derive": {"load": "1"}},
        "load is in [random] and in [derive]",
    ),
    ({"zip": {"size": [1, 2], "load": [1]}}, "[[zip]] needs as many values of each name: size has"),
    ({"zip": [{}]}, "[[zip]] needs as many values of each name: no name"),
    ({"zip": {"load": [1], "workload": {"load": [2]}}}, "[[zip]]: a name is there twice"),
    ({"zip": {"laod": [1]}}, "did you mean load?"),
    ({"zip": {"load": [1.5]}}, "load should be a valid integer"),
    ({"derive": {"laod": "1"}}, "did you mean load?"),
    ({"derive": {"load": "sise"}}, "derive.load: no parameter 'sise'; did you mean size?"),
    ({"derive": {"load": "depth + 1 +"}}, "derive.load: 'depth + 1 +' is no expression"),
    ({"derive": {"load": "size ** 2"}}, "derive.load: size ** 2 is not allowed"),
    ({"derive": {"load": "load + 1"}}, "derive.load needs itself: load needs load"),
    (
        {"derive": {"load": "size", "size": "workload.depth", "workload": {"depth": "load"}}},
        " needs size needs depth needs ",
    ),
    ({"derive": {"load": "1", "workload": {"load": "2"}}}, "load is derived twice"),
    ({"random": {"points": 2, "ranges": {"sise": [1]}}}, "did you mean size?"),
    ({"grid": {"load": [1]}, "steps": [{"load": 2}]}, "load is in [grid] and in [[steps]]"),
    ({"steps": [{"laod": 2}]}, "did you mean load?"),
]


@pytest.mark.parametrize(("parts", "words"), MISTAKES)
def test_mistakes_are_a_line(parts, words):
    with pytest.raises(UserError) as error:
        Plan(spec(**parts))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("8 / size", "derive.load, 8 / size at size=3: load should be a valid integer, got a"),
        ("8 / (size - 3)", "derive.load, 8 / (size - 3) at size=3: it divides by zero"),
        ("trouble + 1", "derive.load, trouble + 1 at trouble=: trouble is not a number"),
    ],
)
def test_derived_values_are_judged_at_each_point(text, words):
    plan = Plan(spec(grid={"size": [1, 3]}, derive={"load": text}))
    with pytest.raises(UserError) as error:
        plan.points()
    assert words in str(error.value)


test_grids_are_judged = refuses(
    lambda grid: Plan(spec(grid=grid)).points(),
    ({}, "nothing to sweep"),
    ({"share": {"from": 0.1, "to": 0.9}}, "share: a range in a grid"),
    ({"load": {"from": 1, "to": 10**6}}, "at most 100,000 values, not 1,000,000"),
    ({"load": {"from": 1, "to": 1000}, "depth": {"from": 1, "to": 1000}}, "1,000,000 points"),
    error=UserError,
)
