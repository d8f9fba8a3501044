"""Checks partial sums and copies of aggregators: fewer cycles bound a plan, sums stay exact."""

import numpy as np
import pytest

from sim.switchgnn.bench.plan import list_rows
from sim.switchgnn.evaluation.execution import executed
from sim.switchgnn.evaluation.frames import BEAT, LINK, FrameSizes, traffic_of
from sim.switchgnn.golden.aggregation import aggregate
from sim.switchgnn.planning.banks import COPIES, least_rows, packed, placed, rows_of
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.preparation import prepare
from sim.switchgnn.planning.quickest import bound_cycles, quickest
from sim.switchgnn.planning.senders import senders_of
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.workers import metis_workers
from tests.sim.switchgnn.cases import cut_of, graph, one_block

DENSE, SPARSE = "reddit:scale=0.05", "products:scale=0.05"


def eight(depth, lanes=128):
    return SwitchShape(ports=8, banks=8, depth=depth, lanes=lanes)


@pytest.mark.parametrize("spare", [0, 1, 40, 10_000])
def test_copies_shorten_lists_and_take_no_more_room_than_there_is(spare):
    senders = one_block(cut_of(DENSE, 8))
    shape = eight(-(-(senders.aggregators + spare) // 8))
    result, banks = packed(senders, shape)
    result.check()
    assert np.bincount(banks.bank).max() <= shape.depth
    assert least_rows(result, 8) == least_rows(senders, 8)
    original = senders.aggregator_vertex[senders.aggregator]
    assert (result.aggregator_vertex[result.aggregator] == original).all()
    if spare > 1000:
        assert np.bincount(result.aggregator_vertex).max() == COPIES
        assert rows_of(result, banks).sum() <= 1.1 * least_rows(senders, 8)
        assert rows_of(result, banks).sum() < 0.9 * rows_of(senders, placed(senders, shape)).sum()


def test_a_dense_graph_is_bound_by_fewer_cycles_and_its_sums_are_exact():
    adjacency = graph(DENSE).adjacency
    workers = metis_workers(adjacency, 8)
    plans = [prepare(adjacency, workers, eight(64, 4), [4], quick=each) for each in (False, True)]
    plain, quick = (bound_cycles(p.senders, rows_of(p.senders, p.banks), 8, 4) for p in plans)
    assert quick < 0.9 * plain
    assert plans[1].plan.blocks > 1
    assert plans[1].senders.partial.any()
    features = np.random.default_rng(1).integers(-99, 99, (workers.owner.size, 4)).astype(np.int16)
    result = executed(plans[1].tables, adjacency, workers, features)
    assert (result == aggregate(adjacency, features)).all()


def test_a_plan_that_ports_bind_stays_as_it_is():
    cut, shape = cut_of(SPARSE, 8), eight(4096)
    plan = destination_plan(cut, shape.aggregators)
    senders, banks = quickest(cut, plan, shape)
    assert not senders.partial.any()
    busiest = traffic_of(senders, 8).busiest(FrameSizes.of(128))
    assert bound_cycles(senders, rows_of(senders, banks), 8, 128) == int(busiest / BEAT / LINK)
    assert (banks.bank == placed(senders_of(cut, plan), shape).bank).all()


def test_rows_of_all_plans_are_compared():
    plain, _, _, quick, least, _ = list_rows(lambda text: None, [DENSE], [8])
    assert quick.what == f"{DENSE}, 8 workers, quick: rows / floor"
    assert quick.value < 0.9 * plain.value
    assert (least.holds, str(least.limit)) == (True, "at most 1.1")
