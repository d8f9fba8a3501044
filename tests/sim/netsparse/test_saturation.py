"""Runs two racks of four nodes with full links for a million cycles: nothing locks up or is lost.

Buffers are as small as they may be; only the tables of PRs under way are large, so that traffic
never dries up.
"""

from dataclasses import replace

import pytest

from gen.designs.catalogue import find_design
from sim.netsparse.builds import build_cluster
from sim.netsparse.gather import check, simulate_gather
from sim.netsparse.leaf_spine import LeafSpine
from sim.netsparse.saturation import Saturation, load_lines, loads, waits
from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.netsparse.surroundings.network import network_params

RACKS = LeafSpine(racks=2, nodes_per_rack=4, spines=2)
SNIC = find_design("netsparse-snic").params_of("least", pending_entries=256)
SWITCH = find_design("netsparse-switch").params_of("least")
LATENCY = 15  #: of links, and their buffers are for no more
CLUSTER = ClusterParams(
    snic=SNIC, network=replace(network_params(RACKS, SNIC, SWITCH), link_latency=LATENCY)
)
LINKS_FULL = Saturation(
    topology=RACKS, idxs=5000, far=0.5, batch=64, stall=208, latency=LATENCY, seed=0
)
BURSTS = replace(LINKS_FULL, burst=True, batch=250)
HUNTS = {  # about 100,000 cycles each
    "everything": LINKS_FULL,
    "no cache": replace(LINKS_FULL, cache=False),
    "no concatenation": replace(LINKS_FULL, concatenate=False),
    "neither": replace(LINKS_FULL, cache=False, concatenate=False),
    "bursts": BURSTS,
    "bursts without cache": replace(BURSTS, cache=False),
    "bursts without concatenation": replace(BURSTS, concatenate=False),
    "bursts with neither": replace(BURSTS, cache=False, concatenate=False),
    "long delays": replace(BURSTS, delay=511),
    "hits": replace(BURSTS, rows=32, property_bytes=16),
    "middle pipes full": replace(BURSTS, idxs=7000, stall=128),
    "slow hosts": replace(BURSTS, idxs=2000, stall=64, memory_latency=64),
    "a spine of both racks": replace(LINKS_FULL, far=0.25, spine_choice=SpineChoice.RACKS),
}


@pytest.fixture(scope="module")
def simulator():
    return build_cluster(CLUSTER)


@pytest.mark.long
@pytest.mark.parametrize("requested", HUNTS.values(), ids=HUNTS)
def test_hunt(tmp_path, rng, simulator, requested):
    """Every request ends well, memories are the golden model's, and every packet is counted."""
    requested = replace(requested, seed=int(rng.integers(1 << 31)))
    gather = requested.gather()
    gathered = simulate_gather(gather, CLUSTER, simulator, folder=tmp_path)
    check(gather, gathered)
    result = gathered.result
    assert {done.cause for node in result.nodes for done in node.completions} == {"DONE"}
    observed = loads(result)
    for line in load_lines(observed, result.cycles):
        print(line)
    of_nodes = [
        load.used for load in observed if not load.between_switches
    ]  # hits spare the others
    assert min(of_nodes) > 0.05, "a link dried up"
    print(f"  hits: {sum(switch.pipe('cache_hit') for switch in result.switches):,}")
    for kind, share in waits(result).items():
        print(f"  {kind} wait for room behind middle pipes: {share:.1%}")
