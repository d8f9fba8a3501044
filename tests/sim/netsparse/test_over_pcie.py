"""Runs gathers of SNICs with hosts behind PCI Express: every byte, every count, and PRs as ever."""

from dataclasses import replace

import pytest

from gen.designs.catalogue import find_design
from gen.software.netsparse_snic import software
from hdl.netsparse.params import SnicParams
from sim.golden.pcie_link import bytes_of_share, max_of_share
from sim.netsparse.builds import build_gather
from sim.netsparse.spmm import SpmmRun
from sim.netsparse.spmm_workload import SpmmWorkload
from tests.sim.netsparse.cases import EIGHT, ONE, family, make_gather, run_gather, web

PCIE = replace(ONE, units=2, host_bus="pcie", host_requests=64)


@pytest.mark.parametrize("host_bus", ["PCIe", ""])
def test_rejects(host_bus):
    with pytest.raises(ValueError, match="host_bus must be one of axi, pcie"):
        SnicParams(host_bus=host_bus)


def test_what_knows_a_bridge_alone():
    """The model knows only hosts behind an AXI bridge; the generated bench knows both."""
    small = find_design("netsparse-snic").params_of("tiny", host_bus="pcie")
    with pytest.raises(ValueError, match="the model knows no PCI Express"):
        SpmmWorkload(model=True, nodes=2).check_hardware(PCIE)
    benches = [software(replace(small, host_bus=bus)).bench_files("") for bus in ("pcie", "axi")]
    assert benches[0].keys() == benches[1].keys()
    assert "bench/run.py" in benches[0]


def some_host(rng):
    """Draw a host that is late, and answers in any way that it may."""
    return {
        "latency": int(rng.integers(0, 300)),
        "reads": int(rng.choice([4, 1024])),
        "payload": int(rng.integers(3)),
        "boundary": int(rng.integers(2)),
        "split": int(rng.integers(4)),
        "window": int(rng.integers(1, 9)),
        "stall": int(rng.choice([0, 60])),
        "seed": int(rng.integers(1 << 31)),
    }


def gather_of(rng, name, size, clients, servers):
    return make_gather(
        rng,
        family(name),
        2,
        size,
        clients,
        servers,
        idx_bytes=int(rng.choice([4, 8])),
        property_address=4 * int(rng.integers(64)),
        rings=rng.choice([None, 1, 5]),
        mechanisms={"read_delay": 30, "response_delay": 30},
        host=some_host(rng),
        dram={"read_latency": 10},
        link={"latency": 5},
    )


@pytest.mark.parametrize(("name", "size"), [("stokes", 4), ("uk", 100), ("arabic", 512)])
def test_two_nodes(tmp_path, rng, name, size):
    gather = gather_of(rng, name, size, 1, 1)
    gathered = run_gather(gather, PCIE, tmp_path, rng)
    for node, result in enumerate(gathered.result.nodes):
        assert result.totals["prs"] == gather.expected(node).distinct
        assert result.snic["host_read_requests"] >= result.snic["host_read_properties"]


def test_reads_keep_to_a_share(tmp_path, rng):
    """What servers give and units read, idxs and descriptors, in all of a node's cycles."""
    share = int(rng.integers(6, 11))
    gather = gather_of(rng, "uk", 100, 1, 1)
    gather = replace(gather, rings=None, mechanisms={**gather.mechanisms, "share": share})
    for node in run_gather(gather, PCIE, tmp_path, rng).result.nodes:
        octets = node.totals["served"] * 100 + node.totals["consumed"] * gather.idx_bytes
        cycles = node.snic["cycles"]
        assert octets <= max_of_share(share, cycles, 64)
        assert octets > 0.85 * bytes_of_share(share, cycles, 64)


@pytest.mark.long
@pytest.mark.parametrize("name", ["stokes", "queen", "uk", "arabic"])
@pytest.mark.parametrize("size", [4, 64, 512])
def test_eight_units(tmp_path, rng, name, size):
    run_gather(gather_of(rng, name, size, 4, 4), replace(EIGHT, host_bus="pcie"), tmp_path, rng)


def test_a_product_needs_each_remote_idx_once(tmp_path):
    """As over a bus, the way to the host decides when PRs are sent, but not which."""
    requested = SpmmWorkload(nodes=2, clients=1, servers=1, property_bytes=64, host_latency=375)
    params, simulator = build_gather(PCIE, 2)
    run = SpmmRun(web(), PCIE, requested)
    gathered = run.simulate(params, simulator, tmp_path)
    run.check(gathered)
    prs = [node.totals["prs"] for node in gathered.result.nodes]
    assert prs == [run.gather.expected(node).distinct for node in range(2)]
