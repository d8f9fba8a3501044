"""Tests connections to clusters: what is refused, in which words."""

import platform
import signal

import pytest

from gen.base.errors import UserError
from sim.cluster import connect
from sim.cluster.connect import check_workers, local_cluster, remote_cluster
from tests.local_cluster import cluster

PYTHON = platform.python_version() + ".final.0"


def hash_of_sources():
    return "these sources"


class Workers:
    """Stands for a client of some workers."""

    def __init__(self, hashes, threads=1, failure=None, pythons=(PYTHON,)):
        self.hashes, self.threads, self.failure, self.pythons = hashes, threads, failure, pythons

    def wait_for_workers(self, count, timeout):
        pass

    def get_versions(self):
        host = [{"host": {"python": python}} for python in self.pythons]
        return {"workers": {f"tcp://{n}": each for n, each in enumerate(host)}}

    def run(self, function, *arguments):
        if self.failure:
            raise self.failure
        return {f"tcp://{n}": result for n, result in enumerate(self.hashes)}

    def nthreads(self):
        return {f"tcp://{n}": self.threads for n in range(len(self.hashes))}


def test_workers_that_cannot_do_the_work_are_refused():
    own = hash_of_sources()
    check_workers(Workers([own, own]), "there", hash_of_sources)
    with pytest.raises(UserError, match="worker tcp://1 has other sources of ingather"):
        check_workers(Workers([own, "old"]), "there", hash_of_sources)
    with pytest.raises(UserError, match="start it with --nthreads 1"):
        check_workers(Workers([own], threads=2), "there", hash_of_sources)
    with pytest.raises(UserError, match="cannot import ingather: no gen"):
        check_workers(Workers([], failure=ImportError("no gen")), "there", hash_of_sources)
    with pytest.raises(UserError, match=r"tcp://1 has Python 3\.9\.1.*, this machine has 3"):
        check_workers(
            Workers([own, own], pythons=(PYTHON, "3.9.1.final.0")), "there", hash_of_sources
        )


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("tcp://127.0.0.1:9", "no scheduler answers at tcp://127.0.0.1:9"),
        ("localhost:8786", "a scheduler is tcp://HOST:PORT"),
        ("tcp://localhost", "a scheduler is tcp://HOST:PORT"),
    ],
)
def test_a_scheduler_that_is_not_there_is_a_line(where, words, monkeypatch):
    monkeypatch.setattr(connect, "CONNECT_SECONDS", 1)
    with pytest.raises(UserError, match=words), remote_cluster(where, hash_of_sources):
        pass


def test_a_scheduler_without_workers_is_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(connect, "WORKERS_SECONDS", 0.5)
    with (
        cluster(tmp_path) as (address, _),
        pytest.raises(UserError, match="has no workers"),
        remote_cluster(address, hash_of_sources),
    ):
        pass


def test_workers_of_this_machine_do_not_hear_an_interrupt(capfd):
    with local_cluster(1) as client:
        blocked = client.run(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, []))
        client.loop.add_callback(client.loop.asyncio_loop.call_exception_handler, {"message": "no"})
    assert [signal.SIGINT in each for each in blocked.values()] == [True]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert capfd.readouterr().err == ""
