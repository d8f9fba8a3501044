"""A sparse matrix product on simulated SNICs: gather on the RTL, multiply what has come."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from hdl.netsparse.params import SnicParams
from hdl.netsparse.protocol import MOST_PROPERTY_BYTES
from hdl.netsparse.rig.params import COUNT_BITS, TAG_BITS, Cause
from sim.harness.verilator import Build
from sim.netsparse.gather import (
    FILTER_ADDRESS,
    Gather,
    Gathered,
    GatherError,
    check,
    simulate_gather,
)
from sim.netsparse.gather_job import PROGRESS_FILE
from sim.netsparse.golden.gather import local_product, spmm, words
from sim.netsparse.surroundings.gather_system import GatherParams
from sim.netsparse.surroundings.hub import MOST_NODES
from sim.workloads.matrices import FAMILIES, load_matrix, with_integer_values
from sim.workloads.partition import Ints, Partition, batches

POLL_SECONDS = 0.1
LARGEST_NUMBER = 99  #: of a property, and its negative
LEAST_TIMEOUT = 2_000_000
IDX_CYCLES = 5000  #: more than an idx can take, one after another
MOST_MEMORY_LATENCY = 1023
MOST_LINK_LATENCY = 255
RING_SIZE = 8  #: logarithm of the places of a ring


@dataclass(frozen=True, kw_only=True)
class SpmmOptions:
    """How a product is run; nothing of it needs another build."""

    property_bytes: int = 64
    units: int | None = None  #: clients of a node; None: all that are no servers
    servers: int | None = None  #: of a node; None: half of the units
    batch: int = 1024  #: idxs of a work request
    filter: bool = True
    coalesce: bool = True
    concatenate: bool = True
    aligned: bool = True  #: whole lines of host memory, else spans of 128 bytes
    read_delay: int = 500  #: DelayCycles
    response_delay: int = 500  #: DelayCycles
    host_latency: int = 128  #: cycles of host memory
    dram_latency: int = 64  #: cycles of the SNIC's
    link_latency: int = 100  #: cycles of the network, one way
    seed: int = 1
    watchdog: int = 200_000  #: cycles without progress that end a work request
    rings: bool = False  #: work requests and completions in rings in host memory, else in registers


def matrix_for(text: str, nodes: int, seed: int) -> csr_array:
    """The matrix that a user names, with whole values; MatrixError if there is none.

    A family is made for ``nodes`` with ``seed`` unless its own options say otherwise; of a file,
    only the pattern is used.
    """
    family, _, settings = text.partition(":")
    if family not in FAMILIES:
        return with_integer_values(load_matrix(text), seed=seed)
    given = {setting.partition("=")[0].strip() for setting in settings.split(",")}
    chosen: dict[str, Any] = {"nodes": nodes, "seed": seed}
    return load_matrix(text, **{name: chosen[name] for name in chosen.keys() - given})


class SpmmRun:
    """``matrix @ dense`` over the nodes of a partition; ValueError for what cannot be run.

    Every node gathers the rows of ``dense`` that its nonzeros name and multiplies its block of
    rows. Numbers are small whole ones, so that the product is exact.
    """

    def __init__(
        self, matrix: csr_array, nodes: int, params: SnicParams, options: SpmmOptions
    ) -> None:
        self.matrix = matrix
        self.params = params
        self.options = options
        check_options(params, options, nodes)
        self.servers = options.servers
        if self.servers is None:
            self.servers = max(1, min(params.units // 2, params.units - (options.units or 1)))
        self.units = params.units - self.servers if options.units is None else options.units
        if self.units < 1 or self.servers < 1 or self.units + self.servers > params.units:
            raise ValueError(
                f"client units and servers must be at least 1 each and together at most the"
                f" {params.units} units of the build, not {self.units} and {self.servers}"
            )
        self.partition = Partition.blocks(matrix.indptr.size - 1, nodes)
        rows = self.partition.count
        check_rows(rows, params)
        check_fits(rows * options.property_bytes, params)
        self.dense = np.random.default_rng([options.seed, 0]).integers(
            -LARGEST_NUMBER,
            LARGEST_NUMBER + 1,
            (rows, options.property_bytes // 4),
            dtype=np.int32,
        )
        self.gather = Gather(
            partition=self.partition,
            properties=words(self.dense),
            idxs=[self.dealt(stream) for stream in self.partition.idx_streams(matrix)],
            servers=self.servers,
            idx_bytes=4 if rows <= 1 << 32 else 8,
            watchdog=options.watchdog,
            rings=RING_SIZE if options.rings else None,
            mechanisms={
                "filter": int(options.filter),
                "coalesce": int(options.coalesce),
                "concatenate": int(options.concatenate),
                "aligned": int(options.aligned),
                "read_delay": options.read_delay,
                "response_delay": options.response_delay,
            },
            host=memory_settings(options.host_latency),
            dram=memory_settings(options.dram_latency),
            hub={"latency": options.link_latency},
            timeout_cycles=LEAST_TIMEOUT + IDX_CYCLES * matrix.indices.size,
        )
        check_fits(max(self.gather.host_bytes(node) for node in range(nodes)), params)

    def dealt(self, stream: Ints) -> list[list[Ints]]:
        """A node's idxs as work requests, given to its clients in turn."""
        commands = batches(stream, self.options.batch)
        if len(commands) > 1 << TAG_BITS:
            raise ValueError(
                f"a batch of {self.options.batch} idxs makes {len(commands)} work requests of a"
                f" node: at most {1 << TAG_BITS}"
            )
        return [commands[unit :: self.units] for unit in range(self.units)]

    def simulate(
        self,
        system: GatherParams,
        simulator: Build,
        folder: Path,
        on_progress: Callable[[int], None] = lambda cycles: None,
    ) -> Gathered:
        """Gather on the RTL in ``folder``; ``on_progress`` hears the cycle now and then."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PROGRESS_FILE).unlink(missing_ok=True)
        ends: list[Gathered | BaseException] = []

        def work() -> None:
            try:
                ends.append(
                    simulate_gather(
                        self.gather, system, simulator, folder=folder, seed=self.options.seed
                    )
                )
            except BaseException as failure:  # handed on to the caller's thread
                ends.append(failure)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        while thread.is_alive():
            if cycles := read_progress(folder / PROGRESS_FILE):
                on_progress(cycles)
            time.sleep(POLL_SECONDS)
        end = ends[0]
        if isinstance(end, BaseException):
            raise end
        return end

    def check(self, gathered: Gathered) -> None:
        """GatherError unless memories, counters and product are what they must be."""
        for node, result in enumerate(gathered.result.nodes):
            for done in result.completions:
                if done.cause is not Cause.DONE:
                    raise GatherError(
                        f"node {node}: request {done.tag} of unit {done.unit} ended as"
                        f" {done.cause.name}"
                    )
        check(self.gather, gathered)
        product = spmm(self.matrix, self.dense)
        for node in range(self.partition.nodes):
            memory = gathered.memory(self.gather, node)
            found = local_product(self.matrix, self.partition, node, memory)
            if not np.array_equal(found, product[self.partition.block(node)]):
                raise GatherError(f"node {node}: its rows of the product differ from scipy's")


def memory_settings(latency: int) -> dict[str, int]:
    """A simulated memory that takes so long to read and to write."""
    return {"read_latency": latency, "write_latency": latency}


def read_progress(path: Path) -> int:
    """The cycle in a file that may not be there yet, or not whole."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0


