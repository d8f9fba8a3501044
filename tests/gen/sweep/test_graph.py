import pytest

from gen.sweep.graph import graph_of, measurement
from gen.sweep.plan import Plan
from gen.sweep.tasks import Outcome
from tests.gen.sweep.fake import spec

pytestmark = pytest.mark.usefixtures("fakes")
GRID = {"size": [1, 2], "load": [1, 2, 3]}


def built(**parts):
    plan = Plan(spec(**parts))
    return (plan, *graph_of(plan, plan.points()))


def test_each_hardware_is_built_and_synthesised_once():
    _, first, waiting = built(grid=GRID, metrics=["speed", "luts"])
    assert [task.text for task in first] == [
        "building fake",
        "synthesising fake",
        "building fake",
        "synthesising fake",
    ]
    assert len({task.key for task in first}) == 4
    assert [len(task.serves) for task in first] == [3, 3, 3, 3]
    assert {id(item.build) for item in waiting[:3]} == {id(first[0])}


def test_nothing_is_done_that_no_metric_needs():
    assert [task.function.__name__ for task in built(grid=GRID, metrics=["luts"])[1]] == [
        "synthesise",
        "synthesise",
    ]
    _, first, waiting = built(grid=GRID, metrics=["ideal"])
    assert first == []
    assert all(item.ready for item in waiting)


def test_a_point_is_ready_when_all_it_needs_is_done():
    plan, first, waiting = built(grid=GRID, metrics=["speed", "luts"])
    assert not waiting[0].ready
    first[0].outcome = Outcome({"folder": "there"})
    assert not waiting[0].ready
    first[1].outcome = Outcome({"luts": 1})
    assert [item.ready for item in waiting] == [True] * 3 + [False] * 3
    task = measurement(plan, waiting[1])
    assert task.text == "measuring size=1, load=2"
    assert task.key == waiting[1].point.key
    assert {"folder": "there"} in task.arguments


def test_keys_of_builds_follow_the_sources(monkeypatch):
    before = built(grid=GRID)[1][0].key
    assert built(grid=GRID)[1][0].key == before
    monkeypatch.setattr("gen.sweep.plan.version", lambda sources: "new")
    assert built(grid=GRID)[1][0].key != before
