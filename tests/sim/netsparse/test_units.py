"""Checks that what a SNIC joins over its units is right for each of them."""

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from hdl.netsparse.snic_counters import SNIC_COUNTERS, UNIT_COUNTERS
from sim.harness.payloads import pack
from sim.harness.streams import cycle
from sim.harness.verilator import params_in_simulator
from sim.netsparse.gather import FILTER_ADDRESS
from sim.netsparse.gather_in_simulator import together
from sim.netsparse.golden.concatenation import HEADER_BYTES, PR_BYTES
from sim.netsparse.host.snic.request import Completion, Request
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.netsparse.surroundings.node import DRAM, HOST
from tests.sim.netsparse.cases import EIGHT
from tests.sim.netsparse.ring_bench import ROWS, WORDS, Bench, simulate_bench

UNITS = EIGHT.units
REMOTE = ROWS // 2  #: the first idx that node 1 has
SIZE = 4 * WORDS
#: A client of node 0 and a server of node 1, so that each unit is each of them once.
PAIRS = [(k, UNITS - 1 - k) for k in range(UNITS)]


def test_units(tmp_path, rng):
    """This runs all of the module's tests in one simulation."""
    simulate_bench(tmp_path, rng, __name__)


class Units(Bench):
    """Lets one unit alone ask, and one alone serve."""

    async def begin(self, dut):
        await super().begin(dut)
        self.params = params_in_simulator(ClusterParams)
        self.tag = 0
        return self

    async def pair(self, client, server):
        """Use these two from now on; no counter has counted and no bit of the filter is set."""
        others = ~(1 << client) % (1 << UNITS)
        for snic, servers in ((self.snic, others), (self.other, 1 << server)):
            await snic.rest(servers=True)
            await snic.write_wide(server_units=servers)
            await snic.write(clear_counters=1)
        await self.snic.clear_filter()

    def harm(self, memory, **failure):
        """Set what fails of a ``memory``, and the latency of those of hosts."""
        dut, ram = self.dut, {"read_latency": 30, "write_latency": 20}
        dut.fail_index.value = memory
        dut.host.value = pack(self.settings, ram | (failure if memory % 2 == HOST else {}))
        dut.dram.value = pack(self.params.dram.settings, failure if memory % 2 == DRAM else {})

    async def submit(self, unit, idxs, place=0, **changes):
        """Submit a request for ``idxs``, written at a ``place`` of their own; return its tag."""
        address = self.gather.idx_address + 256 * place
        await self.memory.write_memory(address, np.array(idxs, "<u4").tobytes())
        self.tag += 1
        fields = {"property_address": self.gather.property_address, "property_bytes": SIZE}
        fields |= {"unit": unit, "tag": self.tag, "idx_address": address, "count": len(idxs)}
        await self.snic.submit([Request(**fields | changes)])
        return self.tag

    async def ends(self, unit, tag, cause="DONE"):
        """Check that the next completion is this one."""
        assert await self.snic.completions() == [Completion(unit, tag, cause)]

    async def issue(self, unit, idxs, cause="DONE"):
        await self.ends(unit, await self.submit(unit, idxs), cause)

    async def counts(self, snic, name):
        """Return a counter of each unit, of those that have counted."""
        result = {}
        for unit in range(UNITS):
            await snic.write(counter_unit=unit)
            result |= {
                unit: (await snic.counted("unit", UNIT_COUNTERS, names=[name], wait=4))[name]
            }
        return {unit: count for unit, count in result.items() if count}

    async def count(self, snic, name):
        """Return a counter of the SNIC."""
        return (await snic.counted("snic", SNIC_COUNTERS, names=[name], wait=4))[name]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def each_requests_and_serves_alone(dut):
    """Nobody else takes a request, is busy, or counts; the SNIC is busy as long as its unit."""
    bench = await Units().begin(dut)
    latency = 400
    for client, server in PAIRS:
        await bench.pair(client, server)
        for unit in set(range(UNITS)) - {client}:
            await bench.snic.write(request_unit=unit)
            await bench.snic.write(submit=1)
            assert await bench.snic.read("refused")
        await bench.memory.write_memory(bench.gather.property_address, bytes(ROWS * SIZE))
        bench.surround(read_latency=latency, write_latency=latency)
        idxs = [client, *range(REMOTE, REMOTE + 5), REMOTE + client, REMOTE + client + 8]
        distinct = {idx for idx in idxs if idx >= REMOTE}
        requested = cocotb.start_soon(bench.issue(client, idxs))
        seen, begun = [set(), set()], cycle()
        while not requested.done():
            for busy, snic in zip(seen, (bench.snic, bench.other), strict=True):
                busy.add(await snic.read("busy_units"))
        took = cycle() - begun
        await requested
        assert [busy - {0} for busy in seen] == [{1 << client}, {1 << server}]
        bench.surround()
        for idx in distinct:
            result = await bench.memory.read_memory(
                bench.gather.property_address + idx * SIZE, SIZE
            )
            assert result == bench.gather.properties[idx].tobytes(), idx
        assert await bench.counts(bench.snic, "consumed") == {client: len(idxs)}
        assert (await bench.snic.unit_counters(client))["consumed"] == len(idxs)
        assert await bench.counts(bench.snic, "prs") == {client: len(distinct)}
        assert await bench.counts(bench.other, "served") == {server: len(distinct)}
        for snic, times in ((bench.snic, 3), (bench.other, 1)):
            assert times * latency <= await bench.count(snic, "cycles") <= took
    ends = [await snic.counters() for snic in (bench.snic, bench.other)]
    assert not any(end["lost_responses"] for end in ends)
    for kind, size, (source, sink) in (("reads", 0, ends), ("responses", SIZE, ends[::-1])):
        packets = sink[f"{kind}_received_packets"]
        octets = packets * HEADER_BYTES + len(distinct) * (PR_BYTES + size)
        for name, count in (("packets", packets), ("prs", len(distinct)), ("bytes", octets)):
            assert source[f"{kind}_sent_{name}"] == sink[f"{kind}_received_{name}"] == count
            assert not sink[f"{kind}_sent_{name}"] + source[f"{kind}_received_{name}"]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def what_fails_is_informed_of_each(dut):
    """It is told of each client and each server, and of nobody else."""
    bench = await Units().begin(dut)
    other = 2
    idx, at = bench.gather.idx_address, bench.gather.property_address + REMOTE * SIZE
    ways = [
        ("IDX_READ", HOST, "read", idx),
        ("PROPERTY_WRITE", HOST, "write", at),
        ("FILTER", DRAM, "write", FILTER_ADDRESS),  # that of zeros, when it is cleared
        ("REMOTE", other + HOST, "read", at),
    ]
    for client, server in PAIRS[::-1]:  # so that what another has had before helps none
        for cause, memory, kind, address in ways:
            bench.harm(memory, **bench.failing(kind, address))
            await bench.pair(client, server)
            await bench.issue(client, [REMOTE], cause)
        assert await bench.counts(bench.other, "read_error") == {server: 1}
        bench.surround()
        await bench.pair(client, server)
        for register, wrong in (("low", 2), ("high", 1)):
            name = f"served_address_{register}"
            right = await bench.other.read(name)
            await bench.other.write(**{name: right + wrong})
            await bench.issue(client, [REMOTE], "REMOTE")
            await bench.other.write(**{name: right})
        assert await bench.counts(bench.other, "out_of_bounds") == {server: 2}
        await bench.issue(client, [REMOTE])


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def what_is_switched_off_is_off_for_each(dut):
    bench = await Units().begin(dut)
    for client, server in PAIRS:
        prs = 0
        for settings, added in (
            ({"coalesce": 0, "filter": 0}, 4),
            ({"coalesce": 1, "filter": 0}, 1),
            ({"coalesce": 1, "filter": 1}, 1),
        ):
            await bench.snic.write(**settings)
            if not prs:
                await bench.pair(client, server)
            await bench.issue(client, [REMOTE] * 4)
            prs += added
            assert await bench.counts(bench.snic, "prs") == {client: prs}, settings
        assert not await bench.counts(bench.snic, "filtered")
        await bench.issue(client, [REMOTE])
        assert await bench.counts(bench.snic, "filtered") == {client: 1}


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def reads_wait_for_those_of_each(dut):
    """They wait as long as they may while a unit has an idx left; responses wait for others."""
    bench = await Units().begin(dut)
    wait, latency = EIGHT.most_delay, 200
    bench.surround(read_latency=latency)
    await bench.snic.write(filter=0)
    for client, server in PAIRS:
        cases = ((wait, 0, 0), (wait, 0, 1), (0, wait, 0))
        for reads, responses, left in cases if client == 0 else cases[1:2]:
            await together(
                snic.write(read_delay=reads, response_delay=responses)
                for snic in (bench.snic, bench.other)
            )
            await bench.pair(client, server)
            tag = await bench.submit(client, [REMOTE])
            begun = cycle()
            if left:  # of another array: it begins when the first one has ended
                last = await bench.submit(client, [0], 1, property_bytes=SIZE // 2)
            await ClockCycles(dut.clk, 3 * latency)
            waiting = [await snic.read("concatenating") for snic in (bench.snic, bench.other)]
            assert waiting == [left, responses > 0]
            await bench.ends(client, tag)
            took = cycle() - begun
            assert took > wait if left or responses else took < wait, took
            if left:
                await bench.ends(client, last)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_filter_that_cannot_be_is_not_used(dut):
    """No request and no clearing uses it; without the filter nobody answers its address."""
    bench = await Units().begin(dut)
    client, server = PAIRS[0]
    for address in (FILTER_ADDRESS + 32, 1 << EIGHT.dram_address_bits, 1 << 63):
        await bench.pair(client, server)
        await bench.snic.write_wide(filter_address=address)
        assert await bench.snic.read("filter_illegal")
        await bench.snic.write(clear_filter=1)
        assert not await bench.snic.read("filter_busy")
        await bench.issue(client, [REMOTE], "COMMAND")
        await bench.snic.write(filter=0)
        await bench.issue(client, [REMOTE])
        await bench.snic.write_wide(filter_address=FILTER_ADDRESS)
        await bench.snic.write(filter=1, clear_filter=1)
        assert await bench.snic.read("filter_busy")
