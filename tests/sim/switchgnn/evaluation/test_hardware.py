"""Compares the cycles that are predicted for the hardware with those of the RTL."""

from dataclasses import replace
from typing import NamedTuple

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


class Case(NamedTuple):
    """Describes a job: a random graph, and how it is planned."""

    workers: int
    vertices: int
    pairs: int
    slices: int = 1
    theta: int = 0
    quick: bool = False


CASES = {
    # on chip, 2 banks: a few long lists; partial sums; many blocks
    ("tiny", 20): [Case(2, 16, 100, 4), Case(2, 16, 100, 3, theta=2), Case(3, 60, 200)],
    # in memory, 4 banks: bound by windows, by rows, by both in copies and partial sums
    ("small", 150): [
        Case(4, 200, 300),
        Case(3, 250, 1500),
        Case(4, 200, 4000, 2),
        Case(4, 200, 4000, quick=True),
        Case(4, 500, 1500),
    ],
}


@pytest.fixture(scope="module", params=CASES, ids=str)
def measured(request, tmp_path_factory):
    """Return a network's limits; and each case's predictor, program and cycles of the RTL."""
    size, latency = request.param
    params = SIZES[size]
    switch, window = params.switch, params.switch.window
    shape = SwitchShape(
        ports=switch.ports,
        banks=switch.banks,
        depth=params.endpoints.endpoint.depth,
        lanes=switch.lanes,
    )
    limits = Limits.of(switch, latency)
    result = []
    with RtlNetwork(
        params,
        build_network(params),
        tmp_path_factory.mktemp("network"),
        Planner(SwitchSetup(shape=shape, window=window)),
        links=LinkSettings(latency=latency),
    ) as network:
        for case in CASES[request.param]:
            rng = np.random.default_rng(3)
            graph = simple(*rng.integers(0, case.vertices, (2, case.pairs)), case.vertices)
            owner = rng.integers(0, case.workers, case.vertices)
            workers = provided_workers(owner, case.vertices, params.endpoints.workers)
            width = case.slices * switch.lanes
            built = prepare(graph, workers, shape, [width], theta=case.theta, quick=case.quick)
            job = PlannedJob(built.tables, [], depth=deepest(built.tables), window=window)
            own = RtlAggregator(network, {width: job})
            features = rng.integers(-99, 99, (case.vertices, width)).astype(np.int16)
            exact = ExactAggregator(graph, workers).aggregate(features)
            assert (own.aggregate(features) == exact).all()
            if case.quick:
                assert built.senders.partial.any()
                assert built.senders.aggregators > np.unique(built.cut.destinations).size
            counts = own.counts
            plan = built.senders, built.order.sequence, built.banks
            program = built.tables.program.tolist()
            added = Hardware(*plan, limits).rows[np.repeat(*_turns(built))].sum()
            assert counts["rows"] == added
            result.append((case, plan, program, counts["cycles"]))
    return limits, result


def _turns(built):
    """Return all senders, and how many turns each is in."""
    turns = dict(built.tables.program.tolist())
    return np.arange(built.senders.count), [turns[b] for b in built.senders.block.tolist()]


def errors(limits, result, change=lambda built: None):
    """Return how far each prediction is from the RTL, as a share of it."""
    shares = []
    for _, plan, program, cycles in result:
        built = Hardware(*plan, limits)
        change(built)
        shares.append(built.job(program) / cycles - 1)
    return np.abs(shares)


def test_cycles_are_those_of_the_rtl(measured):
    limits, result = measured
    wrong = errors(limits, result)
    assert (wrong <= BOUND).all(), list(zip(result, wrong, strict=True))


def test_a_model_without_one_of_the_limits_would_be_seen(measured):
    """Each limit decides some case of one network at least."""
    limits, result = measured

    def short(built):
        built.rows[:] = 1

    for other in (replace(limits, window=1000), replace(limits, link=0)):
        assert errors(other, result).max() > 2 * BOUND
    if limits.list_latency:  # frames of the other network are too few
        assert errors(limits, result, short).max() > 2 * BOUND
        slow = replace(limits, feature=2 * limits.feature, sums=2 * limits.sums)
        assert errors(slow, result).max() > BOUND
        assert errors(replace(limits, tasks=2), result).max() > BOUND
