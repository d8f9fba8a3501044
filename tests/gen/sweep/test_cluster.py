"""Tests clusters: a scheduler and two workers in processes of their own, one of which dies."""

import json
import os
import subprocess
import sys

import pytest

from gen.base.errors import UserError
from gen.sweep import cluster
from gen.sweep.cluster import check_workers, remote_cluster
from gen.sweep.plan import Plan
from gen.sweep.runner import Runner
from gen.sweep.sources import version
from gen.sweep.store import Store
from tests.gen.sweep.fake import Silent, noted, spec, wait_for

SOURCES = ("tests.gen.sweep.fake",)


def started(*arguments, **environment):
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin", **environment}
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *map(str, arguments[1:])],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture
def processes():
    running = []
    yield running
    for process in reversed(running):
        process.kill()
    for process in running:
        process.wait(20)


@pytest.fixture
def address(processes, fakes, tmp_path):
    """Return that of a scheduler with two workers, which do not come back when they die."""
    file = tmp_path / "scheduler.json"
    listening = ("--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", file)
    only = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    processes.append(started("scheduler", *listening, **only))
    wait_for(file.exists)
    near = {name: os.environ[name] for name in ("INGATHER_FAKE", "INGATHER_CACHE")}
    for _ in range(2):
        options = ("--scheduler-file", file, "--no-nanny", "--nthreads", 1, "--no-dashboard")
        processes.append(started("worker", *options, "--local-directory", tmp_path, **near))
    return json.loads(file.read_text())["address"]


def test_a_worker_that_dies_costs_nothing_but_time(address, processes, fakes, tmp_path):
    plan = Plan(spec(grid={"load": [1, 2, 3, 4], "trouble": ["", "die-once"]}))
    points = [p for p in plan.points() if p.workload.load == 2 or not p.workload.trouble]
    with (
        Store.writing(tmp_path / "a.sqlite") as store,
        remote_cluster(address, SOURCES) as client,
    ):
        client.wait_for_workers(2, timeout=30)
        store.begin({}, "one")
        store.add(point.row for point in points)
        Runner(plan, store, client, Silent()).run(points)
        rows = store.points()
    assert {row.status for row in rows} == {"done"}
    twice = [row for row in rows if row.workload["trouble"]]
    assert [row.attempts for row in twice] == [2]
    assert [row.attempts for row in rows if not row.workload["trouble"]] == [1] * 4
    assert noted(fakes, "builds") == ["2"]
    assert len(noted(fakes, "measured")) == len(rows)
    assert sorted(process.poll() is None for process in processes) == [False, True, True]


class Workers:
    """Stands for a client of some workers."""

    def __init__(self, versions, threads=1, failure=None):
        self.versions, self.threads, self.failure = versions, threads, failure

    def wait_for_workers(self, count, timeout):
        pass

    def run(self, function, *arguments):
        if self.failure:
            raise self.failure
        return {f"tcp://{n}": result for n, result in enumerate(self.versions)}

    def nthreads(self):
        return {f"tcp://{n}": self.threads for n in range(len(self.versions))}


def test_workers_that_cannot_do_the_work_are_refused():
    own = version(SOURCES)
    check_workers(Workers([own, own]), "there", SOURCES)
    with pytest.raises(UserError, match="worker tcp://1 has other sources"):
        check_workers(Workers([own, "old"]), "there", SOURCES)
    with pytest.raises(UserError, match="start it with --nthreads 1"):
        check_workers(Workers([own], threads=2), "there", SOURCES)
    with pytest.raises(UserError, match="cannot import ingather: no gen"):
        check_workers(Workers([], failure=ImportError("no gen")), "there", SOURCES)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("tcp://127.0.0.1:9", "no scheduler answers at tcp://127.0.0.1:9"),
        ("localhost:8786", "a scheduler is tcp://HOST:PORT"),
        ("tcp://localhost", "a scheduler is tcp://HOST:PORT"),
    ],
)
def test_a_scheduler_that_is_not_there_is_a_line(where, words, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(UserError, match=words), remote_cluster(where, SOURCES):
        pass


def test_a_scheduler_without_workers_is_a_line(processes, tmp_path, monkeypatch):
    file = tmp_path / "scheduler.json"
    listening = ("--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", file)
    processes.append(started("scheduler", *listening))
    wait_for(file.exists)
    monkeypatch.setattr(cluster, "WORKERS_SECONDS", 0.5)
    address = json.loads(file.read_text())["address"]
    with pytest.raises(UserError, match="has no workers"), remote_cluster(address, SOURCES):
        pass


def test_missing_dask_is_a_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match=r"pip install 'ingather\[sweep\]'"):
        cluster.load_dask()
