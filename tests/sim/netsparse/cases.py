"""Has what the tests of gathers share: hardware, matrices, surroundings."""

import os
import pickle
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from gen.designs.catalogue import find_design
from hdl.netsparse.params import SnicParams
from hdl.netsparse.property_cache.params import PropertyCacheParams
from hdl.netsparse.rig.params import RigParams
from hdl.netsparse.switch.params import NetSparseSwitchParams
from sim.harness.in_simulator import JOB
from sim.harness.verilator import Simulation, run
from sim.netsparse.builds import build_gather
from sim.netsparse.gather import Gather, check, fill_memories, simulate_gather
from sim.netsparse.leaf_spine import LeafSpine
from sim.netsparse.surroundings.cluster_system import ClusterParams, ClusterSystem
from sim.netsparse.surroundings.network import network_params
from sim.workloads.matrices import load_matrix
from sim.workloads.partition import Partition, batches

RIG = RigParams(
    nodes=4, idx_bits=24, address_bits=32, pending_entries=16, lsq_entries=16, lsq_reserved=4
)
EIGHT = SnicParams(  # two nodes with eight units
    units=8,
    rig=RIG,
    filter_banks=4,
    filter_unit_bytes=64,
    filter_cache_bytes=4096,
    filter_ways=2,
    dram_address_bits=28,
    host_requests=32,
)
ONE = SnicParams(  # one unit alone
    units=1,
    rig=RIG,
    filter_banks=1,
    filter_unit_bytes=16,
    filter_cache_bytes=512,
    filter_ways=4,
    dram_address_bits=28,
    host_requests=16,
)
VIRTUAL = SnicParams(  # four nodes with four units, the smallest tables, virtual queues
    units=4,
    rig=RigParams(
        nodes=4,
        idx_bits=24,
        address_bits=32,
        pending_entries=4,
        lsq_entries=8,
        lsq_reserved=2,
        idx_buffer_bytes=512,
        property_buffer_bytes=512,
        transmit_prs=2,
        commands=2,
    ),
    pool=64,
    destinations=8,
    receive_packets=2,
    filter_banks=1,
    filter_unit_bytes=4,
    filter_cache_bytes=256,
    filter_ways=1,
    dram_address_bits=28,
    host_requests=8,
)
PICKLE = "tests.pickle"
FAMILIES = {  # a few thousand nonzeros each
    "queen": "queen:nodes=4,rows=150",
    "stokes": "stokes:nodes=4,rows=300",
    "europe": "europe:nodes=4,rows=3000",
    "uk": "uk:nodes=4,rows=1500",
    "arabic": "arabic:nodes=4,rows=500",
}


def surroundings(rng):
    """Draw latencies, stalls and delays of memories and network, and seeds for them."""

    def chance():
        return int(rng.choice([0, 0, 30, 120]))

    def ram():
        return {
            "read_latency": int(rng.integers(0, 120)),
            "write_latency": int(rng.integers(0, 120)),
            **{f"{name}_stall": chance() for name in ("ar", "r", "aw", "w", "b")},
            "seed": int(rng.integers(1 << 31)),
        }

    link = {
        "latency": int(rng.integers(0, 50)),
        "in_stall": chance(),
        "out_stall": chance(),
        "seed": int(rng.integers(1 << 31)),
    }
    delays = {f"{name}_delay": int(rng.choice([0, 10, 60, 200])) for name in ("read", "response")}
    rings = rng.choice([None, 0, 1, 5])  # places of a ring: 1, 2 or 32
    return {"host": ram(), "dram": ram(), "link": link, "mechanisms": delays, "rings": rings}


def make_gather(rng, matrix, nodes, property_bytes, clients, servers, *, batch=None, **options):
    """Let every node gather for its rows of ``matrix``, with random properties."""
    partition = Partition.blocks(matrix.shape[0], nodes)
    properties = rng.integers(0, 1 << 32, (matrix.shape[0], property_bytes // 4), dtype=np.uint32)
    idxs = []
    for stream in partition.idx_streams(matrix):
        size = batch or max(1, -(-len(stream) // (2 * clients)))
        parts = batches(stream, size)
        idxs.append([parts[unit::clients] for unit in range(clients)])
    return Gather(partition=partition, properties=properties, idxs=idxs, servers=servers, **options)


def run_gather(gather, snic, tmp_path, rng):
    """Run the gather on the RTL, with everything checked."""
    params, simulator = build_gather(snic, gather.partition.nodes)
    gathered = simulate_gather(
        gather, params, simulator, folder=tmp_path, seed=int(rng.integers(1 << 31))
    )
    check(gather, gathered)
    return gathered


def run_tests(module, params, simulator, folder, job, filled=None):
    """Run cocotb tests on a cluster whose memories fit the gather ``filled``, or ``job``."""
    (folder / PICKLE).write_bytes(pickle.dumps(job))
    plusargs, env = fill_memories(filled or job, folder), {JOB: str(folder)}
    kind = {"params": params, "component": ClusterSystem}
    run(simulator, Simulation(test_module=module, plusargs=plusargs, env=env, **kind))


def job_in_simulator():
    """Return the job of :func:`run_tests`, in one of its tests."""
    return pickle.loads((Path(os.environ[JOB]) / PICKLE).read_bytes())


def family(name):
    return load_matrix(FAMILIES[name])


NODES, RACKS, SPINES = 6, 3, 2
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
        LeafSpine(racks=RACKS, nodes_per_rack=NODES // RACKS, spines=SPINES), SNIC, TOR
    ),
)


def web():
    """Return the nonzeros of the file, with small whole values."""
    with np.load(Path(__file__).with_name("cs_stanford_web_1000.npz")) as recorded:
        lengths, columns = recorded["lengths"].astype(int), recorded["columns"].astype(int)
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    values = np.arange(columns.size) % 19 - 9
    return csr_array((values, columns, pointers), shape=(lengths.size, lengths.size))