def check_options(params: SnicParams, options: SpmmOptions, nodes: int) -> None:
    """ValueError for what this build cannot do."""
    check_nodes(params, nodes)
    largest = min(params.rig.most_property_bytes, MOST_PROPERTY_BYTES)
    if options.property_bytes % 4 or not 4 <= options.property_bytes <= largest:
        raise ValueError(
            f"property bytes must be a multiple of 4, from 4 to the {largest} of the build:"
            f" {options.property_bytes}"
        )
    limits = {
        "batch": (1, (1 << COUNT_BITS) - 1),
        "read_delay": (0, params.most_delay),
        "response_delay": (0, params.most_delay),
        "host_latency": (0, MOST_MEMORY_LATENCY),
        "dram_latency": (0, MOST_MEMORY_LATENCY),
        "link_latency": (0, MOST_LINK_LATENCY),
    }
    for name, (least, most) in limits.items():
        value = getattr(options, name)
        if not least <= value <= most:
            raise ValueError(f"{name.replace('_', ' ')} must be from {least} to {most}: {value}")


def check_nodes(params: SnicParams, nodes: int) -> None:
    """ValueError if the build has no names for so many nodes, or the network no ports."""
    most = min(params.rig.nodes, MOST_NODES)
    if 2 <= nodes <= most:
        return
    text = f"nodes must be from 2 to the {most} of the build: {nodes}"
    if most == MOST_NODES:
        text = f"nodes must be from 2 to {most}, the ports of the simulated network: {nodes}"
    elif 2 <= nodes <= MOST_NODES:
        text += f"; --set nodes={nodes} builds for so many"
    raise ValueError(text)


def check_rows(rows: int, params: SnicParams) -> None:
    """ValueError if idxs or the filter's bits are too many."""
    if rows > 1 << params.rig.idx_bits:
        raise ValueError(
            f"a matrix of {rows:,} rows does not fit idxs of {params.rig.idx_bits} bits"
        )
    system = GatherParams(snic=params)
    filter_bytes = FILTER_ADDRESS + 64 * (-(-rows // 512) + 1)
    if filter_bytes > 1 << system.dram.address_bits:
        raise ValueError(
            f"the idx filter of {rows:,} rows does not fit SNIC memory of"
            f" {system.dram.address_bits} address bits"
        )


def check_fits(size: int, params: SnicParams) -> None:
    """ValueError if so many bytes of properties, idxs and rings do not fit host memory."""
    bits = GatherParams(snic=params).host.address_bits
    if size > 1 << bits:
        raise ValueError(
            f"properties and idxs, {size:,} bytes, do not fit host memory of {1 << bits:,}:"
            f" fewer rows, smaller properties, or address_bits={(size - 1).bit_length()}"
        )
