"""Gathers through the rings of a node's clients."""

import random

import numpy as np

from hdl.common.axi import Response
from hdl.common.rings import DESCRIPTOR_BYTES
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from sim.netsparse.builds import build_gather
from sim.netsparse.gather import Gather
from sim.netsparse.gather_in_simulator import set_up, set_up_network, snics_of, together
from sim.netsparse.golden.gather import host_memory_before
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.surroundings.side_port import SidePort
from sim.workloads.partition import Partition
from tests.sim.netsparse.cases import EIGHT, job_in_simulator, run_tests

ROWS, WORDS = 128, 16
CLIENTS, REQUESTS, IDXS = 3, 12, 8  # requests of a client, idxs of a request
RINGS = 5  # logarithm of the places of the largest rings here


def simulate_bench(folder, rng, module):
    """Run the cocotb tests of ``module``, which find a :class:`Bench`'s gather in ``folder``."""
    idxs = [rng.integers(0, ROWS, (CLIENTS, REQUESTS, IDXS)), np.empty((CLIENTS, 0, 0))]
    gather = Gather(
        partition=Partition.blocks(ROWS, 2),
        properties=rng.integers(0, 1 << 32, (ROWS, WORDS), dtype=np.uint32),
        idxs=[[list(queue) for queue in node] for node in idxs],
        servers=2,
        rings=RINGS,
    )
    run_tests(module, *build_gather(EIGHT, 2), folder, gather)


class Bench:
    """Has both SNICs set up, and the requests of node 0 by unit, and in any order."""

    async def begin(self, dut):
        self.dut = dut
        self.gather = job_in_simulator()
        params = params_in_simulator(ClusterParams)
        memories = [SidePort(dut, params.host, k) for k in range(2)]
        self.memory = memories[0]
        self.settings = params.host.settings
        self.surround()
        dut.dram.value = pack(params.dram.settings, {})
        dut.link.value = dut.faulty_link.value = dut.fail_index.value = dut.dump.value = 0
        await start(dut)
        before = host_memory_before(self.gather.properties, self.gather.partition, 0)
        await self.memory.write_memory(self.gather.property_address, before.tobytes())
        snics = snics_of(dut, params, memories)
        job = self.gather.job(params.snic)
        await set_up_network(dut, params.network, job)
        await together(set_up(snic, k, job, job.nodes[k]) for k, snic in enumerate(snics))
        self.snic, self.other = snics
        self.queues = job.nodes[0].requests
        self.requests = self.of_all(self.queues)
        random.shuffle(self.requests)
        return self

    async def open(self, requests=1 << RINGS, completions=1 << RINGS):
        """Let node 0 use rings with these places from now on."""
        self.address, _ = self.gather.ring_places(0)
        self.entries = self.address + DESCRIPTOR_BYTES * requests
        await self.snic.use_rings(self.address, requests, completions)

    def of_all(self, queues):
        """Return the requests of all units."""
        return [request for queue in queues for request in queue]

    def surround(self, **failure):
        """Set latencies of host memories, and what fails of node 0's."""
        ram = {"read_latency": 30, "write_latency": 20} | failure
        self.dut.host.value = pack(self.settings, ram)

    def failing(self, kind, address):
        beat = address // 64
        return {f"fail_{kind}": 1, f"fail_{kind}_beat": beat, "fail_response": Response.SLVERR}

    async def collect(self, count):
        result = []
        while len(result) < count:
            result += await self.snic.completions()
        return result

    async def check(self, result, requests):
        """Check that each request is done, once, and all properties are in host memory."""
        assert sorted(done.tag for done in result) == sorted(item.tag for item in requests)
        assert {done.cause for done in result} == {"DONE"}
        await self.snic.rest(servers=True)
        golden = self.gather.golden()[0]
        start, size = self.gather.property_address, self.gather.properties.nbytes
        assert await self.memory.read_memory(start, size) == golden[start : start + size]

    def in_order(self, result, requests):
        """Check that each unit was in order for ``requests`` that were submitted in turn."""
        for unit in range(CLIENTS):
            requested = [item.tag for item in requests if item.unit == unit]
            assert [done.tag for done in result if done.unit == unit] == requested
