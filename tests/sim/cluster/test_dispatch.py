"""Runs calls on a cluster in this process, on threads, and on workers of which one dies."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from gen.base.errors import UserError
from sim.cluster import dispatch
from sim.cluster.connect import remote_cluster
from sim.cluster.dispatch import WorkerDied, each, listen, tell
from sim.cluster.sources import sources
from tests.gen.sweep.fake import FakeClient, wait_for
from tests.local_cluster import cluster


def measure(number, scale):
    if number < 0:
        raise ValueError(f"{number} is too small")
    return scale * number


@pytest.mark.parametrize("where", [FakeClient, partial(ThreadPoolExecutor, 2)])
def test_calls_end_as_they_do_in_this_process(where):
    results = dict(each(where(), measure, range(5), 2))
    assert results == {number: 2 * number for number in range(5)}
    with pytest.raises(ValueError, match="-1 is too small"):
        list(each(where(), measure, [1, -1, 2], 2))


def test_a_call_whose_worker_dies_runs_once_more():
    assert dict(each(FakeClient(deaths=1), measure, [3, 4], 1)) == {3: 3, 4: 4}
    with pytest.raises(WorkerDied, match=r"the worker of measure-0 died, 2 times"):
        list(each(FakeClient(deaths=2, slots=1), measure, [3, 4], 1))


def place(number, folder, report):
    time.sleep(0.2)
    report("place", str(number))
    if number == 3 and not os.path.exists(f"{folder}/died"):
        open(f"{folder}/died", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def test_workers_that_die_and_a_scheduler_that_does(tmp_path):
    heard = []
    with (
        cluster(tmp_path, {}, {}) as (address, processes),
        remote_cluster(address, sources) as client,
    ):
        client.wait_for_workers(2, timeout=30)
        report = partial(tell, listen(client, lambda *words: heard.append(words)))
        results = dict(each(client, place, range(8), tmp_path, report))
        assert sorted(results) == list(range(8))
        assert len(set(results.values())) == 2
        wait_for(lambda: sum(process.poll() is None for process in processes) == 2)
        wait_for(lambda: set(heard) == {("place", str(number)) for number in range(8)})
        processes[0].kill()
        with pytest.raises(UserError, match="is gone"):
            list(each(client, place, [1], tmp_path, report))


def test_nobody_waits_for_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr(dispatch, "NOBODY_SECONDS", 0.01)
    monkeypatch.setattr(dispatch, "POLL_SECONDS", 0.02)
    with pytest.raises(UserError, match="all workers of the cluster are gone"):
        list(each(FakeClient(slots=0), measure, [1], 1))
