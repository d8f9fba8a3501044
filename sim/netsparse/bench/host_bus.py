"""Measures how fast a SNIC reads its host's memory over a bridge, and over PCI Express itself."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hdl.common.core_clock import CORE_MHZ
from hdl.netsparse.params import SnicParams
from sim.bench.limits import Limit, Row
from sim.netsparse.bench.gather import HARDWARE
from sim.netsparse.builds import build_gather
from sim.netsparse.gather import Gather, Gathered, check, simulate_gather
from sim.workloads.partition import Partition

ROWS = 8192  #: rows of each of two nodes; each asks for all rows of the other
SIZES = (4, 64, 512)  #: bytes of a property
ROUND_TRIP = 375  #: cycles from a read to its data: 1.5 us
#: Reads that a bridge keeps in order (AMD's DMA/Bridge Subsystem, PG195, in front of a host).
BRIDGE = replace(HARDWARE, host_requests=32)
REQUESTER = replace(HARDWARE, host_bus="pcie", host_requests=256)
#: Least rate of the requester, as a multiple of the bridge's.
LEAST_GAIN = {64: Limit(3.5, at_least=True), 512: Limit(3, at_least=True)}


def rows(progress: Callable[[str], None]) -> list[Row]:
    """Measure both ways with the same requests; PRs must be equal."""
    result = []
    for size in SIZES:
        rates = {}
        for what, snic, host in (
            ("bridge", BRIDGE, {"read_latency": ROUND_TRIP, "write_latency": ROUND_TRIP // 2}),
            ("requester", REQUESTER, {"latency": ROUND_TRIP}),
        ):
            progress(f"properties of {size} bytes, {what}")
            gathered = exchange(size, snic, host)
            rates[what], row = rated(f"{what}, {size} B", gathered, size)
            result.append(row)
        result.append(
            Row(
                what=f"requester's rate by the bridge's, {size} B",
                value=rates["requester"] / rates["bridge"],
                limit=LEAST_GAIN.get(size),
                note="the same requests; PRs are equal",
            )
        )
    return result


def exchange(size: int, snic: SnicParams, host: dict[str, int]) -> Gathered:
    """Let each node ask for every row that the other one has, in any order; check all bytes."""
    rng = np.random.default_rng(1)
    count = ROWS // max(1, size // 64)
    properties = rng.integers(0, 1 << 32, (2 * count, size // 4), dtype=np.uint32)
    idxs = [np.array_split(base + rng.permutation(count), 4) for base in (count, 0)]
    gather = Gather(
        partition=Partition.blocks(2 * count, 2),
        properties=properties,
        idxs=[[[part] for part in parts] for parts in idxs],
        servers=4,
        host=host,
        dram={"read_latency": 100},
        link={"latency": 20},
    )
    params, simulator = build_gather(snic, 2)
    gathered = simulate_gather(gather, params, simulator, seed=1)
    check(gather, gathered)
    prs = [node.totals["prs"] for node in gathered.result.nodes]
    if prs != [count, count]:
        raise AssertionError(f"each row is asked for once: {count}, not {prs}")
    return gathered


def rated(what: str, gathered: Gathered, size: int) -> tuple[float, Row]:
    """Return what a host's memory has given, in GB/s, and the row that says so."""
    node = gathered.result.nodes[0]
    octets = node.totals["served"] * size + node.totals["consumed"] * 4
    rate = octets / node.snic["cycles"] * CORE_MHZ / 1e3
    return rate, Row(
        what=what,
        value=rate,
        unit="GB/s",
        note=f"properties and idxs that a host gives, in {node.snic['cycles']:,} cycles;"
        f" {node.snic['host_read_requests']:,} reads",
    )
