"""Runs gathers on simulated clusters: from a matrix to the hosts' memories and back."""

import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdl.common.component import Component
from hdl.common.rings import DESCRIPTOR_BYTES
from hdl.netsparse.params import SnicParams
from hdl.netsparse.queue.params import ENTRY_BYTES
from sim.harness.clusters import Cluster
from sim.harness.parts import Workers
from sim.harness.verilator import Build
from sim.netsparse.builds import part_of
from sim.netsparse.conservation import check_conservation
from sim.netsparse.gather_job import (
    JOB_FILE,
    PROGRESS_FILE,
    RESULT_FILE,
    GatherJob,
    GatherResult,
    NodeJob,
    joined,
)
from sim.netsparse.golden.gather import Expected, Words, expected, host_memory_before
from sim.netsparse.golden.gather import gather as golden_gather
from sim.netsparse.host.snic.request import Request
from sim.netsparse.spine_choice import SpineChoice
from sim.netsparse.surroundings.cluster_system import ClusterParams, ClusterSystem
from sim.netsparse.surroundings.node import DRAM, HOST
from sim.netsparse.topology import Members
from sim.surroundings.axi_ram import dump_file, ram_file
from sim.surroundings.exchange import epoch_of
from sim.surroundings.pcie.params import host_dump, host_file
from sim.workloads.partition import Ints, Partition

LINE = 128
FILTER_ADDRESS = 64  #: address of the idx filter in SNIC memory; bytes around it must not change
GUARD = 0xA5  #: value of the bytes around it
KINDS = (HOST, DRAM)  #: of a node's memories


class GatherError(AssertionError):
    """Reports that the hardware's result is not the golden model's."""


