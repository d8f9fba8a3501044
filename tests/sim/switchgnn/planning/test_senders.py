import pytest

from gen.base.errors import UserError
from sim.switchgnn.planning.cut import cut_graph
from sim.switchgnn.planning.destinations import destination_plan
from sim.switchgnn.planning.multilevel import multilevel_plan
from sim.switchgnn.planning.senders import senders_of
from tests.sim.switchgnn.cases import directed


def required(cut, plan, theta):
    """Return a plan's packets and additions by edges: {(block, worker, vertex, is a sum)}."""
    groups = {}
    for edge in range(cut.edges):
        source, destination = int(cut.sources[edge]), int(cut.destinations[edge])
        key = int(plan.block[edge]), int(cut.worker[source]), destination
        groups.setdefault(key, []).append(source)
    packets, additions = set(), set()
    for (block, worker, destination), sources in groups.items():
        summed = theta and len(sources) >= theta
        for vertex in [destination] if summed else sources:
            packet = block, worker, vertex, bool(summed)
            packets.add(packet)
            additions.add((packet, destination))
    return packets, additions


@pytest.mark.parametrize("theta", [0, 2, 3, 100])
@pytest.mark.parametrize("make", [destination_plan, multilevel_plan])
def test_packets_and_additions_are_those_of_the_edges(make, theta):
    cut = cut_graph(*directed())
    plan = make(cut, 20)
    built = senders_of(cut, plan, theta)
    columns = (built.block, built.worker, built.vertex, built.partial)
    result = list(zip(*(column.tolist() for column in columns), strict=True))
    packets, additions = required(cut, plan, theta)
    assert len(result) == len(packets)
    assert set(result) == packets
    sender, aggregator = built.additions
    ends = built.aggregator_vertex[aggregator].tolist()
    assert {(result[s], d) for s, d in zip(sender.tolist(), ends, strict=True)} == additions
    assert built.expected.sum() == len(additions)
    assert (built.aggregator_worker == cut.worker[built.aggregator_vertex]).all()


def test_theta_of_one_is_none():
    cut = cut_graph(*directed())
    with pytest.raises(UserError, match="theta is 0 or at least 2, not 1"):
        senders_of(cut, destination_plan(cut, 20), 1)
