"""Lets the network of racks fail: hosts are told, and the cluster is usable again."""

import random
from dataclasses import replace

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from sim.harness.payloads import pack
from sim.harness.streams import crossed, start
from sim.harness.verilator import params_in_simulator
from sim.netsparse.builds import build_cluster
from sim.netsparse.gather import Gather
from sim.netsparse.gather_in_simulator import (
    set_up,
    set_up_network,
    snics_of,
    switch_counts,
    together,
)
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.netsparse.surroundings.link import LINK_SETTINGS
from sim.surroundings.side_port import SidePort
from sim.workloads.partition import Partition
from tests.sim.netsparse.cases import CLUSTER, NODES, RACKS, job_in_simulator, run_tests

ROWS, WORDS, IDXS, REQUESTS = 120, 4, 30, 2
EACH = ROWS // NODES  # idxs that a node owns
WATCHDOG = 1000
RESETS = 20  # one after the other: some of them hit a packet
DELAYS = {"read_delay": 20, "response_delay": 20}


def test_faults(tmp_path, rng):
    """This runs all of the module's tests in one simulation; a client of each node asks."""
    idxs = rng.integers(0, ROWS, (NODES, 1, REQUESTS, IDXS))
    idxs[..., -1] = ROWS - 1  # each request needs the last node
    gather = Gather(
        partition=Partition.blocks(ROWS, NODES),
        properties=rng.integers(0, 1 << 32, (ROWS, WORDS), dtype=np.uint32),
        idxs=[[list(queue) for queue in node] for node in idxs],
        servers=1,
        watchdog=WATCHDOG,
        mechanisms=DELAYS,
        switch=DELAYS,
    )
    run_tests(__name__, CLUSTER, build_cluster(CLUSTER), tmp_path, gather)


class Bench:
    """Has a cluster that is set up, and every node's requests."""

    async def begin(self, dut):
        self.dut = dut
        self.gather = job_in_simulator()
        params = params_in_simulator(ClusterParams)
        self.topology = params.network.topology
        ram = {"read_latency": 30, "write_latency": 20}
        dut.host.value = pack(params.host.settings, ram)
        dut.dram.value = pack(params.dram.settings, ram)
        dut.fail_index.value = dut.dump.value = dut.faulty_link.value = 0
        self.surround()
        memories = [SidePort(dut, params.host, k) for k in range(NODES)]
        await start(dut)
        self.snics = snics_of(dut, params, memories)
        self.job = self.gather.job(params.snic)
        self.switches = await set_up_network(dut, params.network, self.job)
        await self.renew()
        # What an earlier test has gathered is not there any more.
        poison = bytes(random.randbytes(self.gather.properties.nbytes))
        self.memories = memories
        own = self.gather.properties.reshape(NODES, -1)
        for k, memory in enumerate(memories):
            size = own[k].nbytes
            image = poison[: k * size] + own[k].tobytes() + poison[(k + 1) * size :]
            await memory.write_memory(self.gather.property_address, image)
        return self

    def surround(self, **link):
        self.dut.link.value = pack(LINK_SETTINGS, {"latency": 10} | link)

    async def renew(self):
        """Bring every SNIC into the state that it must have before a gather."""
        for snic in self.snics:
            await snic.rest(servers=True)
        await together(
            set_up(snic, k, self.job, self.job.nodes[k]) for k, snic in enumerate(self.snics)
        )

    def run(self, node):
        """Begin a node's requests."""
        (requests,) = self.job.nodes[node].requests
        return cocotb.start_soon(self.snics[node].carry_out(requests))

    async def gathers(self):
        """Run all nodes' requests to their end; every property is in its place."""
        tasks = [self.run(node) for node in range(NODES)]
        for node, task in enumerate(tasks):
            assert {done.cause for done in await task} == {"DONE"}
            for idx in np.unique(self.gather.flat(node)):
                expected = self.gather.properties[idx].tobytes()
                at = self.gather.property_address + int(idx) * len(expected)
                assert await self.memories[node].read_memory(at, len(expected)) == expected, (
                    node,
                    idx,
                )

    def causes(self, ended):
        """Return how the requests of each node have ended, once each."""
        for node in ended:
            assert sorted(done.tag for done in node) == list(range(REQUESTS))
        return [[done.cause for done in node] for node in ended]


@crossed(switch=[0, RACKS])
async def a_switch_is_reset_in_traffic(dut, switch):
    """What was in a rack's switch or a spine is lost; watchdogs tell hosts; then all works."""
    bench = await Bench().begin(dut)
    bench.surround(in_stall=240)  # a packet takes long to leave
    tasks = [bench.run(node) for node in range(NODES)]
    for _ in range(RESETS):
        await ClockCycles(dut.clk, random.randint(30, 60))
        await bench.switches[switch].write(reset_packets=1)
    bench.surround()
    causes = bench.causes([await task for task in tasks])
    reported = {cause for node in causes for cause in node}
    assert "WATCHDOG" in reported <= {"DONE", "WATCHDOG"}, causes
    await bench.renew()
    await together(each.invalidate() for each in bench.switches)
    await bench.gathers()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_node_without_a_route_is_reported_by_watchdogs(dut):
    """Packets for it are dropped where the route ends, and counted; the rest is done."""
    bench = await Bench().begin(dut)
    hole = NODES - 1
    tor = bench.switches[0]
    known = dict(enumerate(bench.topology.tables()[0].tolist()))
    uplinks, responses = bench.topology.uplinks(0), bench.topology.response_routes()[0]
    kept = {n: port for n, port in known.items() if n != hole}
    await tor.set_routes(kept, uplinks, responses)
    tasks = [bench.run(node) for node in range(NODES)]
    causes = bench.causes([await task for task in tasks])
    assert set(causes[0]) == set(causes[1]) == {"WATCHDOG"}, "each request needs that node"
    assert set(causes[2]) == {"DONE"}
    dropped = [(await switch_counts(each)).port("reads_no_route") for each in bench.switches]
    assert dropped[0] > 0
    assert not any(dropped[1:])
    await tor.set_routes(known, uplinks, responses)
    await bench.renew()
    await bench.gathers()


@crossed(kind=["reads", "responses"])
async def a_node_that_takes_nothing_holds_up_only_those_who_need_it(dut, kind):
    """Its rack's switch holds a class for it; nodes of other racks go on with each other."""
    bench = await Bench().begin(dut)
    last = NODES - 1
    dut.faulty_link.value = bench.topology.link_of(last) + 1
    bench.surround(stop={kind: 1})
    own = [[idx for idx in range(ROWS) if idx // EACH == node] for node in range(NODES)]
    first = bench.job.nodes[0].requests[0][0]
    demands = {0: own[1], 1: own[0], 2: own[last], last: own[2]}
    for node, idxs in demands.items():
        octets = np.asarray(idxs, "<u4").tobytes()
        await bench.memories[node].write_memory(first.idx_address, octets)
    request = replace(first, count=EACH, watchdog=0)
    begun = {node: cocotb.start_soon(bench.snics[node].carry_out([request])) for node in demands}
    await ClockCycles(dut.clk, 3000)
    waits = 2 if kind == "reads" else last
    assert {node for node, task in begun.items() if not task.done()} == {waits}
    assert (await bench.switches[RACKS - 1].read("stalled")) == 0, (
        "not for as long as the limit yet"
    )
    bench.surround()
    for task in begun.values():
        assert [done.cause for done in await task] == ["DONE"]
