from itertools import product

import numpy as np
import pytest

from sim.netsparse.topology import NO_ROUTE, End, LeafSpine

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


def test_tables_lead_everywhere_the_shortest_path(cluster):
    tables = cluster.tables()
    cluster.check_symmetric(tables)
    for a, b in product(range(cluster.nodes), repeat=2):
        path = cluster.path(tables, cluster.rack(a), b)
        far, back = cluster.rack(a), cluster.rack(b)
        if far == back:
            assert path == [far]
        else:
            assert path == [far, cluster.racks + (far + back) % cluster.spines, back]


def test_all_uplinks_are_used():
    cluster = LeafSpine(racks=8, nodes_per_rack=16, spines=4)
    for tor in range(8):
        ports, racks = np.unique(cluster.tables()[tor], return_counts=True)
        assert [*ports] == list(range(20))
        assert max(racks[16:]) <= 2 * 16, "seven other racks over four spines"


@pytest.mark.parametrize(
    ("switch", "node", "port", "message"),
    [
        (1, 4, NO_ROUTE, "^ToR 1 has no route to node 4$"),
        (3, 0, NO_ROUTE, "^spine 0 has no route to node 0$"),
        (0, 1, 0, "^ToR 0 delivers packets for node 1 to node 0$"),
        (2, 5, 4, "^ToR 2 has no port 4, its route to node 5$"),
        (2, 5, 3, "^packets for node 5 go round: ToR 2, spine 1, ToR 2$"),
        (
            0,
            2,
            2,
            "^racks 0 and 1: packets from node 0 to node 2 go ToR 0 - spine 0 - ToR 1, but back",
        ),
    ],
)
def test_wrong_tables_are_detected(switch, node, port, message):
    """One entry is wrong at a time: a hole, another node, no such port, a loop, unequal ways."""
    tables = SMALL.tables()
    tables[switch, node] = port
    with pytest.raises(ValueError, match=message):
        SMALL.check_symmetric(tables)


def test_both_directions_may_change_together():
    """Any spine will do for a pair of racks, if both use it."""
    tables = SMALL.tables()
    tables[0, 2:4] = tables[1, 0:2] = 2
    SMALL.check_symmetric(tables)


def test_tables_of_another_cluster_are_refused():
    with pytest.raises(ValueError, match="must be of 5 switches and 6 nodes: 1 x 2"):
        SMALL.check_symmetric(LeafSpine().tables())


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
