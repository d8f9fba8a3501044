"""Products on two racks of two nodes in RTL: SNICs, ToR switches with caches, a spine, links."""

from dataclasses import replace

import pytest

from gen.designs.catalogue import find_design
from hdl.netsparse.property_cache.params import PropertyCacheParams
from hdl.netsparse.switch.params import NetSparseSwitchParams
from sim.netsparse.gather import build_cluster
from sim.netsparse.spmm import SpmmRun
from sim.netsparse.spmm_workload import SpmmWorkload
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.netsparse.surroundings.network import network_params
from sim.netsparse.topology import LeafSpine
from tests.long import short_products
from tests.sim.netsparse.calibration import check_calibrated
from tests.sim.netsparse.cases import FAMILIES, family, surroundings

NODES, RACKS = 4, 2
SNIC = find_design("netsparse-snic").params_of("tiny", nodes=NODES, mtu=594, most_property_bytes=64)
TOR = NetSparseSwitchParams(  # the smallest buffers
    pipes=1,
    mtu=SNIC.mtu,
    most_property_bytes=SNIC.rig.most_property_bytes,
    most_delay=255,
    receive_packets=2,
    output_beats=512,
    cache=PropertyCacheParams(
        cache_bytes=2048, segments=4, ways=4, idx_bits=20, latency=10, style="auto"
    ),
)
CLUSTER = ClusterParams(
    snic=SNIC,
    network=network_params(
        LeafSpine(racks=RACKS, nodes_per_rack=NODES // RACKS, spines=1), SNIC, TOR
    ),
)
MECHANISMS = {  # of switches, and whether SNICs concatenate
    "nothing": ({"cache": 0, "concatenate": 0}, False),
    "concatenation": ({"cache": 0, "concatenate": 1}, True),
    "cache": ({"cache": 1, "concatenate": 0}, False),
    "all": ({"cache": 1, "concatenate": 1}, True),
}


@pytest.fixture(scope="module")
def simulator():
    return build_cluster(CLUSTER)


def product(rng, name, mechanisms, property_bytes):
    """Of a family's matrix, in random surroundings."""
    switch, concatenate = MECHANISMS[mechanisms]
    asked = SpmmWorkload(
        nodes=NODES,
        racks=RACKS,
        property_bytes=property_bytes,
        concatenate=concatenate,
        batch=int(rng.choice([20, 1024])),
        seed=int(rng.integers(1 << 31)),
    )
    run = SpmmRun(family(name), SNIC, asked)
    around = surroundings(rng)
    delays = {f"{way}_delay": int(rng.choice([0, 30, 125])) for way in ("read", "response")}
    run.gather = replace(
        run.gather,
        switch=switch | delays,
        mechanisms=run.gather.mechanisms | around["mechanisms"],
        **{name: around[name] for name in ("host", "dram", "link")},
    )
    return run


@pytest.mark.parametrize(
    ("name", "mechanisms"),
    short_products(FAMILIES, MECHANISMS, short=[("stokes", "nothing"), ("uk", "all")]),
)
def test_product(tmp_path, rng, simulator, name, mechanisms):
    """Equal to scipy's, every packet and PR is accounted for, and the model predicts it."""
    run = product(rng, name, mechanisms, int(rng.choice([4, 16, 64])))
    gathered = run.simulate(CLUSTER, simulator, tmp_path)
    run.check(gathered)
    check_calibrated(run.gather, CLUSTER, gathered.result)
    nodes, tors = gathered.result.nodes, gathered.result.switches[:RACKS]
    hits = sum(tor.pipe("cache_hit") for tor in tors)
    assert sum(node.totals["served"] for node in nodes) == (
        sum(node.totals["prs"] for node in nodes) - hits
    )
    switch, concatenate = MECHANISMS[mechanisms]
    assert bool(hits) == bool(switch["cache"]), "two nodes of a rack want the same properties"
    if not concatenate:
        counts = [node.snic for node in nodes] + [pipe for tor in tors for pipe in tor.pipes]
        assert all(each["reads_sent_prs"] == each["reads_sent_packets"] for each in counts)
