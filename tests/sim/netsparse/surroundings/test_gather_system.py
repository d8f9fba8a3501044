import pytest

from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.params import RigParams
from sim.netsparse.surroundings.gather_system import GatherParams
from sim.netsparse.surroundings.hub import HubParams


def test_memories_fit_the_buses():
    params = GatherParams()
    assert params.snic.rig.address_bits == 64
    assert params.host.address_bits == 34


def test_rejects_more_nodes_than_the_snics_know():
    with pytest.raises(ValueError, match="3 nodes are more than the SNICs are built for: 2"):
        GatherParams(snic=SnicParams(rig=RigParams(nodes=2)), hub=HubParams(nodes=3))
