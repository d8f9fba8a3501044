"""Runs points on a cluster in this process as well as on executors."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from sim.reproduce.outcomes import CLIENT, run_all
from tests.gen.sweep.fake import FakeClient


def test_a_cluster_gives_the_same():
    context, client = copy_context(), FakeClient()
    context.run(CLIENT.set, client)
    said = []
    local = run_all(abs, [-3, 2], lambda *done: said.append(done), ThreadPoolExecutor(1))
    remote = context.run(run_all, abs, [-3, 2], lambda *done: said.append(done))
    assert remote == local == {-3: 3, 2: 2}
    assert said[3:] == [(None, 0), (-3, 1), (2, 2)]
    assert len(client.keys) == 2
