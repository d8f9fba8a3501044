"""Compares links of leaves and spines with counts of every packet by itself."""

import numpy as np
import pytest

from sim.switchgnn.evaluation.baselines import raw_multicast
from sim.switchgnn.evaluation.racks import (
    RackTraffic,
    hosts_alone,
    plan_in_racks,
    racks_of,
    strawman_in_racks,
)
from sim.switchgnn.planning.cut import cut_graph
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.senders import senders_of
from tests.sim.switchgnn.cases import cut_of, directed, star

RACK = racks_of(8, 4)


def edges_of(cut):
    return list(zip(cut.sources.tolist(), cut.destinations.tolist(), strict=True))


def crossing(keys, racks):
    """Return what each rack sends to others: (what, sending rack, receiving rack)."""
    result = np.zeros((2, racks), int)
    for _, sender, receiver in keys:
        if sender != receiver:
            result[0, sender] += 1
            result[1, receiver] += 1
    return result.tolist()


def test_racks_have_as_many_workers():
    assert racks_of(8, 4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert np.bincount(racks_of(128, 8)).tolist() == [16] * 8


def test_hosts_send_each_worker_a_copy():
    cut = cut_of("digits", 8)
    copies = {(u, int(cut.worker[v])) for u, v in edges_of(cut)}
    built = hosts_alone(cut, RACK)
    ways = [(u, RACK[cut.worker[u]], RACK[worker]) for u, worker in copies]
    assert [built.out[0].tolist(), built.into[0].tolist()] == crossing(ways, 4)
    assert built.packets["host to leaf"] == built.packets["leaf to host"] == len(copies)


@pytest.mark.parametrize("aggregators", [30, 10_000])
def test_leaves_send_a_sum_for_each_destination_and_block(aggregators):
    cut = cut_of("digits", 8)
    plan = destination_plan(cut, aggregators)
    built = plan_in_racks(cut, plan, senders_of(cut, plan), RACK, cover=False)
    assert built.out.shape == (plan.blocks, 4)
    for block in range(plan.blocks):
        sums = {
            (v, RACK[cut.worker[u]], RACK[cut.worker[v]])
            for (u, v), of in zip(edges_of(cut), plan.block, strict=True)
            if of == block
        }
        assert [built.out[block].tolist(), built.into[block].tolist()] == crossing(sums, 4)
    covered = plan_in_racks(cut, plan, senders_of(cut, plan), RACK, cover=True)
    assert (covered.out.sum(1) <= built.out.sum(1)).all()
    assert covered.packets["leaf to spine"] < built.packets["leaf to spine"]
    assert covered.packets["host to leaf"] == built.packets["host to leaf"]


def test_a_cover_copies_a_hub_and_sums_for_it():
    """The hub's rack sends one copy to each other rack, and these send one sum each."""
    cut = star(8)
    plan = destination_plan(cut, 8)
    built = plan_in_racks(cut, plan, senders_of(cut, plan), RACK, cover=True)
    assert built.out.tolist() == built.into.tolist() == [[3, 1, 1, 1]]
    sums = plan_in_racks(cut, plan, senders_of(cut, plan), RACK, cover=False)
    assert sums.out.tolist() == [[6, 1, 1, 1]]


def test_a_strawman_without_aggregators_is_multicast_and_switchgnn_with_enough():
    cut = cut_of("digits", 8)
    plan = destination_plan(cut, cut.n)
    own = plan_in_racks(cut, plan, senders_of(cut, plan), RACK, cover=False)
    empty, enough = (strawman_in_racks(cut, RACK, count) for count in (0, cut.n))
    copies = {(u, RACK[cut.worker[u]], RACK[cut.worker[v]]) for u, v in edges_of(cut)}
    assert [empty.out[0].tolist(), empty.into[0].tolist()] == crossing(copies, 4)
    assert empty.down.tolist() == raw_multicast(cut).raws.tolist()
    assert enough.out.tolist() == own.out.tolist()
    assert enough.up.tolist() == empty.up.tolist() == own.up.tolist()


def test_a_strawman_passes_on_what_its_leaf_has_no_aggregator_for():
    """If a destination has no sum at home, those of other racks go on to its worker."""
    cut = cut_graph(*directed(edges=80, workers=4))
    rack = np.arange(4)
    most = strawman_in_racks(cut, rack, cut.n)
    home = {(v, rack[cut.worker[v]]) for u, v in edges_of(cut)}
    summed = {(v, rack[cut.worker[u]]) for u, v in edges_of(cut)}
    down = sum(1 for each in home if each in summed)
    down += sum(
        1
        for v, sender in summed
        for each, at in home
        if v == each and sender != at and (v, at) not in summed
    )
    assert most.packets["leaf to host"] == down


def test_a_strawman_with_few_aggregators_sends_hosts_more():
    cut = cut_of("digits", 8)
    most, few = (strawman_in_racks(cut, RACK, count).packets for count in (cut.n, 20))
    assert few["leaf to host"] > most["leaf to host"]


def test_slots_are_of_the_busiest_link_of_each_block():
    hosts = np.array([[4, 0], [0, 4]])
    built = RackTraffic(up=hosts, out=np.array([[20, 0], [2, 2]]), into=hosts, down=hosts)
    assert built.slots(4) == 5 + 4
    assert built.together().slots(4) == 22 / 4
    assert built.mean_slots(4) == 4
    assert built.bottleneck(4) == "host to leaf"
    assert built.bottleneck(1) == "leaf to spine"
    assert built.packets == {
        "host to leaf": 8,
        "leaf to spine": 24,
        "spine to leaf": 8,
        "leaf to host": 8,
    }
