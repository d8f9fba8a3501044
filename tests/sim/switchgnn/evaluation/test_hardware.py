"""Compares the cycles that are predicted for the hardware with those of the RTL."""

from dataclasses import replace

import numpy as np
import pytest

from sim.switchgnn.evaluation.hardware import BOUND, Hardware, Limits
from sim.switchgnn.gcn.aggregator import ExactAggregator
from sim.switchgnn.gcn.golden_aggregator import Planner, SwitchSetup, deepest
from sim.switchgnn.graphs.families import simple
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.network.link_settings import LinkSettings
from sim.switchgnn.network.network import build_network
from sim.switchgnn.network.rtl_aggregator import RtlAggregator, RtlNetwork
from sim.switchgnn.planning.preparation import prepare
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.workers import provided_workers
from tests.hdl.switchgnn.network_sizes import SIZES

#: network and latency: workers, vertices, pairs and slices of random graphs, and their plans
CASES = {
    # on chip, 2 banks: a few long lists; partial sums; many blocks
    ("tiny", 20): [(2, 16, 100, 4, {}), (2, 16, 100, 3, {"theta": 2}), (3, 60, 200, 1, {})],
    # in memory, 4 banks: bound by windows, by both, by rows, by copies and partial sums; blocks
    ("small", 150): [
        (4, 200, 300, 1, {}),
        (3, 250, 1500, 1, {}),
        (4, 200, 4000, 2, {}),
        (4, 200, 4000, 1, {"quick": True}),
        (4, 500, 1500, 1, {}),
    ],
}


@pytest.fixture(scope="module", params=CASES, ids=str)
def measured(request, tmp_path_factory):
    """Return a network's limits; and each case's plan, program and cycles of the RTL."""
    size, latency = request.param
    params = SIZES[size]
    switch, window, folder = params.switch, params.switch.window, tmp_path_factory.mktemp("network")
    depth = params.endpoints.endpoint.depth
    shape = SwitchShape(ports=switch.ports, banks=switch.banks, depth=depth, lanes=switch.lanes)
    planner = Planner(SwitchSetup(shape=shape, window=window))
    limits, links, result = Limits.of(switch, latency), LinkSettings(latency=latency), []
    with RtlNetwork(params, build_network(params), folder, planner, links=links) as network:
        for count, vertices, pairs, slices, how in CASES[request.param]:
            rng = np.random.default_rng(3)
            graph = simple(*rng.integers(0, vertices, (2, pairs)), vertices)
            owner = rng.integers(0, count, vertices)
            workers = provided_workers(owner, vertices, params.endpoints.workers)
            width = slices * switch.lanes
            built = prepare(graph, workers, shape, [width], **how)
            job = PlannedJob(built.tables, [], depth=deepest(built.tables), window=window)
            own = RtlAggregator(network, {width: job})
            features = rng.integers(-99, 99, (vertices, width)).astype(np.int16)
            exact = ExactAggregator(graph, workers).aggregate(features)
            assert (own.aggregate(features) == exact).all()
            copied = built.senders.aggregators > np.unique(built.cut.destinations).size
            assert copied == ("quick" in how) <= built.senders.partial.any()
            plan = built.senders, built.order.sequence, built.banks
            assert own.counts["rows"] == Hardware(*plan, limits).rows.sum() * slices
            result.append((plan, built.tables.program.tolist(), own.counts["cycles"]))
    return limits, result


def errors(limits, result, rows=slice(0)):
    """Return how far each prediction is from the RTL, as a share; ``rows`` of lists are one."""
    shares = []
    for plan, program, cycles in result:
        built = Hardware(*plan, limits)
        built.rows[rows] = 1
        shares.append(built.job(program) / cycles - 1)
    return np.abs(shares)


def test_cycles_are_those_of_the_rtl(measured):
    assert (errors(*measured) <= BOUND).all(), errors(*measured)


def test_a_model_without_one_of_the_limits_would_be_seen(measured):
    """Each limit decides some case of one network at least."""
    limits, result = measured
    wrong = [replace(limits, window=1000), replace(limits, link=0)]
    if limits.lists:  # the other network's frames are too few
        slow = replace(limits, feature=2 * limits.feature, sums=2 * limits.sums)
        wrong += [slow, replace(limits, tasks=2)]
        assert errors(limits, result, slice(None)).max() > 2 * BOUND
    assert all(errors(each, result).max() > BOUND for each in wrong)
