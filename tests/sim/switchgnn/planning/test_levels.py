"""Checks the tables of leaves and of the spine above them."""

import re

import numpy as np
import pytest

from gen.base.errors import UserError
from sim.switchgnn.planning.levels import levels
from sim.switchgnn.planning.preparation import prepare
from sim.switchgnn.planning.shape import SwitchShape
from sim.switchgnn.planning.tables import FEATURE, PORT_SHIFT, VALID
from tests.sim.switchgnn.cases import directed

SHAPE = SwitchShape(ports=4, banks=2, depth=8, lanes=4)
RACK = [0, 1, 0, 1]
EXPECTED = (1 << PORT_SHIFT) - 1


@pytest.fixture(scope="module")
def built():
    return prepare(*directed(vertices=40, edges=160, workers=4), SHAPE, [5], theta=2)


def additions(tables, block):
    """Return additions that packets make to each aggregator of a block: [descriptor rows, P]."""
    first, end = tables.descriptor_first[block : block + 2]
    count = np.zeros((end - first, tables.banks), int)
    groups = np.arange(tables.workers) * tables.blocks + block
    for group in groups:
        for packet in range(*tables.packet_first[group : group + 2]):
            begin = int(tables.packet_list[packet])
            if tables.packet_kind[packet] != FEATURE:
                count[divmod(begin, tables.banks)] += 1
                continue
            for row in tables.rows[begin : begin + tables.packet_rows[packet]]:
                for bank in np.flatnonzero(row & VALID):
                    count[row[bank] & VALID - 1, bank] += 1
    return count


@pytest.mark.parametrize("spines", [1, 2])
def test_every_switch_gets_what_its_tables_expect(built, spines):
    """An aggregator is complete just when all have sent what they have for it."""
    planned = levels(built, RACK, 4, spines)
    tables = built.tables
    for block in range(tables.blocks):
        rows = slice(*tables.descriptor_first[block : block + 2])
        single = tables.descriptors[rows].astype(int)
        downwards = [spine.descriptors[rows].astype(int) & EXPECTED for spine in planned.spines]
        upwards = [np.zeros_like(single) for _ in planned.spines]
        home = [spine.descriptors[rows] >> PORT_SHIFT for spine in planned.spines]
        total = np.zeros_like(single)
        for k, leaf in enumerate(planned.leaves):
            count = additions(leaf, block)
            expected, port = np.divmod(leaf.descriptors[rows].astype(int), 1 << PORT_SHIFT)[::-1]
            for s, down in enumerate(downwards):
                upwards[s] += (port == planned.up + s) & (expected > 0)
                count += (home[s] == k) & (down > 0)
            assert np.array_equal(expected, count)
            total += count
        assert np.array_equal(downwards, upwards)
        total -= np.sum(np.array(downwards) > 0, axis=0)
        sums = [(down > 0).sum() for down in downwards]
        assert max(sums) - min(sums) <= 1
        assert np.array_equal(total, single & EXPECTED)


def test_results_go_to_the_worker_that_has_the_vertex(built):
    planned = levels(built, RACK, 4)
    result = [leaf.result_vertex for leaf in planned.leaves]
    assert np.array_equal(np.maximum(*result), built.tables.result_vertex)
    assert (np.minimum(*result) == -1).all()
    for workers, leaf in zip(planned.workers, planned.leaves, strict=True):
        at = leaf.result_vertex >= 0
        owner = built.workers.owner[leaf.result_vertex[at]]
        assert np.array_equal(workers[leaf.descriptors[at] >> PORT_SHIFT], owner)


def test_is_the_same_again(built):
    first, second = levels(built, RACK, 4), levels(built, RACK, 4)
    each = ([*item.leaves, *item.spines] for item in (first, second))
    for this, that in zip(*each, strict=True):
        for name, value in vars(this).items():
            assert np.array_equal(value, getattr(that, name)), name


@pytest.mark.parametrize(
    ("rack", "ports", "words"),
    [
        ([0, 1, 0], 4, "there must be a rack, a number from 0 on, for each of 4 workers"),
        ([0, 1, 0, -1], 4, "there must be a rack, a number from 0 on, for each of 4 workers"),
        ([0, 0, 0, 0], 8, "there are 2 racks or more, and none without workers: 4"),
        ([0, 2, 0, 2], 4, "there are 2 racks or more, and none without workers: 2, 0, 2"),
        ([0, 1, 0, 0], 3, "rack 0 has 3 workers, and its leaf 3 ports, of which 1 must lead to"),
    ],
)
def test_racks_that_are_none(built, rack, ports, words):
    with pytest.raises(UserError, match=re.escape(words)):
        levels(built, rack, ports)
