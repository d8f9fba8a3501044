from itertools import product

import numpy as np
import pytest

from sim.netsparse.host.switch.routing import check_routes, way
from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.topology import End, LeafSpine

SIZES = [(1, 2, 0), (1, 16, 0), (2, 1, 1), (2, 4, 1), (3, 2, 2), (4, 4, 3), (8, 16, 16)]
SMALL = LeafSpine(racks=3, nodes_per_rack=2, spines=2)


@pytest.fixture(params=SIZES, ids=str)
def cluster(request):
    racks, nodes, spines = request.param
    return LeafSpine(racks=racks, nodes_per_rack=nodes, spines=spines)


def test_numbering():
    """It follows the drawing of 3 racks of 2 nodes, 2 spines; a spine's port r leads to rack r."""
    assert (SMALL.nodes, SMALL.switches, SMALL.tor_ports, SMALL.spine_ports) == (6, 5, 4, 3)
    assert [SMALL.rack(node) for node in range(6)] == [0, 0, 1, 1, 2, 2]
    assert [SMALL.neighbour(1, port) for port in range(4)] == [
        End(2),
        End(3),
        End(3, 1),
        End(4, 1),
    ]
    assert [SMALL.neighbour(4, port) for port in range(3)] == [End(0, 3), End(1, 3), End(2, 3)]
    assert [[*SMALL.uplinks(switch)] for switch in range(5)] == [[2, 3]] * 3 + [[], []]
    assert [SMALL.link_name(link) for link in (0, 1, 4, 5)] == [
        "node 0 -> ToR 0",
        "ToR 0 -> node 0",
        "ToR 0 -> spine 0",
        "spine 0 -> ToR 0",
    ]


def test_every_port_has_a_link_in_each_direction(cluster):
    ends = {End(node) for node in range(cluster.nodes)}
    ends |= {
        End(switch, port)
        for switch in range(cluster.switches)
        for port in range(cluster.ports(switch))
    }
    assert sorted(map(str, ends)) == sorted(str(wire.source) for wire in cluster.links)
    assert sorted(map(str, ends)) == sorted(str(wire.target) for wire in cluster.links)
    for up, down in zip(cluster.links[::2], cluster.links[1::2], strict=True):
        assert (up.source, up.target) == (down.target, down.source)
        if up.source.port is None:
            assert cluster.links[cluster.link_of(up.source.index)] is up
        else:
            assert cluster.neighbour(up.source.index, up.source.port) == up.target


@pytest.mark.parametrize("choice", SpineChoice)
def test_responses_return_by_the_spine_that_the_rule_names(cluster, choice):
    tables = cluster.tables(choice)
    routes = [dict(enumerate(row)) for row in tables.tolist()]
    responses = cluster.response_routes(choice)
    check_routes(routes, cluster.ends, responses)
    for a, b in product(range(cluster.nodes), repeat=2):
        near, home = cluster.rack(a), cluster.rack(b)
        port = way(near, b, routes, cluster.ends)[0][1]
        if near != home:
            spine = (near + home if choice is SpineChoice.RACKS else b) % cluster.spines
            assert port == cluster.nodes_per_rack + spine


@pytest.mark.parametrize(("choice", "most"), [("racks", 2 * 16), ("home", 7 * 16 / 4)])
def test_all_uplinks_are_used(choice, most):
    """Seven other racks share four spines: by racks two of these share one, by nodes none."""
    cluster = LeafSpine(racks=8, nodes_per_rack=16, spines=4)
    for tor in range(8):
        ports, racks = np.unique(cluster.tables(SpineChoice(choice))[tor], return_counts=True)
        assert [*ports] == list(range(20))
        assert max(racks[16:]) <= most


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 2, 0), "at least 1: 0 x 2"),
        ((2, 0, 1), "at least 1: 2 x 0"),
        ((1, 1, 0), "at least 2 nodes"),
        ((1, 2, 1), "spines must be 0 with one rack, else at least 1: 1 with 1 racks"),
        ((2, 2, 0), "spines must be 0 with one rack, else at least 1: 0 with 2 racks"),
        ((2, 2, -1), "spines must be"),
    ],
)
def test_rejects(sizes, message):
    racks, nodes, spines = sizes
    with pytest.raises(ValueError, match=message):
        LeafSpine(racks=racks, nodes_per_rack=nodes, spines=spines)
