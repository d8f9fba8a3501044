"""Checks aggregations by the golden switch: all are exact, whatever links do."""

import numpy as np
import pytest

from gen.base.errors import UserError
from sim.switchgnn.gcn.aggregator import COUNTERS, ExactAggregator
from sim.switchgnn.gcn.golden_aggregator import EPOCHS, GoldenAggregator, Planner, SwitchSetup
from sim.switchgnn.links import Faults
from sim.switchgnn.planning.orders import ORDERS
from sim.switchgnn.planning.preparation import PLANS
from sim.switchgnn.planning.shape import SwitchShape
from tests.sim.switchgnn.cases import bytes_of_slice
from tests.sim.switchgnn.gcn.cases import PARTITION, VERTICES, problem

BAD = Faults(drop=0.3, duplicate=0.3, reorder=0.3, corrupt=0.03)
WIDTHS = [9, 2, 5]  #: in slices of 4 lanes


def built(adjacency, open_turns=1, **settings):
    shape = SwitchShape(ports=4, banks=2, depth=8 * open_turns, lanes=4, open_turns=open_turns)
    setup = SwitchSetup(shape=shape, window=3, **settings)
    return GoldenAggregator(adjacency, PARTITION, WIDTHS, Planner(setup))


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("open_turns", [1, 2])
def test_bad_links_change_no_sum(rng, plan, open_turns):
    adjacency = problem(is_directed=True).adjacency
    aggregator = built(
        adjacency, open_turns, plan=plan, faults=BAD, seed=int(rng.integers(1 << 31))
    )
    aggregator.epoch = EPOCHS - 2
    exact = ExactAggregator(adjacency, PARTITION)
    for epoch, width in zip([EPOCHS - 1, 0, 1, 2], [*WIDTHS, WIDTHS[0]], strict=True):
        features = rng.integers(-(1 << 15), 1 << 15, (VERTICES, width)).astype(np.int16)
        assert (aggregator.aggregate(features) == exact.aggregate(features)).all()
        # Of the job: late frames of one run are refused in the next.
        assert aggregator.switches["switch"].table.active[0].epoch == epoch
    assert aggregator.counts["repeats"] > 0
    assert all(aggregator.links.counts[name] for name in ("drop", "duplicate", "reorder"))


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_counted_on_good_links(order):
    adjacency = problem().adjacency
    aggregator = built(adjacency, order=order)
    features = np.ones((VERTICES, 9), np.int16)
    aggregator.aggregate(features)
    first = aggregator.counts
    job = aggregator.jobs[9]
    slices = 3
    assert set(first) == set(COUNTERS)
    assert first["turns"] == job.tables.program[:, 1].sum() == slices * job.tables.blocks
    assert first["additions"] == slices * ExactAggregator(adjacency, PARTITION).between.nnz
    assert first["rows"] == slices * len(job.tables.rows)
    assert first["repeats"] == 0
    assert first["frames"] > 2 * slices * job.tables.packet_kind.size
    assert first["planned_bytes"] == slices * bytes_of_slice(job.tables) < first["bytes"]
    assert first["lost"] == 0
    aggregator.aggregate(features)
    assert aggregator.counts == {name: 2 * count for name, count in first.items()}


def test_each_rack_has_lists_of_its_own():
    """Fewer rows are needed than of one switch; what is left out is said."""

    def rows(count):
        shape = SwitchShape(ports=4, banks=2, depth=8, lanes=4, rows=count)
        planner = Planner(SwitchSetup(shape=shape, window=3, racks=2, spines=2))
        jobs = planner.jobs(problem().adjacency, PARTITION, WIDTHS)
        return [len(leaf.tables.rows) for leaf in jobs[WIDTHS[0]].leaves]

    needed = rows(4096)
    assert rows(max(needed)) == needed
    with pytest.raises(UserError, match=rf"a rack have {max(needed)} rows .* {max(needed) - 1}$"):
        rows(max(needed) - 1)


def test_tables_that_do_not_fit_say_so():
    shape = SwitchShape(ports=4, banks=2, depth=8, lanes=4, rows=10)
    planner = Planner(SwitchSetup(shape=shape, window=3))
    with pytest.raises(UserError, match=r"the lists have \d+ rows of 2 entries.* holds 10"):
        GoldenAggregator(problem().adjacency, PARTITION, WIDTHS, planner)
