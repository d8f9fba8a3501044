"""Does the hosts' side of a gather, inside the simulator."""

import os
import pickle
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import cocotb
from amaranth.lib import data
from cocotb.triggers import ClockCycles, SimTimeoutError, Timer, with_timeout

from sim.harness.host import EXCHANGE
from sim.harness.host_program import HostProgram
from sim.harness.in_simulator import JOB, MEMBERS, from_text
from sim.harness.payloads import pack, unpack
from sim.harness.streams import PERIOD_NS, cycle, start
from sim.netsparse.gather_job import (
    JOB_FILE,
    PROGRESS_FILE,
    RESULT_FILE,
    GatherJob,
    NodeJob,
    NodeResult,
    PartResult,
)
from sim.netsparse.host.snic.snic import Table
from sim.netsparse.host.switch.routing import check_routes
from sim.netsparse.snic_program import SnicProgram
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.netsparse.surroundings.delay_line import INDEX_BITS
from sim.netsparse.surroundings.link import LINK_COUNTS, LINK_SETTINGS
from sim.netsparse.surroundings.network import NetworkParams
from sim.netsparse.surroundings.node import ACCESSES
from sim.netsparse.switch_counts import SwitchCounts
from sim.netsparse.switch_side import switch_side
from sim.netsparse.topology import Members
from sim.surroundings.exchange import Barrier
from sim.surroundings.pcie.params import PcieHostParams, pcie_host_settings
from sim.surroundings.side_port import SidePort

PROGRESS_CYCLES = 1024
COUNT_CYCLES = 4  #: cycles until an access is counted


class GatherStuckError(RuntimeError):
    """Reports a gather that did not end in time."""


@cocotb.test()
async def gather(dut: Any) -> None:
    """Set SNICs and switches up, run requests, read all counters, dump all memories.

    The simulation may have a part of the cluster, which meets the others at barriers.
    """
    job, params = pickle.loads((Path(os.environ[JOB]) / JOB_FILE).read_bytes())
    members: Members = from_text(MEMBERS)
    topology = params.network.topology
    barrier = Barrier(job.link.get("latency", 0), topology.distance)
    surround(dut, params, job, members)
    memories = [SidePort(dut, params.host, k) for k, _ in enumerate(members.nodes)]
    await start(dut)
    hosts = Hosts(dut, params, job, memories, members)
    odd = await barrier.meet(dut, says=await hosts.open())
    watch = cocotb.start_soon(report())
    first_packet = cocotb.start_soon(first_delivery(dut, len(members.links)))
    # Rings look for descriptors in every second cycle: in which ones, the model must know.
    await ClockCycles(dut.clk, COUNT_CYCLES + (cycle() + odd) % 2)
    before = hosts.accesses()
    begun, began, used = cycle(), time.monotonic(), time.process_time()
    ended = await hosts.run()
    seconds = time.monotonic() - began
    await barrier.meet(dut)
    used = time.process_time() - used
    watch.cancel()
    await ClockCycles(dut.clk, COUNT_CYCLES)
    after = hosts.accesses()
    await hosts.close()
    await barrier.meet(dut, last=True)
    snics, switches = await hosts.counts()
    links = unpack(data.ArrayLayout(LINK_COUNTS, len(members.links)), int(dut.link_counts.value))
    result = PartResult(
        nodes={
            number: NodeResult(
                completions=done,
                units=units,
                snic=snic,
                accesses={kind: count - earlier[kind] for kind, count in later.items()},
                cycles=end - begun,
            )
            for number, (done, end), (units, snic), earlier, later in zip(
                members.nodes, ended, snics, before, after, strict=True
            )
        },
        switches=dict(zip(members.switches, switches, strict=True)),
        links=dict(zip(members.links, links, strict=True)),
        first_packet=first_packet.result() - begun if first_packet.done() else 0,
        seconds=seconds,
        cpu_seconds=used,
    )
    if members.nodes:
        dut.dump.value = 1
        await ClockCycles(dut.clk, 4)
        assert not int(dut.missing.value), "a memory was read beyond its end"
        assert not int(dut.lost.value), "a memory was written beyond its end"
    Path(RESULT_FILE).write_bytes(pickle.dumps(result))


