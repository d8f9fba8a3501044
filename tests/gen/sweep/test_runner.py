"""Runs points on a cluster in this process: how often each is done, and what failures become."""

import pytest

from gen.base.errors import UserError
from gen.sweep import runner, tasks
from gen.sweep.plan import Plan
from gen.sweep.runner import Runner
from gen.sweep.store import Store
from sim.cluster import dispatch
from tests.gen.sweep.fake import FakeClient, Silent, noted, spec


@pytest.fixture
def run(fakes, tmp_path):
    def run(client=None, **parts):
        plan = Plan(spec(**parts))
        points, listener = plan.points(), Silent()
        with Store.writing(tmp_path / "a.sqlite") as store:
            store.begin({}, "one")
            store.add(point.row for point in points)
            Runner(plan, store, client or FakeClient(), listener).run(points)
            return store.points(), listener

    return run


def test_every_point_is_measured_once(run, fakes):
    grid = {"size": [1, 2], "load": [1, 2, 3]}
    rows, listener = run(grid=grid)
    assert [row.status for row in rows] == ["done"] * 6
    assert rows[4].metrics == {"speed": 2 * 2 * 250, "cost": 4, "ideal": 16}
    assert rows[4].attempts == 1
    assert noted(fakes, "builds") == ["1", "2"]
    assert sorted(noted(fakes, "measured")) == ["1 1", "1 2", "1 3", "2 1", "2 2", "2 3"]
    assert {row.key for row in listener.points} == {row.key for row in rows}
    again, listener = run(grid=grid)
    assert again == rows
    assert listener.points == []
    assert len(noted(fakes, "measured")) == 6


def test_points_are_measured_as_soon_as_they_can_be(run, fakes):
    client = FakeClient(slots=1)
    run(client, grid={"size": [1, 2], "load": [1, 2]})
    kinds = [key.partition("-")[0] for key in client.keys]
    assert [kind == "build" for kind in kinds] == [True, False, False, True, False, False]


def test_estimates_join_what_is_measured(run, monkeypatch):
    monkeypatch.setattr(tasks, "estimate", lambda built: {"luts": 7.0})
    rows, _ = run(grid={"size": [1, 2]}, metrics=["speed", "luts"])
    assert rows[1].metrics == {"speed": 500, "cost": 4, "ideal": 8, "luts": 7}
    rows, _ = run(grid={"size": [1, 2]}, metrics=["luts"])
    assert rows[-1].metrics == {"ideal": 8, "luts": 7}


def test_formulas_need_no_cluster(run, fakes):
    client = FakeClient()
    rows, _ = run(client, grid={"load": [1, 2]}, metrics=["ideal"])
    assert [row.metrics for row in rows] == [{"ideal": 8}, {"ideal": 16}]
    assert client.keys == []


def test_failures_keep_error_and_log_and_stop_nothing(run, fakes):
    rows, listener = run(grid={"size": [7, 1, 9], "trouble": ["", "raise"]})
    assert [row.error for row in rows] == [
        "seven cannot be built",
        "seven cannot be built",
        "",
        "load 1 is too much",
        "size must be from 1 to 8: 9",
        "size must be from 1 to 8: 9",
    ]
    assert rows[3].log.startswith("measuring on\nTraceback")
    assert "and more" in rows[3].log
    assert len(listener.points) == 4


def test_a_formula_that_fails_is_its_points_failure(run, fakes):
    rows, listener = run(grid={"trouble": ["formula", ""]}, metrics=["ideal"])
    assert [row.error for row in rows] == ["no formula for load 1", ""]
    assert [row.status for row in rows] == ["failed", "done"]
    assert len(listener.points) == 2


def test_a_point_whose_worker_dies_is_tried_once_more(run, fakes):
    rows, _ = run(FakeClient(deaths=1), grid={"load": [1, 2]})
    assert [(row.status, row.attempts) for row in rows] == [("done", 2), ("done", 1)]


def test_and_then_it_has_failed(run, fakes, monkeypatch):
    monkeypatch.setattr(runner, "last_words", lambda key: "the end")
    rows, listener = run(FakeClient(deaths=2), grid={"load": [1]})
    assert (rows[0].status, rows[0].attempts, rows[0].log) == ("failed", 2, "the end")
    assert rows[0].error == "the worker died while measuring load=1, 2 times"
    assert len(listener.points) == 1


def test_a_lost_scheduler_is_a_line_and_nothing_is_lost(run, fakes, tmp_path):
    class Lost(FakeClient):
        def submit(self, function, *arguments, key, pure):
            future = super().submit(function, *arguments, key=key, pure=pure)
            if len(self.keys) == 3:
                future.status = "cancelled"
            return future

    with pytest.raises(UserError, match="the scheduler is gone; what is finished is kept"):
        run(Lost(slots=1), grid={"load": [1, 2, 3]})
    assert [row.status for row in Store(tmp_path / "a.sqlite").points()] == [
        "done",
        "running",
        "waiting",
    ]


def test_a_cluster_without_workers_is_abandoned(run, fakes, monkeypatch):
    monkeypatch.setattr(dispatch, "NOBODY_SECONDS", 0.01)
    monkeypatch.setattr(dispatch, "POLL_SECONDS", 0.02)
    with pytest.raises(UserError, match="all workers of the cluster are gone"):
        run(FakeClient(slots=0), grid={"load": [1]})
