"""Checks multi-level and destination plans: every edge occurs once, and no block is too large."""

import importlib.util

import numpy as np
import pytest

from gen.base.errors import UserError
from sim.switchgnn.evaluation.frames import FrameSizes, traffic_of
from sim.switchgnn.planning.cut import cut_graph
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.multilevel import first_fit_decreasing, multilevel_plan
from sim.switchgnn.planning.plan import Plan, aggregators_in
from sim.switchgnn.planning.senders import senders_of
from sim.workloads.metis import moved_to_room, parts_within
from tests.sim.switchgnn.cases import cut_of, directed, ring, star

needs_mtkahypar = pytest.mark.skipif(
    importlib.util.find_spec("mtkahypar") is None, reason="mtkahypar is not installed"
)
PLANS = {
    "multi-level": multilevel_plan,
    "destinations": destination_plan,
}
CUTS = {
    "digits": lambda: cut_of("digits", 4),
    "directed": lambda: cut_graph(*directed()),
    "star": lambda: star(9),
    "ring": lambda: ring(9),
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("graph", CUTS)
def test_no_block_has_more_destinations_than_aggregators(graph, plan):
    cut = CUTS[graph]()
    for aggregators in (2, 5, cut.n // 3 + 1, cut.n - 1, cut.n, 10 * cut.n):
        built = PLANS[plan](cut, aggregators)
        built.check_fits(cut)
        assert (built.block == PLANS[plan](cut, aggregators).block).all()
        if aggregators >= cut.n:
            assert built.blocks == 1


def test_a_block_of_the_papers_plan_has_at_most_k_vertices():
    cut, most = cut_of("digits", 4), 60
    built = multilevel_plan(cut, most)
    assert built.levels > 1
    for block in range(built.blocks):
        edges = built.block == block
        assert np.union1d(cut.sources[edges], cut.destinations[edges]).size <= most


def test_a_destination_has_one_block():
    cut, most = cut_of("digits", 4), 60
    built = destination_plan(cut, most)
    pairs = np.unique(np.stack([built.block, cut.destinations]), axis=1)
    assert pairs.shape[1] == np.unique(cut.destinations).size
    assert built.blocks == -(-394 // most)


def test_first_fit_decreasing():
    assert first_fit_decreasing(np.array([3, 0, 5, 2, 4]), 7).tolist() == [1, -1, 0, 0, 1]


def test_parts_are_filled_to_the_last_vertex():
    graph = cut_of("digits", 4).undirected()
    assert np.bincount(moved_to_room(graph, np.zeros(394, np.int32), 100)).max() == 100
    whole = moved_to_room(graph, np.zeros(394, np.int32), 197)
    assert np.bincount(whole).tolist() == [197, 197]
    assert np.bincount(parts_within(graph, 20, seed=1)).max() <= 20


def bytes_of(cut, plan, lanes, slices):
    sizes = FrameSizes.of(lanes)
    return traffic_of(senders_of(cut, plan), cut.workers).bytes(sizes) * slices


@pytest.mark.parametrize("family", ["reddit", "yelp", "products"])
@pytest.mark.parametrize("workers", [8, 32])
def test_destinations_in_slices_are_never_above_the_papers_plan(family, workers):
    cut = cut_of(f"{family}:scale=0.05", workers)
    features, lanes = 602, 32
    for share in (0.02, 0.1, 0.3):  # of the memory that all vertices' features take
        memory = 4 * features * cut.n * share
        paper = multilevel_plan(cut, aggregators_in(memory, features))
        own = destination_plan(cut, aggregators_in(memory, lanes))
        slices = -(-features // lanes)
        assert bytes_of(cut, own, lanes, slices) <= bytes_of(cut, paper, lanes, slices)


@needs_mtkahypar
def test_mt_kahypar_sends_less_than_metis():
    cut = cut_of("digits", 4)
    sends = {}
    for partitioner in ("metis", "mtkahypar"):
        built = destination_plan(cut, 20, partitioner=partitioner)
        built.check_fits(cut)
        assert (built.block == destination_plan(cut, 20, partitioner=partitioner).block).all()
        sends[partitioner] = senders_of(cut, built).count
    assert sends["mtkahypar"] <= 0.95 * sends["metis"]


@pytest.mark.parametrize("plan", PLANS)
def test_a_block_needs_two_aggregators(plan):
    with pytest.raises(UserError, match="a block needs at least 2 aggregators, not 1"):
        PLANS[plan](star(4), 1)


def test_a_partitioner_that_there_is_not():
    with pytest.raises(UserError, match="partitioners are metis, mtkahypar, not scotch"):
        destination_plan(star(9), 3, partitioner="scotch")


def test_a_plan_of_another_graph_and_one_that_is_too_large():
    cut = star(5)
    built = destination_plan(cut, 2)
    with pytest.raises(UserError, match="the plan is of 8 edges, the cut graph has 12"):
        built.check_fits(ring(6))
    whole = Plan(
        kind="test",
        aggregators=4,
        block=np.zeros(cut.edges, np.int32),
        level=np.ones(1, np.int32),
    )
    with pytest.raises(UserError, match="block 0 has 5 destinations for 4 aggregators"):
        whole.check_fits(cut)
