import numpy as np

from sim.switchgnn.planning.banks import least_rows, placed, rows_of
from sim.switchgnn.planning.cut import cut_graph
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.senders import senders_of
from sim.switchgnn.planning.shape import SwitchShape
from tests.sim.switchgnn.cases import cut_of, directed, one_block


def plain_rows(senders, placement):
    longest = {}
    for sender, aggregator in zip(*(each.tolist() for each in senders.additions), strict=True):
        column = longest.setdefault(sender, {})
        bank = int(placement.bank[aggregator])
        column[bank] = column.get(bank, 0) + 1
    return [max(longest[sender].values()) for sender in range(senders.count)]


def test_every_aggregator_has_a_place_of_its_own_within_the_banks():
    cut = cut_graph(*directed())
    shape = SwitchShape(ports=3, banks=3, depth=6, lanes=4, open_turns=2)
    senders = senders_of(cut, destination_plan(cut, shape.aggregators))
    built = placed(senders, shape)
    where = list(zip(senders.aggregator_block, built.bank, built.index, strict=True))
    assert len(set(where)) == senders.aggregators
    assert built.bank.max() < 3
    assert built.index.max() < 3
    assert rows_of(senders, built).tolist() == plain_rows(senders, built)
    assert rows_of(senders, built).sum() >= least_rows(senders, 3)


def test_one_bank_has_a_row_for_each_addition():
    senders = one_block(cut_of("digits", 4))
    item = SwitchShape(ports=4, banks=1, depth=512, lanes=32)
    assert rows_of(senders, placed(senders, item)).sum() == 900
    assert least_rows(senders, 1) == 900
    assert np.bincount(placed(senders, item).bank).tolist() == [394]


def test_a_full_bank_takes_no_more():
    adjacency, workers = directed(vertices=30, edges=209, seed=149)
    senders = one_block(cut_graph(adjacency, workers))
    full = SwitchShape(ports=3, banks=5, depth=senders.aggregators // 5, lanes=2)
    assert full.aggregators == senders.aggregators
    assert set(np.bincount(placed(senders, full).bank)) == {full.depth}
