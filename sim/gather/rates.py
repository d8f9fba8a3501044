"""Measures what share of a link's best case is data of rows, by the counters of RTL and host."""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from hdl.gather.params import ReadOrder
from sim.gather.golden.rows import Table, reads
from sim.gather.surroundings.gather_on_host import GatherOnHost, GatherOnHostParams, idxs_of
from sim.golden import pcie_link
from sim.golden.pcie_link import BEST_CASE, Order, Traffic, read_bytes, traffic, write_bytes
from sim.golden.pcie_writes import writes
from sim.harness.measuring import run_workload
from sim.harness.verilate import build
from sim.harness.verilator import Simulation, emission_of
from sim.surroundings.pcie.params import HOST_ARRAY, READ_DEPTH, Split, host_file

ORDERS: dict[ReadOrder, Order] = {
    order: getattr(pcie_link, order.name.lower()) for order in ReadOrder
}
IDX_BITS = 11  #: 2,048 rows
FOUR_KB = 4096  #: most bytes of a write request; packets are parts of these
TEST = "sim.gather.rates_in_simulator"


@dataclass(frozen=True, kw_only=True)
class Requested:
    """Asks for rows of one size, packed back to back, picked at random."""

    row_bytes: int
    order: ReadOrder = ReadOrder.MERGED
    rows: int = 1000  #: rows to gather
    base: int = 0  #: address of the table
    reads: int = READ_DEPTH  #: most reads under way
    split: Split = Split.ALIGNED
    window: int = 1  #: reads that the host answers at the same time; 1: in order
    latency_cycles: int = 375  #: round trip: 1.5 us
    first: int = 0x12345678  #: first of the random numbers
    to: int = 1 << 22  #: where rows go in a build that posts them
    payload: int = 1  #: such packets have at most 128 << payload bytes

    @property
    def table(self) -> Table:
        """Return the table in host memory."""
        size = self.row_bytes
        return Table(base=self.base, rows=1 << IDX_BITS, row_bytes=size, stride=size)

    @property
    def idxs(self) -> list[int]:
        """Return the idxs of the rows."""
        return idxs_of(self.first, self.rows, IDX_BITS)

    @property
    def model(self) -> Traffic:
        """Return what the order of reads makes of such rows on the link, by arithmetic."""
        return traffic(ORDERS[self.order], self.row_bytes)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Holds what was counted; each byte of rows has been summed up and compared."""

    requested: Requested
    bytes_per_cycle: float  #: data of rows, from the end of the first to that of the last
    link_bytes_per_cycle: float  #: bytes that the link can carry
    counts: dict[str, int] = field(default_factory=dict)  #: the host's counters

    @property
    def share(self) -> float:
        """Return the share of the link's best case that is data of rows."""
        return self.bytes_per_cycle / self.link_bytes_per_cycle / float(BEST_CASE)

    @property
    def of_headers(self) -> float:
        """Return the share of what this run's own headers, and bytes of no row, leave."""
        counts, rows = self.counts, self.requested.rows * self.requested.row_bytes
        return self.bytes_per_cycle / self.link_bytes_per_cycle * counts["down"] / rows


def measure(params: GatherOnHostParams, requested: Sequence[Requested]) -> list[Measured]:
    """Measure all that is asked in one simulation; raise ValueError where a row is wrong."""
    most = max(item.table.address(1 << IDX_BITS) for item in requested)
    if params.posts:
        most = max(most, *(item.to + item.rows * item.row_bytes for item in requested))
    words = np.random.default_rng(1).integers(0, 1 << 32, most // 4, dtype=np.uint32)
    simulator = build(emission_of(GatherOnHost(params)), optimise=True, extra_sources=[HOST_ARRAY])
    with tempfile.TemporaryDirectory() as name:
        memory = Path(name) / "memory.bin"
        words.tofile(memory)
        simulation = Simulation(
            test_module=TEST, params=params, component=GatherOnHost, plusargs=[host_file(0, memory)]
        )
        reported = run_workload(simulator, simulation, list(requested), Path(name))
    results = []
    for item, (figures, counts, rate) in zip(requested, reported, strict=True):
        check(item, words, figures | counts, params.posts)
        speed = item.row_bytes * (item.rows - 1) / figures["cycles"]
        results.append(
            Measured(
                requested=item, bytes_per_cycle=speed, link_bytes_per_cycle=rate, counts=counts
            )
        )
    return results


def posts_of(requested: Requested) -> list[int]:
    """Return the dwords of each packet that writes all rows back to the host, joined."""
    size, most = requested.rows * requested.row_bytes, 128 << requested.payload
    return [
        len(write.dwords)
        for first in range(0, size, FOUR_KB)
        for write in writes(requested.to + first, bytes(min(FOUR_KB, size - first)), most)
    ]


def check(
    requested: Requested, words: np.ndarray, counted: dict[str, int], posts: bool = False
) -> None:
    """Raise ValueError unless every byte has come, and as many reads as the order has.

    In a build that ``posts`` rows, the packets to the host must be those of the golden models.
    """
    table = requested.table
    content = table.content(words.view(np.uint8)).view(np.uint32)
    sent = len(reads(table, requested.idxs, ORDERS[requested.order]))
    posted = posts_of(requested) if posts else []
    expected = {
        "rows": requested.rows,
        "bytes": requested.rows * requested.row_bytes,
        "sum": int(content[requested.idxs].sum(dtype=np.uint64)) % (1 << 32),
        "failed": 0,
        "reads": sent,
        "writes": len(posted),
        "up": sent * read_bytes() + sum(write_bytes(4 * dwords) for dwords in posted),
        "lost": 0,
    }
    wrong = {
        name: (counted[name], value) for name, value in expected.items() if counted[name] != value
    }
    if wrong:
        raise ValueError(f"a gather is wrong, found and wanted: {wrong}: {asdict(requested)}")
