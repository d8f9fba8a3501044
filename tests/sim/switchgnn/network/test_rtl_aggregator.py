"""Checks that aggregations by the RTL of a switch and its endpoints are exact, one by one."""

import re
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Listener

import numpy as np
import pytest
from scipy.sparse import csr_array

from sim.harness.session import RunFailed
from sim.switchgnn.gcn.aggregator import COUNTERS, ExactAggregator
from sim.switchgnn.golden.aggregation import edges_between
from sim.switchgnn.network import rtl_aggregator
from sim.switchgnn.network.link_settings import LinkSettings
from sim.switchgnn.network.network import build_network
from sim.switchgnn.network.requests import ServerAddress
from sim.switchgnn.network.rtl_aggregator import RtlNetwork
from sim.switchgnn.planning.workers import WorkerPartition
from tests.hdl.switchgnn.network_sizes import RACKS, SIZES
from tests.sim.switchgnn.cases import bytes_of_slice, directed
from tests.sim.switchgnn.network.planned import planner

PARAMS = SIZES["tiny"]
WORKERS = PARAMS.endpoints.workers
VERTICES = 40
BAD = LinkSettings(drop=0.1, duplicate=0.1, reorder=0.2, corrupt=0.02)
WORSE = LinkSettings(drop=0.3, duplicate=0.3, reorder=0.3, corrupt=0.03)
WIDTHS = (3, 5)


def test_strangers_do_not_hold_up_the_start(monkeypatch):
    """One is silent, one is gone at once, one knows another key; then the simulator comes."""
    monkeypatch.setattr(rtl_aggregator, "GREETING_SECONDS", 0.2)

    def come(server):
        with pytest.raises((AuthenticationError, EOFError, OSError)):
            replace(server, key=b"guess").connect()
        return server.connect()

    with (
        ThreadPoolExecutor(2) as pool,
        Listener(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.address),
    ):
        socket.create_connection(listener.address).close()
        came = pool.submit(come, ServerAddress(address=listener.address, key=b"key"))
        served = pool.submit(rtl_aggregator.accepted, listener, b"key")
        served.result(timeout=20).send("heard")
        assert came.result(timeout=20).recv() == "heard"


@pytest.mark.parametrize(("open_turns", "links"), [(1, LinkSettings()), (2, BAD)])
def test_sums_are_exact_for_every_width_and_graph(open_turns, links, tmp_path):
    rng = np.random.default_rng(5)
    adjacency, _ = directed(vertices=VERTICES, edges=160)
    owner = rng.integers(0, WORKERS, VERTICES).astype(np.int32)
    partition = WorkerPartition(owner=owner, workers=WORKERS)
    graphs = [adjacency, csr_array(adjacency.T)]
    plans = planner(PARAMS, open_turns)
    with RtlNetwork(PARAMS, build_network(PARAMS), tmp_path, plans, links=links) as network:
        built = [network.aggregator(graph, partition, WIDTHS) for graph in graphs]
        for which, width in [(0, 3), (0, 5), (0, 5), (1, 5), (0, 3), (1, 3)]:
            features = rng.integers(-(1 << 15), 1 << 15, (VERTICES, width), dtype=np.int16)
            exact = ExactAggregator(graphs[which], partition).aggregate(features)
            assert (built[which].aggregate(features) == exact).all()
        counted = [aggregator.counts for aggregator in built]
    lanes = PARAMS.switch.lanes
    for counts, graph, widths in zip(counted, graphs, [(3, 5, 5, 3), (5, 3)], strict=True):
        slices = sum(-(-width // lanes) for width in widths)
        tables = plans.planned(graph, partition, WIDTHS)[3]
        assert set(counts) == set(COUNTERS)
        assert counts["additions"] == edges_between(graph, owner).nnz * slices
        assert counts["turns"] == tables.blocks * slices
        assert bool(counts["repeats"]) == bool(counts["lost"]) == (links is BAD)
        assert counts["planned_bytes"] == slices * bytes_of_slice(tables) < counts["bytes"]
        assert counts["frames"] * 60 < counts["bytes"] < counts["frames"] * 128
        assert counts["cycles"] > counts["rows"] > slices


@pytest.mark.long
@pytest.mark.parametrize("spines", RACKS)
@pytest.mark.parametrize(("open_turns", "links"), [(1, LinkSettings()), (2, WORSE)])
def test_sums_between_racks_are_exact(rng, spines, open_turns, links, tmp_path):
    params, plans = RACKS[spines], planner(RACKS[spines], open_turns)
    links = replace(links, seed=int(rng.integers(1 << 31)))
    adjacency, partition = directed(vertices=VERTICES, edges=160, workers=4)
    with RtlNetwork(params, build_network(params), tmp_path, plans, links=links) as network:
        built = network.aggregator(adjacency, partition, WIDTHS)
        for width in (3, 5, 3):
            features = rng.integers(-(1 << 15), 1 << 15, (VERTICES, width), dtype=np.int16)
            exact = ExactAggregator(adjacency, partition).aggregate(features)
            assert (built.aggregate(features) == exact).all()
        counts, details = built.counts, network.counters(details=True).details
    job = plans.jobs(adjacency, partition, WIDTHS)[3]
    edges = edges_between(adjacency, partition.owner).nnz
    slices = sum(-(-width // params.switch.lanes) for width in (3, 5, 3))
    assert counts["additions"] == slices * (edges + job.partials.sum())
    assert counts["turns"] == slices * job.tables.blocks
    assert bool(counts["repeats"]) == bool(counts["lost"]) == bool(links.drop)
    assert counts["planned_bytes"] == job.bytes * slices // len(job.slices) * job.tables.blocks
    assert counts["planned_bytes"] < counts["bytes"] < counts["frames"] * 128
    assert list(details["switches"]) == list(params.switches)
    sent = [sum(p["partials"] for p in item["ports"]) for item in details["switches"].values()]
    again = [
        sum(p["partials_again"] for p in item["ports"]) for item in details["switches"].values()
    ]
    assert min(sent) > 0
    assert all(bool(each) == bool(links.drop) for each in again)


def test_links_that_lose_everything_are_abandoned_with_what_is_known(tmp_path):
    """The user gets one line in place of an endless wait."""
    adjacency, owner = directed(vertices=12, edges=20)[0], np.arange(12, dtype=np.int32) % WORKERS
    partition = WorkerPartition(owner=owner, workers=WORKERS)
    links = LinkSettings(drop=1.0, latency=0)
    with RtlNetwork(
        PARAMS, build_network(PARAMS), tmp_path, planner(PARAMS), links=links, timeout=20
    ) as network:
        built = network.aggregator(adjacency, partition, [2])
        with pytest.raises(RunFailed) as failure:
            built.aggregate(np.ones((12, 2), np.int16))
    assert re.match(
        r"worker \d does not end the aggregation in [\d,]+ cycles, which is more than its size and"
        r" the links explain: turn 0 of \d is open, with \d+ frames to send and \d+ sums to get;"
        r" since reset it sent \d+ frames with features \(\d+ again\) and \d+ FETCHes, and got"
        r" 0 sums, 0 ACKs and 0 frames of no use$",
        str(failure.value),
    )
