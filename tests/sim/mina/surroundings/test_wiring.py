"""Compares ports of a fat tree in hardware with the golden trees."""

import random

import pytest

from sim.mina.cluster import parse_topology
from sim.mina.golden.trees import all_trees, top_of
from sim.mina.surroundings.wiring import Wiring

TOPOLOGIES = ["2,2,2:1,1,2", "3,2,2:1,2,3", "4,3:1,2", "4:1"]
wirings = pytest.mark.parametrize("topology", TOPOLOGIES)


def wiring_of(topology):
    return Wiring(parse_topology(topology))


@wirings
def test_each_port_has_one_cable(topology):
    wiring = wiring_of(topology)
    hosts = [wiring.host_port(host) for host in range(wiring.cluster.hosts)]
    ends = [end for low, its, high, port in wiring.cables for end in ((low, its), (high, port))]
    used = [*hosts, *ends]
    assert len(set(used)) == len(used)
    assert all(port < wiring.ports - 1 for _, port in used)
    for number, node in enumerate(wiring.nodes):
        up = 0 if node.layer == wiring.cluster.layers else wiring.cluster.up[node.layer]
        assert sum(item == number for item, _ in used) == wiring.cluster.down[node.layer - 1] + up


@wirings
def test_frames_find_all_below_and_all_above(topology):
    """Children have the address that their parents send to, and their own place there."""
    wiring = wiring_of(topology)
    for low, _, high, port in wiring.cables:
        own, _, above = wiring.addresses(low)
        its_own, below, _ = wiring.addresses(high)
        assert (own, above) == (below, its_own)
        assert wiring.place(low) == port


@wirings
def test_trees_are_the_golden_ones(topology):
    wiring = wiring_of(topology)
    cluster = wiring.cluster
    up = {(low, port): high for low, port, high, _ in wiring.cables}
    for _ in range(50):
        hosts = random.sample(range(cluster.hosts), random.randint(2, cluster.hosts))
        for root, golden in enumerate(all_trees(hosts, cluster.down, cluster.up, ports=False)):
            tree = wiring.tree(hosts, root)
            result = {
                (node.layer, node.group, node.path) for node in map(wiring.nodes.__getitem__, tree)
            }
            assert result == golden
            assert sum(parent is None for _, parent in tree.values()) == 1
            reached = [
                up[number, parent] for number, (_, parent) in tree.items() if parent is not None
            ]
            children = {number: ports.bit_count() for number, (ports, _) in tree.items()}
            below = {number: reached.count(number) for number in tree}
            for number, count in children.items():
                layer = wiring.nodes[number].layer
                assert count == (
                    below[number]
                    if layer > 1
                    else len([host for host in hosts if wiring.host_port(host)[0] == number])
                )
            assert max(wiring.nodes[number].layer for number in tree) == top_of(hosts, cluster.down)


def test_hosts_have_one_link():
    with pytest.raises(ValueError, match="1 link up, not 2"):
        wiring_of("2,2:2,1")
