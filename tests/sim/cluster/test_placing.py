"""Places parts on Dask workers: they do what they do on one machine, and none outlives its run."""

import socket
import threading
import time

import psutil
import pytest

from gen.base.errors import UserError
from sim.cluster import part_worker
from sim.cluster.connect import remote_cluster
from sim.cluster.part_worker import accepted, greeting
from sim.cluster.placing import PlacedParts, shares_of
from sim.cluster.sources import sources
from sim.harness.cache import cache_root
from sim.harness.parts import run_parts
from tests.local_cluster import cluster
from tests.sim.cluster.ring import EPOCH, build_talkers, links_of, ring

PARTS = 3
FOREVER = 10**9  #: cycles


@pytest.fixture
def near(tmp_path):
    """Yield a scheduler's address, and the processes of it and of two workers."""
    both = [{"INGATHER_CACHE": str(cache_root())}] * 2
    (tmp_path / "dask").mkdir()
    with cluster(tmp_path / "dask", *both) as (address, processes):
        yield address, [psutil.Process(process.pid) for process in processes]


def heard(builds, folder, cycles, workers=None):
    """Let a ring talk; return what each part has heard."""
    folder.mkdir(exist_ok=True)
    parts, links = ring(builds, folder, cycles)
    run_parts(parts, links, epoch=EPOCH, processes=2, folder=folder, seed=1, workers=workers)
    return [(folder / part.name / "heard").read_text() for part in parts]


def simulations(processes):
    return [
        each
        for process in processes
        if process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        for each in process.children(recursive=True)
    ]


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def begun(address, builds, folder):
    """Begin a run that does not end; return its thread, client, and what is raised in it."""
    ready, raised = threading.Event(), []
    clients = []

    def work():
        with remote_cluster(address, sources) as client:
            clients.append(client)
            ready.set()
            try:
                heard(builds, folder, FOREVER, PlacedParts(client))
            except BaseException as error:
                raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(60)
    wait_until(lambda: (folder / "talker_0" / "progress").exists() or raised)
    return thread, clients[0], raised


def test_parts_on_workers_are_those_of_one_machine(near, tmp_path):
    address, processes = near
    with remote_cluster(address, sources) as client:
        client.wait_for_workers(2, timeout=60)
        workers = PlacedParts(client)
        builds = workers.build(links_of(PARTS), PARTS, build_talkers)
        remote = heard(builds, tmp_path / "there", 1500, workers)
        assert (tmp_path / "there/talker_2/log.txt").exists()
    assert remote == heard(builds, tmp_path / "here", 1500)
    assert len({*remote}) == PARTS
    assert not simulations(processes)
    # Whoever asks is gone: what was asked for ends.
    thread, client, raised = begun(address, builds, tmp_path / "cancelled")
    assert all(simulations([worker]) for worker in processes[1:])
    client.close()
    wait_until(lambda: not simulations(processes))
    thread.join(60)
    assert raised
    # A worker is gone: a line says so, and what the others do ends.
    thread, client, raised = begun(address, builds, tmp_path / "killed")
    left = processes[-1]
    left.kill()
    thread.join(60)
    assert isinstance(raised[0], UserError)
    assert "has left the cluster" in str(raised[0])
    wait_until(lambda: not simulations(processes))


def test_parts_are_shared_equally():
    """Nodes come in turn; a switch goes where its nodes are, spines where there is least."""
    racks = [((node, 0), (6 + node // 3, node % 3)) for node in range(6)]
    links = [*racks, *(((6 + rack, 3 + k), (8 + k, rack)) for rack in range(2) for k in range(2))]
    assert shares_of(["a", "b"], links, 10) == {"a": [0, 1, 2, 6, 8], "b": [3, 4, 5, 7, 9]}
    assert shares_of(["a"], links, 10) == {"a": [*range(10)]}
    assert shares_of(["a", "b"], links_of(3), 3) == {"a": [0, 1], "b": [2]}
    many = shares_of([str(k) for k in range(20)], links, 10)
    assert sorted(number for own in many.values() for number in own) == [*range(10)]


def test_only_who_knows_the_token_is_connected(monkeypatch):
    """Others are turned away, whatever they say, or if they say nothing."""
    monkeypatch.setattr(part_worker, "GREETING_SECONDS", 0.2)
    token = "12" * part_worker.TOKEN_BYTES
    server = socket.create_server(("127.0.0.1", 0), backlog=8)
    monkeypatch.setitem(part_worker._servers, token, server)
    strangers = [greeting("34" * part_worker.TOKEN_BYTES, 5), b"", greeting(token, 4)]
    links = [socket.create_connection(server.getsockname(), timeout=10) for _ in range(4)]
    for link, text in zip(links, [*strangers, greeting(token, 5)], strict=True):
        link.sendall(text)
    ((number, end),) = accepted(token, {5})
    assert number == 5
    end.sendall(b"x")
    assert links[3].recv(1) == b"x"
    for link in links[:3]:
        assert link.recv(1) == b""
    where = server.getsockname()
    part_worker.close(token)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(where)
