"""Checks that the tables make Y = A X for every plan, order and partition; wrong ones are found."""

from dataclasses import replace

import numpy as np
import pytest

from sim.switchgnn.evaluation.execution import WrongTableError, executed
from sim.switchgnn.golden.aggregation import aggregate
from sim.switchgnn.planning.orders import ORDERS
from sim.switchgnn.planning.preparation import PLANS, prepare
from sim.switchgnn.planning.shape import SHAPES, SwitchShape
from sim.switchgnn.planning.tables import VALID
from sim.switchgnn.planning.workers import metis_workers, provided_workers
from tests.sim.switchgnn.cases import directed, graph

WIDTHS = [5, 2]


def drawn(vertices, width, seed=1):
    """Draw features, of which every third is an extreme."""
    built = np.random.default_rng(seed).integers(-(1 << 15), 1 << 15, (vertices, width))
    built.flat[::3] = -(1 << 15)
    return built.astype(np.int16)


@pytest.mark.parametrize("theta", [0, 2])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("plan", PLANS)
def test_a_directed_graph_on_a_tiny_switch(plan, order, theta):
    adjacency, workers = directed()
    shape = replace(SHAPES["tiny"], open_turns=2)
    built = prepare(adjacency, workers, shape, WIDTHS, plan=plan, order=order, theta=theta)
    assert built.plan.blocks > 2
    for aggregation, width in enumerate(WIDTHS):
        features = drawn(60, width)
        result = executed(built.tables, adjacency, workers, features, aggregation)
        np.testing.assert_array_equal(result, aggregate(adjacency, features))


@pytest.mark.parametrize("plan", PLANS)
def test_digits_on_any_partition(plan):
    adjacency = graph("digits").adjacency
    rng = np.random.default_rng(2)
    partitions = [
        metis_workers(adjacency, 4),
        provided_workers(rng.integers(0, 4, 1797), 1797, 4),
        provided_workers(np.minimum(np.arange(1797), 3), 1797, 4),
    ]
    features = drawn(1797, 40)
    shape = SwitchShape(ports=4, banks=8, depth=64, lanes=32)
    for workers in partitions:
        built = prepare(adjacency, workers, shape, [40], plan=plan).tables
        result = executed(built, adjacency, workers, features)
        np.testing.assert_array_equal(result, aggregate(adjacency, features))


def test_a_wrong_table_is_detected():
    adjacency, workers = directed()
    built = prepare(adjacency, workers, SHAPES["tiny"], WIDTHS, theta=2).tables
    features = drawn(60, 5)
    row, bank = np.argwhere(built.rows & VALID)[0]
    changes = {
        "expects": ("rows", (row, bank), 0),
        "expects|twice|without": ("rows", (row, bank), built.rows[row, bank] ^ 1),
        "without": ("rows", (row, bank), VALID | 0x7FFF),
        "another port": ("descriptors", (0, 0), built.descriptors[0, 0] ^ 1 << 16),
        "expects ": ("descriptors", (0, 0), built.descriptors[0, 0] + 1),
        "than its vertex": ("result_vertex", (0, 0), -1),
    }
    for message, (name, at, value) in changes.items():
        wrong = getattr(built, name).copy()
        wrong[at] = value
        with pytest.raises(WrongTableError, match=message):
            executed(replace(built, **{name: wrong}), adjacency, workers, features)
    with pytest.raises(ValueError, match="the aggregation is of 5 features, not 4"):
        executed(built, adjacency, workers, features[:, :4])