@dataclass(frozen=True, kw_only=True)
class Gather:
    """Describes a gather: every node's units read their idxs and bring properties from the owners.

    ``idxs`` are batches by node and unit: ``idxs[node][unit]`` is a list of arrays, a work
    request each. Host memory holds the property array from ``property_address`` on, the idxs
    behind it, and behind these the rings, if requests go through rings.
    """

    partition: Partition
    properties: Words  #: [idx, word]
    idxs: Sequence[Sequence[Sequence[Ints]]]
    servers: Sequence[int] | int  #: server units of each node, or of every one: the highest
    idx_bytes: int = 4
    property_address: int = 0
    watchdog: int = 0
    rings: int | None = None  #: logarithm of the rings' places; None: registers
    mechanisms: Mapping[str, int] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    dram: Mapping[str, Any] = field(default_factory=dict)
    link: Mapping[str, Any] = field(default_factory=dict)
    faulty_link: int = 0
    switch: Mapping[str, int] = field(default_factory=dict)
    spine_choice: SpineChoice = SpineChoice.HOME
    fail_index: int = 0
    timeout_cycles: int = 20_000_000

    @property
    def property_bytes(self) -> int:
        """Return the number of bytes of a property."""
        return 4 * self.properties.shape[1]

    @property
    def idx_address(self) -> int:
        """Return where the first node's first idxs lie, which is not where a line begins."""
        end = self.property_address + self.properties.nbytes
        return -(-end // LINE) * LINE + 2 * self.idx_bytes

    def requests(self, node: int) -> list[list[Request]]:
        """Return a node's work requests by unit; their idxs lie one behind another."""
        requests: list[list[Request]] = []
        address, tag = self.idx_address, 0
        for unit, batches in enumerate(self.idxs[node]):
            queue = []
            for batch in batches:
                queue.append(
                    Request(
                        unit=unit,
                        tag=tag,
                        idx_address=address,
                        count=len(batch),
                        wide=self.idx_bytes == 8,
                        property_address=self.property_address,
                        property_bytes=self.property_bytes,
                        watchdog=self.watchdog,
                    )
                )
                address += self.idx_bytes * len(batch)
                tag += 1
            requests.append(queue)
        return requests

    def idx_end(self, node: int) -> int:
        """Return the address behind a node's last idx."""
        count = sum(len(batch) for batches in self.idxs[node] for batch in batches)
        return self.idx_address + self.idx_bytes * count

    def image(self, node: int, memory: Words) -> bytes:
        """Return host memory of a node whose property array is ``memory``."""
        idxs = self.flat(node).astype(f"<u{self.idx_bytes}").tobytes()
        image = bytearray([GUARD]) * (-(-self.idx_end(node) // LINE) * LINE)
        address = self.property_address
        image[address : address + memory.nbytes] = memory.tobytes()
        image[self.idx_address : self.idx_address + len(idxs)] = idxs
        if self.rings is not None:
            image += bytes([GUARD]) * (-len(image) % (DESCRIPTOR_BYTES << self.rings))
        return bytes(image)

    def ring_places(self, node: int) -> tuple[int, int] | None:
        """Return where a node's rings lie, behind the image of its memory, and their places."""
        if self.rings is None:
            return None
        whole = max(LINE, DESCRIPTOR_BYTES << self.rings)
        return -(-self.idx_end(node) // whole) * whole, 1 << self.rings

    def ring_end(self, node: int) -> int | None:
        """Return the address behind a node's rings, if it has any."""
        places = self.ring_places(node)
        return places and places[0] + (DESCRIPTOR_BYTES + ENTRY_BYTES) * places[1]

    def host_image(self, node: int, memory: Words) -> bytes:
        """Return a node's whole host memory before the gather, rings included, and a line."""
        image, end = self.image(node, memory), self.ring_end(node)
        return image + bytes([GUARD]) * (end + LINE - len(image)) if end else image

    def host_bytes(self, node: int) -> int:
        """Return how many bytes of a node's host memory the gather needs."""
        end = self.ring_end(node)
        return end + LINE if end else self.idx_end(node)

    def filter_image(self) -> bytes:
        """Return SNIC memory before a gather: what was there, and a line around the filter."""
        lines = -(-self.partition.count // 512)
        return bytes([GUARD]) * (64 * (lines + 2))

    def job(self, params: SnicParams) -> GatherJob:
        """Return the job of the gather that the simulator carries out.

        ValueError for properties that are longer than the build takes.
        """
        most, nodes = params.rig.most_property_bytes, self.partition.nodes
        if self.property_bytes > most:
            raise ValueError(
                f"properties may have {most} bytes in this build: {self.property_bytes}"
            )
        servers = [self.servers] * nodes if isinstance(self.servers, int) else self.servers
        return GatherJob(
            boundaries=self.partition.boundaries,
            nodes=[
                NodeJob(
                    requests=self.requests(node),
                    servers=range(params.units - servers[node], params.units),
                    served_address=self.property_address,
                    served_bytes=self.property_bytes,
                    filter_address=FILTER_ADDRESS,
                    rings=self.ring_places(node),
                )
                for node in range(nodes)
            ],
            mechanisms=self.mechanisms,
            host=self.host,
            dram=self.dram,
            link=self.link,
            faulty_link=self.faulty_link,
            switch=self.switch,
            spine_choice=self.spine_choice,
            fail_index=self.fail_index,
            timeout_cycles=self.timeout_cycles,
        )

    def flat(self, node: int) -> Ints:
        """Return all idxs of a node."""
        every = (batch for batches in self.idxs[node] for batch in batches)
        return np.concatenate([np.empty(0, np.int64), *every])

    def expected(self, node: int) -> Expected:
        """Return what the counters of a node must say."""
        nothing = np.empty(0, np.int64)
        units = [np.concatenate([nothing, *batches]) for batches in self.idxs[node]]
        return expected(self.partition, node, units)

    def golden(self) -> list[bytes]:
        """Return every node's host memory after the gather."""
        idxs = [self.flat(node) for node in range(self.partition.nodes)]
        after = golden_gather(self.properties, self.partition, idxs)
        return [self.image(node, memory) for node, memory in enumerate(after)]


@dataclass(frozen=True)
class Gathered:
    """Holds a gather that has run."""

    result: GatherResult
    hosts: list[bytes]  #: memory of every node's host afterwards
    drams: list[bytes]

    def memory(self, gather: Gather, node: int) -> NDArray[np.uint32]:
        """Return the property array in host memory of ``node``."""
        start = gather.property_address
        block = self.hosts[node][start : start + gather.properties.nbytes]
        return np.frombuffer(block, "<u4").reshape(gather.properties.shape)


def simulate_gather(
    gather: Gather,
    params: ClusterParams,
    simulator: Build,
    *,
    folder: Path | None = None,
    seed: int | None = None,
    processes: int | None = None,
    workers: Workers | None = None,
) -> Gathered:
    """Run a gather on the RTL; raise ``SimulationError`` if it ends badly.

    With the simulators of all parts (:func:`build_parts`) each node and each switch is a process of
    its own, of which at most ``processes`` work at a time; on ``workers``, if there are any. Result
    and cycles are the same.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="gather-") as scratch:
            again = partial(simulate_gather, gather, params, simulator, folder=Path(scratch))
            return again(seed=seed, processes=processes, workers=workers)
    folder = folder.absolute()  # the simulator works in it, and is told the files of its memories
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JOB_FILE).write_bytes(pickle.dumps((gather.job(params.snic), params)))
    topology = params.network.topology
    cluster = Cluster(
        simulator=simulator,
        test_module="sim.netsparse.gather_in_simulator",
        folder=folder,
        plusargs=fill_memories(gather, folder, files_of(params)),
        everything=topology.everything,
        parts=topology.parts,
        links=topology.cuts,
        epoch=epoch_of(gather.link.get("latency", 0)),
        component=partial(hardware_of, params),
        files=files_read_by,
        progress=PROGRESS_FILE,
    )
    cluster.run(seed=seed, processes=processes, workers=workers)
    folders = cluster.folders
    results = [pickle.loads((each / RESULT_FILE).read_bytes()) for each in folders]
    dumps = [
        [(folder / f"dump_{2 * node + kind}.bin").read_bytes() for node in range(params.nodes)]
        for kind in KINDS
    ]
    return Gathered(joined(topology, results), *dumps)


def hardware_of(params: ClusterParams, members: Members) -> Component:
    """Return the hardware of a cluster, or of one of its parts."""
    everything = members == params.network.topology.everything
    return ClusterSystem(params) if everything else part_of(params, members)


def files_read_by(members: Members) -> list[str]:
    """Return the names of the files that a part reads in the folder of all parts."""
    return [JOB_FILE, *(image_file(2 * node + kind) for node in members.nodes for kind in KINDS)]


Naming = Callable[[int, Path], str]  #: the argument that names a memory's file
#: How a kind of memory is told of the file that it holds, and of its dump.
Files = Mapping[int, tuple[Naming, Naming]]
BEHIND_BUSES: Files = dict.fromkeys(KINDS, (ram_file, dump_file))


def files_of(params: ClusterParams) -> Files:
    """Return how memories of a cluster get the names of their files."""
    if not params.snic.over_pcie:
        return BEHIND_BUSES

    def of_host(name: Naming) -> Naming:
        return lambda index, path: name(index // 2, path)

    return {**BEHIND_BUSES, HOST: (of_host(host_file), of_host(host_dump))}


def image_file(index: int) -> str:
    """Return the name of the file that fills a memory."""
    return f"ram_{index}.bin"


def fill_memories(gather: Gather, folder: Path, files: Files = BEHIND_BUSES) -> list[str]:
    """Write files into ``folder``; return the arguments that fill memories and name dumps."""
    arguments = []
    for node in range(gather.partition.nodes):
        before = host_memory_before(gather.properties, gather.partition, node)
        images = {HOST: gather.host_image(node, before), DRAM: gather.filter_image()}
        for kind, image in images.items():
            index = 2 * node + kind
            path = folder / image_file(index)
            path.write_bytes(image)
            names, names_dump = files[kind]
            arguments += [names(index, path), names_dump(index, folder / f"dump_{index}.bin")]
    return arguments


def check(gather: Gather, gathered: Gathered) -> None:
    """Raise :class:`GatherError` unless memories and counters are what they must be."""
    for node, (required, result) in enumerate(zip(gather.golden(), gathered.hosts, strict=True)):
        if required != result[: len(required)]:
            first = next(
                k for k, (a, b) in enumerate(zip(required, result, strict=False)) if a != b
            )
            raise GatherError(
                f"host memory of node {node} differs from byte {first:#x} on"
                f" (properties lie at {gather.property_address:#x}, idxs at"
                f" {gather.idx_address:#x})"
            )
        end = gather.ring_end(node)
        if end and result[end:][:LINE].strip(bytes([GUARD])):
            raise GatherError(f"host memory of node {node} was written behind its rings")
    check_counters(gather, gathered.result)
    for dram in gathered.drams:
        if dram[:FILTER_ADDRESS].strip(bytes([GUARD])) or dram[-64:].strip(bytes([GUARD])):
            raise GatherError("SNIC memory beside the idx filter was written")


def check_counters(gather: Gather, result: GatherResult) -> None:
    """Raise :class:`GatherError` unless the counters say what they must."""
    names = ("consumed", "coalesced", "filtered", "local", "rejected", "prs")
    for node, item in enumerate(result.nodes):
        totals = item.totals
        try:
            gather.expected(node).check(
                **{name: totals[name] for name in names},
                filtering=bool(gather.mechanisms.get("filter", 1)),
                coalescing=bool(gather.mechanisms.get("coalesce", 1)),
            )
        except AssertionError as error:
            raise GatherError(f"node {node}: {error}") from None
        check_bytes(node, item.snic, gather.property_bytes)
        for unit in item.units:
            parts = sum(unit[name] for name in names[1:])
            if unit["consumed"] != parts:
                raise GatherError(f"a unit of node {node} lost an idx: {unit}")
    try:
        check_conservation(result)
    except AssertionError as error:
        raise GatherError(str(error)) from None


def check_bytes(node: int, counts: Mapping[str, int], property_bytes: int) -> None:
    """Check that headers cost 64 bytes a packet and 18 a PR: 64 / n + 18 for each of n."""
    for name, payload in (("reads", 0), ("responses", property_bytes)):
        for path in ("sent", "received"):
            packets, octets, prs = (
                counts[f"{name}_{path}_{what}"] for what in ("packets", "bytes", "prs")
            )
            if octets != 64 * packets + (18 + payload) * prs:
                raise GatherError(f"node {node} {path} {octets} bytes of {prs} {name}: {counts}")
