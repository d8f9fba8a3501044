"""Lets a host submit by rings in its memory, on whole SNICs: node 0 asks, node 1 serves."""

import os
import pickle
import random
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from hdl.common.axi import Response
from hdl.common.rings import DESCRIPTOR_BYTES, Fault
from hdl.netsparse.queue.params import ENTRY_BYTES, NO_UNIT
from hdl.netsparse.rig.params import Cause
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import Simulation, params_in_simulator, run
from sim.netsparse.driver import RequestRefused, SnicDriver
from sim.netsparse.gather import Gather, build_gather, fill_memories
from sim.netsparse.gather_in_simulator import set_up, set_up_network, together
from sim.netsparse.gather_job import JOB
from sim.netsparse.golden.gather import host_memory_before
from sim.netsparse.ring_driver import RingPlaces, SnicRings
from sim.netsparse.surroundings.cluster_system import ClusterParams, ClusterSystem
from sim.netsparse.surroundings.host_memory import HostMemory
from sim.netsparse.work_request import Completion
from sim.surroundings.axi_memory import Fault as Misdeed
from sim.workloads.partition import Partition
from tests.sim.netsparse.cases import EIGHT

ROWS, WORDS = 128, 16
CLIENTS, REQUESTS, IDXS = 3, 12, 8  # requests of a client, idxs of a request
RINGS = 5  # logarithm of the places of the largest rings here
JOB_PICKLE = "rings.pickle"


def test_rings(tmp_path, rng):
    """This runs all of the module's tests in one simulation."""
    simulate_bench(tmp_path, rng, __name__)


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


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_beside_the_ring(dut):
    """With more in the ring than units take, registers are refused, or served."""
    bench = await Bench().begin(dut)
    await bench.rings.open()
    by_ring, by_registers = bench.requests[:24], bench.requests[24:]
    refusals = 0

    async def submit():
        nonlocal refusals
        for unit, request in by_registers:
            while True:
                try:
                    await bench.snic.submit(unit, request)
                    break
                except RequestRefused:
                    refusals += 1

    submitting = cocotb.start_soon(submit())
    await bench.rings.submit(by_ring)
    found = await bench.collect(len(bench.requests))
    await submitting
    assert refusals
    tags = {one.tag for _, one in by_ring}
    bench.in_order([done for done in found if done.tag in tags], by_ring)
    bench.in_order([done for done in found if done.tag not in tags], by_registers)
    await bench.check(found, bench.requests)
    await bench.rings.ring_doorbell()
    await ClockCycles(dut.clk, 20)
    assert not int(dut.interrupts.value), "all was read"


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(size=[0, 1, 3])
async def small_rings_go_round(dut, size):
    bench = await Bench().begin(dut, size, size)
    await bench.rings.open()
    found = await bench.rings.run(bench.queues)
    await bench.check(found, bench.requests)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_host_that_reads_nothing_loses_nothing(dut):
    """When the completion ring is full everything stops, and goes on once the host reads."""
    bench = await Bench().begin(dut, completion_size=1)
    await bench.rings.open()
    await bench.rings.submit(bench.requests[: 1 << RINGS])
    await ClockCycles(dut.clk, 6000)
    assert await bench.snic.read("completion_ring_full")
    assert await bench.snic.read("completion_producer") == 2
    assert int(dut.interrupts.value) == 1
    found = await bench.collect(1 << RINGS)
    assert len({done.tag for done in found}) == 1 << RINGS
    assert {done.cause for done in found} == {Cause.DONE}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_ring_stops_in_the_middle(dut):
    """What was fetched is done; the host finds how much that was, and submits the rest again."""
    bench = await Bench().begin(dut)
    await bench.rings.open()
    asked = [(0, one) for one in bench.queues[0]] + [(1, one) for one in bench.queues[1]]
    await bench.rings.submit(asked)
    await ClockCycles(dut.clk, 100)
    await bench.snic.write(request_ring=0)
    while await bench.snic.read("request_ring_busy"):
        await ClockCycles(dut.clk, 50)
    await bench.snic.at_rest()
    first = await bench.rings.poll()
    assert 0 < len(first) < len(asked)
    await bench.rings.close()
    await bench.rings.open()
    rest = asked[len(first) :]
    await bench.rings.submit(rest)
    found = await bench.collect(len(rest))
    bench.in_order(first + found, asked)
    assert {done.cause for done in first + found} == {Cause.DONE}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_descriptor_that_cannot_be_read_is_told(dut):
    bench = await Bench().begin(dut)
    await bench.rings.open()
    address = bench.rings.at.address + 3 * DESCRIPTOR_BYTES
    bench.surround(**bench.failing("read", address))
    asked = bench.requests[:6]
    await bench.rings.submit(asked)
    found = await bench.collect(6)
    _, wrong = asked[3]
    assert Completion(NO_UNIT, wrong.tag, Cause.DESCRIPTOR) in found
    bench.in_order(found, asked[:3] + asked[4:])
    bench.surround()
    await bench.rings.submit([asked[3], *bench.requests[6:30]])
    found = [done for done in found if done.unit != NO_UNIT] + await bench.collect(25)
    await bench.rings.submit(bench.requests[30:])
    await bench.check(found + await bench.collect(6), bench.requests)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_completion_that_cannot_be_written_stops_the_ring(dut):
    """The host is interrupted; what waits can be read in registers, and all works again."""
    bench = await Bench().begin(dut)
    await bench.rings.open()
    address = bench.rings.at.completion_address + 4 * ENTRY_BYTES
    bench.surround(**bench.failing("write", address))
    await bench.rings.submit(bench.requests[:20])
    while not int(dut.interrupts.value):
        await ClockCycles(dut.clk, 1)
    await bench.snic.at_rest()
    assert Fault(await bench.snic.read("completion_ring_fault")) is Fault.WRITE
    written = await bench.snic.read("completion_producer")
    assert written <= 4
    bench.surround()
    await bench.rings.close()
    assert Fault(await bench.snic.read("completion_ring_fault")) is Fault.NONE
    read = 0
    while await bench.snic.read("completion_valid"):
        assert (await bench.snic.completion()).cause is Cause.DONE
        read += 1
    assert 12 <= written + read < 20
    await bench.snic.clear_filter()
    await bench.rings.open()
    await bench.check(await bench.rings.run(bench.queues), bench.requests)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(gone=[("read", Misdeed.MUTE), ("write", Misdeed.DEAF)])
