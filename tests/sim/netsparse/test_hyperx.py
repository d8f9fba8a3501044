"""Multiplies on racks at the points of a grid (HyperX): exact on stalled links, as modelled."""

from dataclasses import replace

import pytest

from gen.designs.catalogue import find_design
from sim.netsparse.builds import build_parts
from sim.netsparse.gather import check, simulate_gather
from sim.netsparse.hyperx import HyperX
from sim.netsparse.saturation import Saturation
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.netsparse.surroundings.network import network_params
from tests.sim.netsparse.calibration import check_calibrated
from tests.sim.netsparse.cases import SNIC, TOR

LATENCY = 20
GRID = HyperX(sizes=(3, 2), nodes_per_rack=1)  # its switches have the ports of the other tests'
LEAST = find_design("netsparse-snic").params_of("least", nodes=16, pending_entries=256)
SWITCH = find_design("netsparse-switch").params_of("least")
GRIDS = [
    HyperX(sizes=(2, 2, 2), nodes_per_rack=1, width=1),
    HyperX(sizes=(3, 2), nodes_per_rack=2, width=2),
]
TRAFFIC = Saturation(
    topology=GRID, idxs=400, far=0.6, batch=50, rows=600, stall=77, latency=LATENCY, seed=0
)


def run(topology, snic, switch, requested, folder):
    """Run a gather in RTL, each node and switch in a process of its own; check every byte."""
    cluster = ClusterParams(
        snic=snic, network=replace(network_params(topology, snic, switch), link_latency=LATENCY)
    )
    gather = requested.gather()
    gathered = simulate_gather(gather, cluster, build_parts(cluster), folder=folder, processes=2)
    check(gather, gathered)
    assert {done.cause for node in gathered.result.nodes for done in node.completions} == {"DONE"}
    return gather, cluster, gathered.result


@pytest.mark.parametrize("stall", [0, 77])
def test_rows_come_as_modelled(tmp_path, rng, stall):
    """Homes, and caches on the way to them, answer all reads exactly, on links that stall, too."""
    requested = replace(TRAFFIC, seed=int(rng.integers(1 << 31)), property_bytes=16, stall=stall)
    gather, cluster, result = run(GRID, SNIC, TOR, requested, tmp_path)
    assert all(switch.pipe("cache_hit") for switch in result.switches)
    if not stall:
        check_calibrated(gather, cluster, result)


HUNTS = {
    "everything": {},
    "no cache": {"cache": False},
    "no concatenation": {"concatenate": False},
    "neither": {"cache": False, "concatenate": False},
    "bursts": {"burst": True, "batch": 250},
    "hits": {"burst": True, "rows": 48, "property_bytes": 16},
    "long": {"idxs": 60_000},
}


@pytest.mark.long
@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid.suffix)
@pytest.mark.parametrize("hunt", HUNTS.values(), ids=HUNTS)
def test_hunt(tmp_path, rng, grid, hunt):
    """Nothing locks up or is lost with the least buffers, while links are full and stall.

    The long ones take a million cycles.
    """
    full = replace(TRAFFIC, topology=grid, idxs=5000, rows=4096, batch=64, stall=208)
    requested = replace(full, seed=int(rng.integers(1 << 31)), **hunt)
    _, _, result = run(grid, LEAST, SWITCH, requested, tmp_path)
    print(f"{grid.suffix}: {result.cycles:,} cycles")
