"""Checks the tables bit by bit, and what does not fit a switch."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gen.base.errors import UserError
from sim.switchgnn.planning.banks import BankPlacement
from sim.switchgnn.planning.cut import cut_graph
from sim.switchgnn.planning.orders import ordered
from sim.switchgnn.planning.preparation import prepare
from sim.switchgnn.planning.shape import SHAPES, SwitchShape
from sim.switchgnn.planning.tables import FEATURE, PARTIAL, tables, turn_program
from sim.switchgnn.planning.workers import metis_workers, provided_workers
from tests.sim.switchgnn.cases import graph, one_block, star

TWO = SwitchShape(ports=4, banks=2, depth=4, lanes=2)


def test_a_star_in_two_banks():
    """Vertex 0 is added to 1, 2 and 3, in banks 1, 0 and 1; each of them is added to 0."""
    cut = star(4)
    senders = one_block(cut)
    bank, index = np.array([0, 1, 0, 1], np.int32), np.array([0, 0, 1, 1], np.int32)
    placement = BankPlacement(banks=2, bank=bank, index=index)
    built = tables(cut, senders, ordered(senders, "degree"), placement, TWO, [5])
    assert built.rows.tolist() == [[0x8001, 0x8000], [0, 0x8001], *[[0x8000, 0]] * 3]
    assert built.descriptors.tolist() == [[3, 1 << 16 | 1], [2 << 16 | 1, 3 << 16 | 1]]
    assert built.result_vertex.tolist() == [[0, 1], [2, 3]]
    assert built.descriptor_first.tolist() == [0, 2]
    assert built.program.tolist() == [[0, 3]]
    assert built.packet_first.tolist() == [0, 1, 2, 3, 4]
    assert built.packet_list.tolist() == [0, 2, 3, 4]
    assert built.packet_rows.tolist() == [2, 1, 1, 1]
    assert built.summand.tolist() == [0, 1, 2, 3]


def test_a_partial_names_its_aggregator():
    """Worker 0 owns the hub's neighbours 1 and 2, worker 1 the hub and worker 2 its third."""
    adjacency = np.zeros((4, 4), np.int8)
    adjacency[0, 1:] = 1
    built = prepare(
        csr_array(adjacency),
        provided_workers([1, 0, 0, 2], 4, 3),
        SHAPES["tiny"],
        [2],
        theta=2,
    ).tables
    assert built.packet_kind.tolist() == [PARTIAL, FEATURE]
    assert built.packet_rows.tolist() == [0, 1]
    at = divmod(int(built.packet_list[0]), built.banks)
    assert built.result_vertex[at] == 0
    assert built.descriptors[at] == 1 << 16 | 2
    assert built.summand.tolist() == [1, 2, 3]
    assert built.summand_first.tolist() == [0, 2, 3]


def test_a_turn_program_has_a_step_for_each_block_and_joins_equal_ones():
    assert turn_program(1, TWO, [4, 1, 3]).tolist() == [[0, 5]]
    assert turn_program(2, TWO, [4, 1]).tolist() == [[0, 2], [1, 2], [0, 1], [1, 1]]
    assert len(turn_program(256, TWO, [4])) == 256
    with pytest.raises(UserError, match="257 blocks in 1 aggregations are 257 steps, a turn pro"):
        turn_program(257, TWO, [4])
    for widths in ([], [4, 0]):
        with pytest.raises(UserError, match="an aggregation has at least 1 feature"):
            turn_program(1, TWO, widths)


def shape(**changes):
    return SwitchShape(**{"ports": 4, "banks": 4, "depth": 128, "lanes": 32, **changes})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ports": 3}, "4 workers need 4 ports, the switch has 3"),
        ({"rows": 400}, "rows of 4 entries, the switch's memory holds 400"),
        ({"descriptor_rows": 98}, "99 rows of 4 descriptors, the switch's memory holds 98"),
        ({"depth": 0}, "a bank has 1 to 32768 aggregators, not 0"),
        ({"depth": 1 << 16}, "a bank has 1 to 32768 aggregators, not 65536"),
        ({"banks": 1, "depth": 1}, "a turn needs at least 2 aggregators, has 1"),
        ({"open_turns": 3}, "1 or 2 turns are open, not 3"),
        ({"banks": 0}, "a switch has at least 1 bank, not 0"),
        ({"lanes": 0}, "a packet has at least 1 feature, not 0"),
        ({"ports": 1}, "a switch has 2 to 65536 ports, not 1"),
        ({"ports": 65537}, "a switch has 2 to 65536 ports, not 65537"),
    ],
)
def test_what_a_switch_does_not_hold(wrong, message):
    adjacency = graph("digits").adjacency
    with pytest.raises(UserError, match=message):
        prepare(adjacency, metis_workers(adjacency, 4), shape(**wrong), [32])


def test_a_plan_that_there_is_not():
    adjacency = graph("digits").adjacency
    with pytest.raises(UserError, match="plans are destinations, multi-level, not best"):
        prepare(adjacency, metis_workers(adjacency, 4), shape(), [32], plan="best")


def test_a_list_has_as_many_rows_as_a_frame_can_say():
    leaves = 1 << 16
    ones = np.ones(leaves, np.int8)
    out_of = (np.arange(1, leaves + 1), np.zeros(leaves, int))
    adjacency = csr_array((ones, out_of), (leaves + 1, leaves + 1))
    workers = provided_workers((np.arange(leaves + 1) > 0).astype(int), leaves + 1, 2)
    cut = cut_graph(adjacency, workers)
    senders = one_block(cut)
    place = np.arange(senders.aggregators, dtype=np.int32)
    placement = BankPlacement(banks=1, bank=np.zeros_like(place), index=place)
    large = SwitchShape(ports=2, banks=1, depth=1 << 15, lanes=1)
    with pytest.raises(UserError, match="a list has 65536 rows, a frame says 65535 at most"):
        tables(cut, senders, ordered(senders, "degree"), placement, large, [1])
