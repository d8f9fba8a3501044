"""Checks partial sums and copies of aggregators: fewer cycles bound a plan, sums stay exact."""

import numpy as np
import pytest

from sim.switchgnn.bench import rows as bench
from sim.switchgnn.evaluation.execution import executed
from sim.switchgnn.golden.aggregation import aggregate
from sim.switchgnn.planning.banks import (
    COPIES,
    least_rows,
    packed,
    placed,
    rows_of,
    shortest_lists,
)
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.preparation import prepare
from sim.switchgnn.planning.quickest import bound_cycles, quickest
from sim.switchgnn.planning.senders import senders_of
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.workers import metis_workers
from tests.sim.switchgnn.cases import cut_of, graph, one_block, star

EIGHT = SwitchShape(ports=8, banks=8, depth=4096, lanes=128)
DENSE, SPARSE = "reddit:scale=0.05", "products:scale=0.05"


def test_copies_shorten_lists_to_a_tenth_above_the_shortest():
    senders = one_block(cut_of(DENSE, 8))
    result, banks = packed(senders, EIGHT)
    result.check()
    assert rows_of(result, banks).sum() <= 1.1 * least_rows(senders, 8)
    assert rows_of(result, banks).sum() < 0.9 * rows_of(senders, placed(senders, EIGHT)).sum()
    assert least_rows(result, 8) == least_rows(senders, 8)
    copies = np.bincount(result.aggregator_vertex)
    assert copies.max() == COPIES
    assert result.expected.sum() == senders.expected.sum()
    original = senders.aggregator_vertex[senders.aggregator]
    assert (result.aggregator_vertex[result.aggregator] == original).all()


@pytest.mark.parametrize("spare", [0, 1, 3, 40])
def test_copies_take_no_more_room_than_there_is(spare):
    senders = one_block(cut_of(DENSE, 8))
    depth = -(-(senders.aggregators + spare) // 8)
    full = SwitchShape(ports=8, banks=8, depth=depth, lanes=128)
    result, banks = packed(senders, full)
    assert result.aggregators <= full.aggregators
    assert np.bincount(banks.bank).max() <= depth


def test_a_dense_graph_is_bound_by_fewer_cycles_and_its_sums_are_exact():
    adjacency = graph(DENSE).adjacency
    workers = metis_workers(adjacency, 8)
    shape = SwitchShape(ports=8, banks=8, depth=64, lanes=4)
    plain, quick = (prepare(adjacency, workers, shape, [4], quick=each) for each in (False, True))
    assert plain.plan.blocks > 1
    assert quick.senders.partial.any()
    bounds = [
        bound_cycles(each.senders, rows_of(each.senders, each.banks), 8, 4)
        for each in (plain, quick)
    ]
    assert bounds[1] < 0.9 * bounds[0]
    features = np.random.default_rng(1).integers(-99, 99, (workers.owner.size, 4)).astype(np.int16)
    result = executed(quick.tables, adjacency, workers, features)
    assert (result == aggregate(adjacency, features)).all()


def test_a_plan_that_ports_bind_stays_as_it_is():
    cut = cut_of(SPARSE, 8)
    plan = destination_plan(cut, EIGHT.aggregators)
    senders, banks = quickest(cut, plan, EIGHT)
    assert not senders.partial.any()
    assert (banks.bank == placed(senders_of(cut, plan), EIGHT).bank).all()


def test_a_block_is_bound_by_its_rows_or_by_its_busiest_port():
    """A sum of 9 beats takes 11.5 cycles of a link of 100 Gb/s, which is longer than 6 rows."""
    senders = one_block(star(5))
    assert bound_cycles(senders, shortest_lists(senders, 2), 5, 128) == 11
    assert bound_cycles(senders, np.array([30, 1, 1, 1, 1]), 5, 128) == 34


def test_rows_of_all_plans_are_compared(monkeypatch):
    monkeypatch.setattr(bench, "WORKERS", (8,))
    result = {row.what: row for row in bench.rows(lambda text: None, (DENSE,))}
    assert len(result) == 6
    before, after = (
        result[f"{DENSE}, 8 workers, {plan}: rows / floor"].value for plan in ("plain", "quick")
    )
    assert after < 0.9 * before
    assert result[f"{DENSE}, 8 workers, quick: rows / least"].holds
