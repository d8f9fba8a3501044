"""Gathers through the rings of a node's clients."""

import os
import pickle
import random
from pathlib import Path

import numpy as np

from hdl.common.axi import Response
from hdl.netsparse.rig.params import Cause
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import Simulation, params_in_simulator, run
from sim.netsparse.driver import SnicDriver
from sim.netsparse.gather import Gather, build_gather, fill_memories
from sim.netsparse.gather_in_simulator import set_up, set_up_network, together
from sim.netsparse.gather_job import JOB
from sim.netsparse.golden.gather import host_memory_before
from sim.netsparse.ring_driver import RingPlaces, SnicRings
from sim.netsparse.surroundings.cluster_system import ClusterParams, ClusterSystem
from sim.netsparse.surroundings.host_memory import HostMemory
from sim.workloads.partition import Partition
from tests.sim.netsparse.cases import EIGHT

ROWS, WORDS = 128, 16
CLIENTS, REQUESTS, IDXS = 3, 12, 8  # requests of a client, idxs of a request
RINGS = 5  # logarithm of the places of the largest rings here
JOB_PICKLE = "rings.pickle"


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
    params, simulator = build_gather(EIGHT, 2)
    (folder / JOB_PICKLE).write_bytes(pickle.dumps(gather))
    run(
        simulator,
        Simulation(
            test_module=module,
            params=params,
            component=ClusterSystem,
            plusargs=fill_memories(gather, folder),
            env={JOB: str(folder)},
        ),
    )


class Bench:
    """Has both SNICs set up, rings of node 0, and its requests in the order of their tags."""

    async def begin(self, dut, request_size=RINGS, completion_size=RINGS):
        self.dut = dut
        self.gather = pickle.loads((Path(os.environ[JOB]) / JOB_PICKLE).read_bytes())
        params = params_in_simulator(ClusterParams)
        self.memory, _ = (HostMemory(dut, params.host, k) for k in range(2))
        self.settings = params.host.settings
        self.surround()
        dut.dram.value = pack(params.dram.settings, {})
        dut.link.value = dut.faulty_link.value = dut.fail_index.value = dut.dump.value = 0
        await start(dut)
        before = host_memory_before(self.gather.properties, self.gather.partition, 0)
        await self.memory.write(self.gather.property_address, before.tobytes())
        snics = [SnicDriver(dut, params.snic, f"s_axil_{k}") for k in range(2)]
        job = self.gather.job(params.snic)
        await set_up_network(dut, params.network, job)
        await together(set_up(snic, k, job, job.nodes[k]) for k, snic in enumerate(snics))
        self.snic, self.other = snics
        self.queues = job.nodes[0].requests
        self.requests = [(unit, one) for unit, queue in enumerate(self.queues) for one in queue]
        random.shuffle(self.requests)
        places = RingPlaces(
            address=self.gather.ring_places(0).address,
            request_size=request_size,
            completion_size=completion_size,
        )
        self.rings = SnicRings(self.snic, self.memory, places)
        return self

    def surround(self, **failure):
        """Set latencies of host memories, and what fails of node 0's."""
        ram = {"read_latency": 30, "write_latency": 20} | failure
        self.dut.host.value = pack(self.settings, ram)

    def failing(self, kind, address):
        beat = address // 64
        return {f"fail_{kind}": 1, f"fail_{kind}_beat": beat, "fail_response": Response.SLVERR}

    async def collect(self, count):
        found = []
        while len(found) < count:
            found += await self.rings.completions()
        return found

    async def check(self, found, requests):
        """Check that each request is done, once, and all properties are in host memory."""
        assert sorted(done.tag for done in found) == sorted(one.tag for _, one in requests)
        assert {done.cause for done in found} == {Cause.DONE}
        await self.snic.at_rest()
        golden = self.gather.golden()[0]
        start, size = self.gather.property_address, self.gather.properties.nbytes
        assert await self.memory.read(start, size) == golden[start : start + size]

    def in_order(self, found, requests):
        """Check that each unit was in order for ``requests`` that were submitted in turn."""
        for unit in range(CLIENTS):
            asked = [one.tag for mine, one in requests if mine == unit]
            assert [done.tag for done in found if done.unit == unit] == asked
