"""Multiplies a sparse matrix on simulated SNICs: gathers on the RTL, multiplies what has come."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hdl.netsparse.params import SnicParams
from hdl.netsparse.rig.params import TAG_BITS
from sim.harness.background import follow
from sim.harness.parts import Workers
from sim.harness.verilator import Build
from sim.netsparse.gather import (
    FILTER_ADDRESS,
    Gather,
    Gathered,
    GatherError,
    check,
    simulate_gather,
)
from sim.netsparse.gather_job import PROGRESS_FILE, GatherResult
from sim.netsparse.golden.gather import Words, local_product, sddmm, spmm, spmv, words
from sim.netsparse.kernel import Kernel
from sim.netsparse.model.run import model_gather
from sim.netsparse.partitioning import arranged
from sim.netsparse.spmm_workload import SpmmWorkload
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.netsparse.surroundings.node import host_memory, snic_memory
from sim.workloads.matrices import FAMILIES, load_matrix, with_integer_values
from sim.workloads.partition import Ints, batches, dealt

LARGEST_NUMBER = 99  #: largest number in a property, and its negative
LEAST_TIMEOUT = 2_000_000
IDX_CYCLES = 5000  #: bound of the cycles that an idx can take by itself
RING_SIZE = 8  #: logarithm of the places of a ring


def matrix_for(text: str, nodes: int, seed: int) -> csr_array:
    """Load the matrix that a user names, with whole values; raise InputError if there is none.

    A family is made for ``nodes`` with ``seed`` unless its own options say otherwise; of a file,
    only the pattern is used.
    """
    family, _, settings = text.partition(":")
    if family not in FAMILIES:
        return with_integer_values(load_matrix(text), seed=seed)
    provided = {setting.partition("=")[0].strip() for setting in settings.split(",")}
    chosen: dict[str, Any] = {"nodes": nodes, "seed": seed}
    return load_matrix(text, **{name: chosen[name] for name in chosen.keys() - provided})


class SpmmRun:
    """Computes a kernel over the nodes of a partition; raises ValueError if it cannot.

    Every node gathers the rows of ``dense`` that its nonzeros name and computes ``matrix @ dense``
    for its block of rows; of SDDMM also the rows of ``first``, of which it has its own, are
    multiplied. Numbers are small whole ones, so that results are exact.
    """

    def __init__(self, matrix: csr_array, params: SnicParams, requested: SpmmWorkload) -> None:
        self.params = params
        self.requested = requested
        nodes = requested.nodes
        requested.check_hardware(params)
        self.clients, self.servers = requested.units_of(params)
        self.matrix, self.partition = matrix, partition = arranged(
            matrix, nodes, requested.partition, requested.seed
        )
        rows = partition.count
        check_rows(rows, params)
        check_fits(rows * requested.property_bytes, params)
        self.gather = Gather(
            partition=partition,
            properties=self.properties(),
            idxs=[self.dealt(stream) for stream in partition.idx_streams(self.matrix)],
            servers=self.servers,
            idx_bytes=4 if rows <= 1 << 32 else 8,
            watchdog=requested.watchdog,
            rings=RING_SIZE if requested.rings else None,
            mechanisms=requested.mechanisms,
            host=host_settings(requested.host_latency, params),
            dram=memory_settings(requested.dram_latency),
            link={
                "latency": requested.link_latency,
                **dict.fromkeys(("in_stall", "out_stall"), requested.link_stall),
                "seed": requested.seed,
            },
            switch=requested.switch_settings,
            spine_choice=requested.spine_choice,
            timeout_cycles=LEAST_TIMEOUT + IDX_CYCLES * matrix.indices.size,
        )
        check_fits(max(self.gather.host_bytes(node) for node in range(nodes)), params)

    @cached_property
    def dense(self) -> NDArray[np.int32]:
        """Return the matrix that is gathered from, a row of it for each property."""
        return self.drawn(0)

    @cached_property
    def first(self) -> NDArray[np.int32]:
        """Return the dense matrix of SDDMM whose rows stay where they are."""
        return self.drawn(1)

    def drawn(self, stream: int) -> NDArray[np.int32]:
        """Draw a dense matrix."""
        return np.random.default_rng([self.requested.seed, stream]).integers(
            -LARGEST_NUMBER,
            LARGEST_NUMBER + 1,
            (self.partition.count, self.requested.property_bytes // 4),
            dtype=np.int32,
        )

    def kernel(self, rows: slice) -> Callable[[csr_array, NDArray[Any]], NDArray[np.int64]]:
        """Return what computes the kernel of these rows of the matrix, and the dense matrix."""
        if self.requested.kernel is Kernel.SDDMM:
            return partial(sddmm, first=self.first[rows])
        return spmv if self.requested.kernel is Kernel.SPMV else spmm

    def results(self, node: int) -> slice:
        """Return which results are a node's: rows, or nonzeros of SDDMM."""
        block = self.partition.block(node)
        if self.requested.kernel is not Kernel.SDDMM:
            return block
        return slice(self.matrix.indptr[block.start], self.matrix.indptr[block.stop])

    def properties(self) -> Words:
        """Return the dense matrix as words of memory; a model has none, only as many."""
        if not self.requested.model:
            return words(self.dense)
        shape = (self.partition.count, self.requested.property_bytes // 4)
        return np.broadcast_to(np.uint32(0), shape)

    def dealt(self, stream: Ints) -> list[list[Ints]]:
        """Return a node's idxs as work requests, given to its clients in turn or in shares."""
        commands = batches(stream, self.requested.batch)
        if len(commands) > 1 << TAG_BITS:
            raise ValueError(
                f"a batch of {self.requested.batch} idxs makes {len(commands)} work requests of a"
                f" node: at most {1 << TAG_BITS}"
            )
        return dealt(commands, self.clients, shares=self.requested.shares)

    def simulate(
        self,
        system: ClusterParams,
        simulator: Build,
        folder: Path,
        on_progress: Callable[[Sequence[int]], None] = lambda cycles: None,
        workers: Workers | None = None,
    ) -> Gathered:
        """Gather on the RTL in ``folder``, or on ``workers``.

        Now and then ``on_progress`` hears the cycles of all parts.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob(f"**/{PROGRESS_FILE}"):
            path.unlink()

        def look() -> None:
            cycles = [read_progress(path) for path in folder.glob(f"**/{PROGRESS_FILE}")]
            if any(cycles):
                on_progress(cycles)

        def work() -> Gathered:
            requested = self.requested
            return simulate_gather(
                self.gather,
                system,
                simulator,
                folder=folder,
                seed=requested.seed,
                processes=requested.processes or 1 if workers else requested.at_a_time,
                workers=workers,
            )

        return follow(work, look)

    def model(
        self,
        system: ClusterParams,
        on_progress: Callable[[int, float], None] = lambda cycles, share: None,
    ) -> GatherResult:
        """Count on the model; ``on_progress`` hears the cycle and the share of idxs consumed."""
        return model_gather(self.gather, system, on_progress)

    def check(self, gathered: Gathered) -> None:
        """Raise GatherError unless memories, counters and product are what they must be."""
        for node, result in enumerate(gathered.result.nodes):
            for done in result.completions:
                if done.cause != "DONE":
                    raise GatherError(
                        f"node {node}: request {done.tag} of unit {done.unit} ended as {done.cause}"
                    )
        check(self.gather, gathered)
        product = self.kernel(slice(None))(self.matrix, self.dense)
        for node in range(self.partition.nodes):
            memory = gathered.memory(self.gather, node)
            kernel = self.kernel(self.partition.block(node))
            observed = local_product(self.matrix, self.partition, node, memory, kernel=kernel)
            if not np.array_equal(observed, product[self.results(node)]):
                raise GatherError(f"node {node}: its part of the product is wrong")


def host_settings(latency: int, params: SnicParams) -> dict[str, int]:
    """Return the settings of a host that answers a read this many cycles later."""
    return {"latency": latency} if params.over_pcie else memory_settings(latency)


def memory_settings(latency: int) -> dict[str, int]:
    """Return the settings of a memory that takes so long to read and to write."""
    return {"read_latency": latency, "write_latency": latency}


def read_progress(path: Path) -> int:
    """Read the cycle in a file that may not be there yet, or not whole."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0


def check_rows(rows: int, params: SnicParams) -> None:
    """Raise ValueError if there are too many idxs, or bits of the filter."""
    if rows > 1 << params.rig.idx_bits:
        raise ValueError(
            f"a matrix of {rows:,} rows does not fit idxs of {params.rig.idx_bits} bits"
        )
    filter_bytes = FILTER_ADDRESS + 64 * (-(-rows // 512) + 1)
    if filter_bytes > 1 << snic_memory(params).address_bits:
        raise ValueError(
            f"the idx filter of {rows:,} rows does not fit SNIC memory of"
            f" {snic_memory(params).address_bits} address bits"
        )


def check_fits(size: int, params: SnicParams) -> None:
    """Raise ValueError if ``size`` bytes of properties, idxs and rings do not fit host memory."""
    bits = host_memory(params).address_bits
    if size > 1 << bits:
        raise ValueError(
            f"properties and idxs, {size:,} bytes, do not fit host memory of {1 << bits:,}:"
            f" fewer rows, smaller properties, or address_bits={(size - 1).bit_length()}"
        )
