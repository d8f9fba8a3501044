"""Runs a sweep on a cluster of two workers in processes of their own, one of which dies."""

import os
from functools import partial

from gen.sweep.plan import Plan
from gen.sweep.runner import Runner
from gen.sweep.sources import version
from gen.sweep.store import Store
from sim.cluster.connect import remote_cluster
from tests.gen.sweep.fake import Silent, noted, spec
from tests.local_cluster import ONCE, cluster

SOURCES = ("tests.gen.sweep.fake",)


def test_a_worker_that_dies_costs_nothing_but_time(fakes, tmp_path):
    plan = Plan(spec(grid={"load": [1, 2, 3, 4], "trouble": ["", "die-once"]}))
    points = [p for p in plan.points() if p.workload.load == 2 or not p.workload.trouble]
    near = {name: os.environ[name] for name in ("INGATHER_FAKE", "INGATHER_CACHE")}
    with (
        cluster(tmp_path, near, near, **ONCE) as (address, processes),
        Store.writing(tmp_path / "a.sqlite") as store,
        remote_cluster(address, partial(version, SOURCES)) as client,
    ):
        client.wait_for_workers(2, timeout=30)
        store.begin({}, "one")
        store.add(point.row for point in points)
        Runner(plan, store, client, Silent()).run(points)
        rows = store.points()
        alive = sorted(process.poll() is None for process in processes)
    assert {row.status for row in rows} == {"done"}
    twice = [row for row in rows if row.workload["trouble"]]
    assert [row.attempts for row in twice] == [2]
    assert [row.attempts for row in rows if not row.workload["trouble"]] == [1] * 4
    assert noted(fakes, "builds") == ["2"]
    assert len(noted(fakes, "measured")) == len(rows)
    assert alive == [False, True, True]