async def a_host_memory_that_is_gone_is_told(dut, gone):
    """Its bus is given up: descriptors are not read, or completions stop; both recover."""
    kind, fault = gone
    bench = await Bench().begin(dut)
    await bench.rings.open()
    await bench.snic.write(memory_timeout=400)
    address = bench.rings.at.address if kind == "read" else bench.rings.at.completion_address
    bench.surround(**bench.failing(kind, address) | {"fault": fault})
    await bench.rings.submit(bench.requests[:6])
    if kind == "read":
        ends = [(done.unit, done.cause) for done in await bench.collect(6)]
        assert ends == [(NO_UNIT, Cause.DESCRIPTOR)] * 6
    else:
        while not int(dut.interrupts.value):
            await ClockCycles(dut.clk, 1)
        assert Fault(await bench.snic.read("completion_ring_fault")) is Fault.WRITE
    await bench.snic.at_rest()
    assert await bench.snic.read(f"host_{kind}_silent")
    bench.surround()
    while await bench.snic.read(f"host_{kind}_owes"):
        await ClockCycles(dut.clk, 50)
    await bench.snic.write(revive_buses=1)
    await bench.rings.close()
    while await bench.snic.read("completion_valid"):
        await bench.snic.completion()
    await bench.snic.clear_filter()
    await bench.rings.open()
    await bench.check(await bench.rings.run(bench.queues), bench.requests)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(
    wrong=[
        ("request_ring", Fault.OVERRUN, {"request_producer": 33}),
        ("completion_ring", Fault.OVERRUN, {"completion_consumer": 1}),
        ("request_ring", Fault.ADDRESS, {"request_ring_address_low": 64}),
        ("completion_ring", Fault.ADDRESS, {"completion_ring_address_high": 1}),
    ]
)
async def a_ring_that_cannot_be_interrupts(dut, wrong):
    ring, fault, fields = wrong
    bench = await Bench().begin(dut)
    await bench.rings.open()
    await bench.snic.write(**{ring: 0})
    await bench.snic.write(**{name: v for name, v in fields.items() if "address" in name})
    await bench.snic.write(**{ring: 1})
    await bench.snic.write(**fields)
    await ClockCycles(dut.clk, 20)
    assert int(dut.interrupts.value) == 1
    assert Fault(await bench.snic.read(f"{ring}_fault")) is fault
    await bench.rings.close()
    assert not int(dut.interrupts.value)
    await bench.rings.open()
    found = await bench.rings.run([bench.queues[0][:2]])
    assert [done.cause for done in found] == [Cause.DONE] * 2
