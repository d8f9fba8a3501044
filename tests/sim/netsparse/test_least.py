"""Runs products on two racks of four nodes with the least buffers, on bad links.

``INGATHER_MATRICES=FOLDER`` takes all Matrix Market files of a folder instead of the families.
"""

import os
from pathlib import Path

import pytest

from gen.base.errors import UserError
from gen.designs.catalogue import find_design
from sim.netsparse.builds import build_cluster
from sim.netsparse.spmm import SpmmRun, matrix_for
from sim.netsparse.spmm_workload import SpmmWorkload
from sim.workloads.files import PACKED_SUFFIXES

RACKS, NODES = 2, 8
SNIC, SWITCH = find_design("netsparse-snic"), find_design("netsparse-switch")
PARAMS = SNIC.params_of("least")
LEAST = {  # what is refused below the sizes of "least", and how
    SNIC.name: {
        "pending_entries": "pending_entries must be one of 4,",
        "lsq_entries": "lsq_entries must be a whole number from 8",
        "lsq_reserved": "lsq_reserved must be a whole number from 2",
        "idx_buffer_bytes": "idx_buffer_bytes must be a power of two from 512",
        "property_buffer_bytes": "property_buffer_bytes must be a power of two from 512",
        "transmit_prs": "transmit_prs must be a whole number from 2",
        "commands": "commands must be a power of two from 2",
        "mtu": "mtu must be a whole number from 594",
        "pool": "pool must be a whole number from 20",
        "destinations": "destinations must be a whole number from 8",
        "receive_packets": "receive_packets must be a whole number from 2",
        "filter_unit_bytes": "filter_unit_bytes must be a power of two from 4",
        "filter_cache_bytes": "cache_bytes must give each way of a bank 2",
        "host_requests": "host_requests must be a whole number from 4",
    },
    SWITCH.name: {
        "mtu": "mtu must be a whole number from 594",
        "pool": "pool must be a whole number from 20",
        "destinations": "destinations must be a whole number from 8",
        "receive_packets": "receive_packets must be a whole number from 2",
        "output_beats": "output_beats must be at least 290, a power of two",
        "cache_bytes": "cache_bytes must give a segment 2",
        "ways": "ways must be a power of two from 2",
        "latency": "latency",
    },
}
POWERS = ("idx_buffer_bytes", "property_buffer_bytes", "commands", "output_beats", "cache_bytes")
MECHANISMS = {
    "nothing": {"switch_cache": False, "concatenate": False, "switch_concatenate": False},
    "concatenation": {"switch_cache": False},
    "cache": {"concatenate": False, "switch_concatenate": False},
    "all": {},
}


@pytest.mark.parametrize("design", [SNIC, SWITCH], ids=lambda design: design.name)
def test_less_is_refused(design):
    for name, message in LEAST[design.name].items():
        size = design.settings_of("least")[name]
        with pytest.raises(UserError, match=message):
            design.params_of("least", **{name: size // 2 if name in POWERS else size - 1})


def matrices():
    """Return what to multiply, by name."""
    folder = os.environ.get("INGATHER_MATRICES")
    if folder is None:
        return {
            "queen": "queen:rows=150",
            "stokes": "stokes:rows=300",
            "europe": "europe:rows=1500",
            "uk": "uk:rows=1500",
            "arabic": "arabic:rows=500",
        }
    suffixes = [".mtx", *(f".mtx{packed}" for packed in PACKED_SUFFIXES)]
    result = {
        path.name: str(path)
        for path in sorted(Path(folder).iterdir())
        if path.name.endswith(tuple(suffixes))
    }
    assert result, f"no Matrix Market file in {folder}"
    return result


@pytest.mark.long
@pytest.mark.parametrize("mechanisms", MECHANISMS)
@pytest.mark.parametrize("matrix", matrices().values(), ids=matrices())
def test_product(tmp_path, rng, matrix, mechanisms):
    """It equals scipy's, memories equal the golden model's, and each packet and PR is counted."""
    seed = int(rng.integers(1 << 31))
    requested = SpmmWorkload(
        nodes=NODES,
        racks=RACKS,
        switch="least",
        read_delay=60,
        response_delay=60,
        switch_read_delay=60,
        switch_response_delay=60,
        link_latency=20,
        link_stall=85,
        host_latency=20,
        dram_latency=20,
        seed=seed,
        **MECHANISMS[mechanisms],
    )
    system = requested.cluster(PARAMS)
    run = SpmmRun(matrix_for(matrix, NODES, seed), PARAMS, requested)
    gathered = run.simulate(system, build_cluster(system), tmp_path)
    run.check(gathered)
    result = gathered.result
    hits = sum(switch.pipe("cache_hit") for switch in result.switches)
    assert not hits or requested.switch_cache
    prs = sum(node.totals["prs"] for node in result.nodes)
    packets = sum(counts[kind]["packets"] for counts in result.links for kind in counts)
    print(f"{result.cycles:,} cycles, {prs:,} PRs, {hits:,} hits, {packets:,} packets on links")
