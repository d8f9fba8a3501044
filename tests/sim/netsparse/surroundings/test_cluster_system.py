import pytest

from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.params import RigParams
from hdl.netsparse.switch.params import NetSparseSwitchParams
from sim.netsparse.leaf_spine import LeafSpine
from sim.netsparse.surroundings.cluster_system import ClusterParams, ClusterSystem
from sim.netsparse.surroundings.network import NetworkParams, network_params


def test_memories_fit_the_buses():
    params = ClusterParams()
    assert params.snic.rig.address_bits == 64
    assert params.host.address_bits == 34


@pytest.mark.parametrize(
    ("most", "racks", "nodes", "message"),
    [
        (2, 1, 3, "3 nodes are more than the SNICs are built for: 2"),
        (256, 5, 26, "a simulation has at most 128 nodes: 130"),
    ],
)
def test_rejects_more_nodes_than_there_can_be(most, racks, nodes, message):
    topology = LeafSpine(racks=racks, nodes_per_rack=nodes, spines=int(racks > 1))
    with pytest.raises(ValueError, match=message):
        ClusterSystem(
            ClusterParams(
                snic=SnicParams(rig=RigParams(nodes=most)),
                network=NetworkParams(
                    topology=topology, switch=NetSparseSwitchParams(pipes=0, nodes=256)
                ),
            )
        )


def test_rejects_more_nodes_than_the_switches_know():
    with pytest.raises(ValueError, match="3 nodes are more than the switches are built for: 2"):
        NetworkParams(
            topology=LeafSpine(nodes_per_rack=3), switch=NetSparseSwitchParams(pipes=0, nodes=2)
        )


@pytest.mark.parametrize(("requested", "pipes"), [(0, 0), (1, 1), (4, 3), (8, 6)])
def test_switches_are_as_the_nodes_need_them(requested, pipes):
    """A ToR switch of 6 ports has pipes with as many; a spine has none; packets are the SNICs'."""
    snic = SnicParams(mtu=1600, rig=RigParams(nodes=8, most_property_bytes=64))
    topology = LeafSpine(racks=2, nodes_per_rack=4, spines=2)
    network = network_params(topology, snic, NetSparseSwitchParams(ports=8, pipes=requested))
    tor, spine = network.of(1), network.of(2)
    assert (tor.ports, tor.pipes, spine.ports, spine.pipes) == (6, pipes, 2, 0)
    for switch in (tor, spine):
        assert (switch.nodes, switch.mtu, switch.most_property_bytes) == (8, 1600, 64)
    assert network.link.mtu == 1600
