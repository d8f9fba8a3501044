from collections import Counter
from itertools import product

import numpy as np
import pytest

from sim.netsparse.dragonfly import Dragonfly
from sim.netsparse.host.switch.routing import check_routes, way
from sim.netsparse.hyperx import HyperX
from sim.netsparse.leaf_spine import LeafSpine
from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.topologies import topology_of
from sim.netsparse.topology import End

SIZES = [(1, 2, 0), (1, 16, 0), (2, 1, 1), (2, 4, 1), (3, 2, 2), (4, 4, 3), (8, 16, 16)]
SMALL = LeafSpine(racks=3, nodes_per_rack=2, spines=2)
LEAF_SPINES = [
    LeafSpine(racks=racks, nodes_per_rack=nodes, spines=spines) for racks, nodes, spines in SIZES
]
GRIDS = [
    HyperX(sizes=(2,), nodes_per_rack=1),
    HyperX(sizes=(3, 2), nodes_per_rack=2, width=2),
    HyperX(sizes=(2, 3, 2), nodes_per_rack=3, width=2),
    HyperX(sizes=(4, 4, 2), nodes_per_rack=4, width=4),
]
DRAGONFLIES = [
    Dragonfly(groups=2, group=1, nodes_per_rack=1, links_between=2),
    Dragonfly(groups=3, group=2, nodes_per_rack=2, links_between=4),
    Dragonfly(groups=4, group=8, nodes_per_rack=4, links_between=16),
]


def name_of(cluster):
    return cluster.suffix


@pytest.fixture(params=[*LEAF_SPINES, *GRIDS, *DRAGONFLIES], ids=name_of)
def cluster(request):
    return request.param


def judged(cluster, choice=SpineChoice.HOME):
    """Return the routes of reads, once the host's software has judged them and all others."""
    routes = [dict(enumerate(row)) for row in cluster.tables(choice).tolist()]
    hits = cluster.hit_routes()
    check_routes(routes, cluster.ends, cluster.response_routes(choice), hits)
    return routes


def test_numbering():
    """It follows the drawing of 3 racks of 2 nodes, 2 spines; a spine's port r leads to rack r."""
    assert (SMALL.nodes, SMALL.switches, SMALL.tor_ports, SMALL.spine_ports) == (6, 5, 4, 3)
    assert [SMALL.rack(node) for node in range(6)] == [0, 0, 1, 1, 2, 2]
    assert [SMALL.neighbour(1, port) for port in range(4)] == [End(2), End(3), End(3, 1), End(4, 1)]
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


@pytest.mark.parametrize("cluster", LEAF_SPINES, ids=name_of, indirect=True)
@pytest.mark.parametrize("choice", SpineChoice)
def test_responses_return_by_the_spine_that_the_rule_names(cluster, choice):
    routes = judged(cluster, choice)
    for a, b in product(range(cluster.nodes), repeat=2):
        near, home = cluster.rack(a), cluster.rack(b)
        port = way(near, b, routes, cluster.ends)[0][1]
        if near != home:
            spine = (near + home if choice is SpineChoice.RACKS else b) % cluster.spines
            assert port == cluster.nodes_per_rack + spine


@pytest.mark.parametrize("grid", GRIDS, ids=name_of)
def test_reads_correct_coordinates_in_order(grid):
    """Each passes a switch for each coordinate that differs, X first, by links of one number."""
    routes = judged(grid)
    for near, home in product(range(grid.switches), range(grid.nodes)):
        passed = [switch for switch, _ in way(near, home, routes, grid.ends)]
        begin, end = grid.points[near], grid.points[grid.rack(home)]
        differ = [axis for axis, (a, b) in enumerate(zip(begin, end, strict=True)) if a != b]
        points = [grid.points[switch] for switch in passed]
        assert points == [
            tuple(end[axis] if axis in differ[:done] else begin[axis] for axis in range(len(begin)))
            for done in range(len(differ) + 1)
        ]
        numbers = {
            grid.far_ends[switch][port - grid.nodes_per_rack][1]
            for switch, port in way(near, home, routes, grid.ends)[:-1]
        }
        assert numbers <= {home % grid.width}


@pytest.mark.parametrize("cluster", DRAGONFLIES, ids=name_of, indirect=True)
def test_packets_of_a_dragonfly_could_wait_in_a_circle(cluster):
    """Where a group has racks to pass, the check of routes says so; else they are good."""
    if cluster.group == 1:
        judged(cluster)
        return
    with pytest.raises(ValueError, match="reads can wait for each other in a circle"):
        judged(cluster)


def test_all_links_carry_as_many_pairs_of_nodes():
    """The paper's grid and groups: reads between racks are spread over the links of each kind."""
    for cluster in (GRIDS[-1], DRAGONFLIES[-1]):
        routes = [dict(enumerate(row)) for row in cluster.tables().tolist()]
        counts = Counter()
        for near, home in product(range(cluster.switches), range(cluster.nodes)):
            counts.update(way(near, home, routes, cluster.ends)[:-1])
        uplinks = [(k, port) for k in range(cluster.switches) for port in cluster.uplinks(k)]
        assert min(counts[place] for place in uplinks) > 0
        assert max(counts.values()) <= 3 * min(counts.values())


def test_distance_is_that_of_the_farthest_nodes(cluster):
    routes = [dict(enumerate(row)) for row in cluster.tables().tolist()]
    ways = product(range(cluster.racks), range(cluster.nodes))
    longest = max(len(way(near, home, routes, cluster.ends)) for near, home in ways)
    assert longest + 1 <= cluster.distance
    if cluster not in DRAGONFLIES[:1]:  # a group of one rack
        assert longest + 1 == cluster.distance


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ring:4", "topology must be leaf-spine, hyperx:XxYxZ"),
        ("hyperx", "topology must be"),
        ("hyperx:2x", "topology must be"),
        ("hyperx:2x2:2:2", "topology must be"),
        ("hyperx:2x1", "1 to 3 sizes of 2 and more"),
        ("hyperx:0x2", "1 to 3 sizes of 2 and more"),
        ("hyperx:2x2x2x2", "1 to 3 sizes of 2 and more"),
        ("hyperx:2x2:0", "width must be at least 1: 0"),
        ("hyperx:5x2", "16 are not divisible by 10 racks"),
        ("hyperx:2x2:30", "at most 32 ports, for nodes and links to other switches: 64"),
        ("dragonfly:4", "two sizes, of groups and of racks: 1"),
        ("dragonfly:1x4", "2 groups of a rack and more"),
        ("dragonfly:2x0", "2 groups of a rack and more"),
        ("dragonfly:2x2:3", "as many at each of the 2 racks: 3"),
        ("dragonfly:2x2:0", "as many at each of the 2 racks: 0"),
        ("dragonfly:2x2:2", "at most 2 nodes, as many as its group has racks"),
    ],
)
def test_another_text_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        topology_of(text, 16, 1, 1)


def test_texts():
    assert topology_of("leaf-spine", 6, 3, 2) == SMALL
    assert topology_of("hyperx:4x4x2:4", 128, 1, 1) == GRIDS[-1]
    assert topology_of("hyperx:2", 2, 1, 1) == GRIDS[0]
    assert topology_of("dragonfly:4x8:16", 128, 1, 1) == DRAGONFLIES[-1]
    assert topology_of("dragonfly:2x2", 4, 1, 1).links_between == 2


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
