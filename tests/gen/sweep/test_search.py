"""Tests what a search asks for."""

import pytest

from gen.base.errors import UserError
from gen.sweep.search import SearchPlan
from gen.sweep.store import Store
from tests.gen.sweep.fake import spec

RANGES = {
    "size": {"from": 1, "to": 8},
    "load": [1, 2, 4, 8],
    "wide": [False, True],
    "share": {"from": 0.1, "to": 1.0},
}
SEARCH = {"maximise": ["speed"], "minimise": ["cost"], "constraints": ["cost <= 30"]}


def built(**parts):
    return SearchPlan(spec(search={**SEARCH, "ranges": RANGES, **parts}))


def measured(point):
    return {"speed": point.params.size * point.workload.load, "cost": point.params.size**2}


@pytest.fixture
def path(fakes, tmp_path):
    return tmp_path / "a.sqlite"


def searched(plan, path, rounds):
    with Store.writing(path) as store:
        for _ in range(rounds):
            requested = plan.ask(store, 4)
            store.add(point.row for point, _ in requested)
            store.add_trials([(point.key, drawn) for point, drawn in requested])
            for point, _ in requested:
                store.done(point.key, measured(point), 0)
        return [drawn for _, drawn in store.trials()]


def test_equal_seeds_request_equal_points_also_after_a_stop(path, tmp_path):
    whole = searched(built(), path, 4)
    assert len({tuple(drawn.values()) for drawn in whole}) > 12
    parts = tmp_path / "b.sqlite"
    searched(built(), parts, 1)
    assert searched(built(), parts, 3) == whole
    assert searched(built(seed=2), tmp_path / "c.sqlite", 4) != whole


def test_it_learns_what_is_good_and_allowed(path):
    plan = built(constraints=["cost <= 30"])
    points = [plan.at(drawn) for drawn in searched(plan, path, 12)]
    late = points[24:]
    assert all(point.params.size in range(1, 9) for point in points)
    allowed = sum(point.params.size <= 5 for point in late)
    assert allowed >= 0.75 * len(late)
    assert sum(p.workload.load == 8 for p in late) > len(late) / 2


def test_draws_become_values_of_their_kind(path):
    plan = built()
    point = plan.at({"size": 3, "load": 3, "wide": 1, "share": 0.25})
    assert (point.params.size, point.workload.load, point.params.wide) == (3, 8, True)
    assert point.workload.share == 0.25


def test_failed_points_teach_nothing_but_do_not_harm(path):
    plan = built()
    with Store.writing(path) as store:
        requested = plan.ask(store, 4)
        store.add(point.row for point, _ in requested)
        store.add_trials([(point.key, drawn) for point, drawn in requested])
        store.failed(requested[0][0].key, "no")
        assert len(plan.ask(store, 4)) == 4


def test_the_space_may_be_that_of_the_sweep(fakes):
    plan = SearchPlan(spec(grid={"size": [1, 2]}, search=SEARCH))
    assert [setting.name for setting in plan.varied] == ["size"]
    assert SearchPlan(spec(grid={"size": [1, 2]})).metrics() == ["speed", "cost", "luts", "fill"]


def test_zipped_and_derived_settings_are_searched(path):
    rows = {"size": [2, 4, 4], "load": [5, 6, 7]}
    parts = {"zip": rows, "derive": {"workload": {"depth": "size * load"}}}
    plan = SearchPlan(spec(**parts, grid={"wide": [False, True]}, search=SEARCH))
    assert [setting.name for setting in plan.varied] == ["wide", "size", "load", "depth"]
    points = [plan.at(drawn) for drawn in searched(plan, path, 6)]
    drawn = {(point.params.size, point.workload.load) for point in points}
    assert drawn == set(zip(*rows.values(), strict=True))
    assert all(point.workload.depth == point.params.size * point.workload.load for point in points)
    assert len(SearchPlan(spec(**parts, search=SEARCH)).distributions) == 1
    own = SearchPlan(spec(**parts, search={**SEARCH, "ranges": {"size": [1, 2]}}))
    assert [setting.name for setting in own.varied] == ["size", "depth"]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"maximise": ["sped"]}, "the nearest are speed"),
        ({"constraints": ["costs <= 3"]}, "the nearest are cost"),
        ({"constraints": ["cost = 3"]}, "METRIC <= NUMBER"),
        ({"ranges": {}}, "nothing to search"),
        ({"ranges": {"sise": [1]}}, "did you mean size?"),
        ({"ranges": {"size": {"from": 1, "to": 5}}, "minimise": ["speed"]}, "cannot be both"),
    ],
)
def test_mistakes_are_a_line(parts, words, fakes):
    with pytest.raises(UserError) as error:
        built(**parts)
    assert words in str(error.value)