def surround(dut: Any, params: ClusterParams, job: GatherJob, members: Members) -> None:
    """Set how memories and links behave; a cut link has its delay in the exchange."""
    cut = EXCHANGE in os.environ
    dut.link.value = pack(LINK_SETTINGS, {**job.link, **({"latency": 0} if cut else {})})
    dut.faulty_link.value = job.faulty_link
    if cut:
        numbers = data.ArrayLayout(INDEX_BITS - 1, len(members.links) // 2)
        dut.numbers.value = pack(numbers, members.links[::2])
    if members.nodes:
        host = job.host
        if isinstance(params.host, PcieHostParams):
            host = pcie_host_settings(params.host, **host)
        dut.host.value = pack(params.host.settings, host)
        dut.dram.value = pack(params.dram.settings, job.dram)
        dut.fail_index.value = job.fail_index
        dut.dump.value = 0
        if cut:
            dut.number.value = members.nodes[0]


class Hosts:
    """Drives the hosts of the nodes that are simulated, and sets the switches."""

    def __init__(
        self,
        dut: Any,
        params: ClusterParams,
        job: GatherJob,
        memories: Sequence[SidePort],
        members: Members,
    ) -> None:
        self.dut, self.network, self.job, self.members = dut, params.network, job, members
        self.jobs = [job.nodes[number] for number in members.nodes]
        self.drivers = snics_of(dut, params, memories)
        self.switches: list[HostProgram] = []

    async def open(self) -> int:
        """Set all SNICs and switches up, and open the rings; return 1 if in an odd cycle."""

        async def open_node(number: int, driver: SnicProgram, node: NodeJob) -> int:
            await set_up(driver, number, self.job, node)
            if node.rings:
                await driver.use_rings(*node.rings)
            return cycle() % 2

        opening = map(open_node, self.members.nodes, self.drivers, self.jobs)
        numbers = self.members.switches
        *opened, self.switches = await together(
            [*opening, set_up_network(self.dut, self.network, self.job, numbers)]
        )
        return max(opened, default=0)  # they are all opened at once

    async def run(self) -> list[tuple[Any, int]]:
        """Run all requests; return each node's completions, and the cycle of its last one."""
        running = together(
            until_done(driver.carry_out([*chain(*node.requests)]))
            for driver, node in zip(self.drivers, self.jobs, strict=True)
        )
        most = self.job.timeout_cycles
        try:
            return await with_timeout(cocotb.start_soon(running), most * PERIOD_NS, "ns")
        except SimTimeoutError:
            drivers = zip(self.members.nodes, self.drivers, strict=True)
            text = "; ".join([await describe(k, driver) for k, driver in drivers])
            raise GatherStuckError(f"no end after {most:,} cycles: {text}") from None

    async def close(self) -> None:
        """Wait until nothing is under way, and close the rings."""
        await together(driver.rest(servers=True) for driver in self.drivers)
        await together(driver.use_registers() for driver in self.drivers)

    def accesses(self) -> list[dict[str, int]]:
        """Return each node's accesses to registers, as its bus has counted them."""
        return [
            unpack(ACCESSES, int(getattr(self.dut, f"register_accesses_{k}").value))
            for k in range(len(self.drivers))
        ]

    async def counts(self) -> tuple[list[Any], list[SwitchCounts]]:
        """Return all counters of the SNICs, and of the switches."""
        result = await together(
            [
                *(snic_counts(driver) for driver in self.drivers),
                *(switch_counts(switch) for switch in self.switches),
            ]
        )
        return result[: len(self.drivers)], result[len(self.drivers) :]


def snics_of(dut: Any, params: ClusterParams, memories: Sequence[Any]) -> list[SnicProgram]:
    """Return what drives each SNIC of a cluster."""
    return [
        SnicProgram(dut, params.snic, f"s_axil_{k}", memory, dut.interrupts, k)
        for k, memory in enumerate(memories)
    ]


async def snic_counts(driver: SnicProgram) -> tuple[list[dict[str, int]], dict[str, int]]:
    """Return all counters of a SNIC: by unit, and its own."""
    units = [await driver.unit_counters(k) for k in range(driver.params.units)]
    return units, await driver.counters()


async def switch_counts(switch: HostProgram) -> SwitchCounts:
    """Return all counters of a switch."""
    ports, pipes = await switch.port_counters(), await switch.pipe_counters()
    return SwitchCounts(ports=[*ports.values()], pipes=[*pipes.values()])


async def until_done(coroutine: Any) -> tuple[Any, int]:
    """Wait for a coroutine; return its result, and the cycle in which it ended."""
    return await coroutine, cycle()


async def first_delivery(dut: Any, links: int) -> int:
    """Return the cycle in which a link has delivered a beat for the first time."""
    layout = data.ArrayLayout(LINK_COUNTS, links)
    while True:
        await dut.link_counts.value_change
        counted = unpack(layout, int(dut.link_counts.value))
        if any(counts["beats"] for link in counted for counts in link.values()):
            return cycle()


async def together(coroutines: Any) -> list[Any]:
    """Run coroutines at once; return their results."""
    tasks = [cocotb.start_soon(coroutine) for coroutine in coroutines]
    return [await task for task in tasks]


async def set_up_network(
    dut: Any, params: NetworkParams, job: GatherJob, numbers: Sequence[int] | None = None
) -> list[HostProgram]:
    """Tell switches what they must know before the first packet; return what drives them.

    They are those that ``dut`` has, of these ``numbers`` of the network; None if it has all.
    ValueError for routes that do not fit each other.
    """
    topology = params.topology
    numbers = range(topology.switches) if numbers is None else numbers
    if not numbers:
        return []
    tables = [dict(enumerate(row)) for row in topology.tables(job.spine_choice).tolist()]
    responses, hits = topology.response_routes(job.spine_choice), topology.hit_routes()
    check_routes(tables, topology.ends, responses, hits)
    switches = [
        HostProgram(dut, f"s_axil_switch_{k}", switch_side(params.of(number)))
        for k, number in enumerate(numbers)
    ]

    async def set_switch_up(number: int, switch: HostProgram) -> None:
        most, size = switch.side.build["most_cached_bytes"], job.nodes[0].served_bytes
        own = tables[number], topology.uplinks(number), responses[number], hits[number]
        await switch.set_routes(*own)
        await switch.set_addresses(params.of(number).nodes + number)
        await switch.write(**job.switch)
        await switch.configure(size if size <= most else 0)
        await switch.clear_counters()

    await together(map(set_switch_up, numbers, switches))
    return switches


async def set_up(driver: SnicProgram, index: int, job: GatherJob, node: NodeJob) -> None:
    """Tell a SNIC everything that it must know before its first request."""
    await driver.write(**job.mechanisms)
    await driver.set_up(
        index,
        job.boundaries,
        servers=node.servers,
        served=Table(address=node.served_address, row_bytes=node.served_bytes),
        filter_address=node.filter_address,
    )
    await driver.clear_counters()


async def describe(index: int, driver: SnicProgram) -> str:
    """Describe what a SNIC that does not end has done."""
    busy = await driver.read("busy_units")
    units = [await driver.unit_counters(k) for k in range(driver.params.units) if busy >> k & 1]
    counts = [*units, await driver.counters()]
    shown = [{name: count for name, count in each.items() if count} for each in counts]
    return f"node {index}, busy units {busy:#x}: {shown}"


async def report() -> None:
    """Write the cycle to a file now and then, for whoever shows progress."""
    while True:
        await Timer(PROGRESS_CYCLES * PERIOD_NS, "ns")
        Path(PROGRESS_FILE).write_text(str(cycle()))
