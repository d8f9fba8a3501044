"""Does the hosts' side of a gather, inside the simulator."""

import os
import pickle
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, SimTimeoutError, Timer, with_timeout

from sim.harness.host_program import HostProgram
from sim.harness.payloads import pack, unpack
from sim.harness.streams import PERIOD_NS, cycle, start
from sim.harness.verilator import params_in_simulator
from sim.netsparse.gather_job import (
    JOB,
    JOB_FILE,
    PROGRESS_FILE,
    RESULT_FILE,
    GatherJob,
    GatherResult,
    NodeJob,
    NodeResult,
)
from sim.netsparse.host.snic.snic import Table
from sim.netsparse.snic_program import SnicProgram
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.netsparse.surroundings.host_memory import HostMemory
from sim.netsparse.surroundings.link import LINK_SETTINGS
from sim.netsparse.surroundings.network import NetworkParams, link_counts
from sim.netsparse.surroundings.node import ACCESSES
from sim.netsparse.switch_counts import SwitchCounts
from sim.netsparse.switch_side import switch_side
from sim.surroundings.pcie.params import PcieHostParams, pcie_host_settings

PROGRESS_CYCLES = 4096
COUNT_CYCLES = 4  #: cycles until an access is counted


class GatherStuckError(RuntimeError):
    """Reports a gather that did not end in time."""


@cocotb.test()
async def gather(dut: Any) -> None:
    """Set all SNICs up, run all requests, read all counters, dump all memories."""
    folder = Path(os.environ[JOB])
    job: GatherJob = pickle.loads((folder / JOB_FILE).read_bytes())
    params = params_in_simulator(ClusterParams)
    surround(dut, params, job)
    memories = [HostMemory(dut, params.host, k) for k in range(params.nodes)]
    await start(dut)
    hosts = Hosts(dut, params, job, memories)
    await hosts.open()
    watch = cocotb.start_soon(report(dut, folder))
    first_packet = cocotb.start_soon(first_delivery(dut, params.network))
    await ClockCycles(dut.clk, COUNT_CYCLES)
    before = hosts.accesses()
    begun, began = cycle(), time.monotonic()
    ended = await hosts.run()
    cycles, seconds = cycle() - begun, time.monotonic() - began
    watch.cancel()
    await ClockCycles(dut.clk, COUNT_CYCLES)
    after = hosts.accesses()
    await hosts.close()
    snics, switches = await hosts.counts()
    topology = params.network.topology
    result = GatherResult(
        nodes=[
            NodeResult(
                completions=done,
                units=units,
                snic=snic,
                accesses={kind: count - earlier[kind] for kind, count in later.items()},
                cycles=end - begun,
            )
            for (done, end), (units, snic), earlier, later in zip(
                ended, snics, before, after, strict=True
            )
        ],
        cycles=cycles,
        first_packet=first_packet.result() - begun if first_packet.done() else 0,
        seconds=seconds,
        topology=topology,
        links=unpack(link_counts(topology), int(dut.link_counts.value)),
        switches=switches,
    )
    dut.dump.value = 1
    await ClockCycles(dut.clk, 4)
    assert not int(dut.missing.value), "a memory was read beyond its end"
    assert not int(dut.lost.value), "a memory was written beyond its end"
    (folder / RESULT_FILE).write_bytes(pickle.dumps(result))


def surround(dut: Any, params: ClusterParams, job: GatherJob) -> None:
    """Set how memories and links behave."""
    host = job.host
    if isinstance(params.host, PcieHostParams):
        host = pcie_host_settings(params.host, **host)
    dut.host.value = pack(params.host.settings, host)
    dut.dram.value = pack(params.dram.settings, job.dram)
    dut.link.value = pack(LINK_SETTINGS, job.link)
    dut.faulty_link.value = job.faulty_link
    dut.fail_index.value = job.fail_index
    dut.dump.value = 0


class Hosts:
    """Drives the hosts of all nodes, and sets the switches."""

    def __init__(
        self, dut: Any, params: ClusterParams, job: GatherJob, memories: Sequence[HostMemory]
    ) -> None:
        self.dut, self.network, self.job = dut, params.network, job
        self.drivers = snics_of(dut, params, memories)
        self.switches: list[HostProgram] = []

    async def open(self) -> None:
        """Set all SNICs and switches up, and open the rings."""
        await together(
            set_up(driver, k, self.job, node)
            for k, (driver, node) in enumerate(zip(self.drivers, self.job.nodes, strict=True))
        )
        self.switches = await set_up_network(self.dut, self.network, self.job)
        await together(
            driver.use_rings(*node.rings)
            for driver, node in zip(self.drivers, self.job.nodes, strict=True)
            if node.rings
        )

    async def run(self) -> list[tuple[Any, int]]:
        """Run all requests; return each node's completions, and the cycle of its last one."""
        running = together(
            until_done(driver.carry_out([*chain(*node.requests)]))
            for driver, node in zip(self.drivers, self.job.nodes, strict=True)
        )
        most = self.job.timeout_cycles
        try:
            return await with_timeout(cocotb.start_soon(running), most * PERIOD_NS, "ns")
        except SimTimeoutError:
            text = "; ".join([await describe(k, driver) for k, driver in enumerate(self.drivers)])
            raise GatherStuckError(f"no end after {most:,} cycles: {text}") from None

    async def close(self) -> None:
        """Wait until nothing is under way, and close the rings."""
        for driver in self.drivers:
            await driver.rest(servers=True)
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


async def first_delivery(dut: Any, params: NetworkParams) -> int:
    """Return the cycle in which a link has delivered a beat for the first time."""
    layout = link_counts(params.topology)
    while True:
        await dut.link_counts.value_change
        links = unpack(layout, int(dut.link_counts.value))
        if any(counts["beats"] for link in links for counts in link.values()):
            return cycle()


async def together(coroutines: Any) -> list[Any]:
    """Run coroutines at once; return their results."""
    tasks = [cocotb.start_soon(coroutine) for coroutine in coroutines]
    return [await task for task in tasks]


async def set_up_network(dut: Any, params: NetworkParams, job: GatherJob) -> list[HostProgram]:
    """Tell switches what they must know before the first packet; return what drives them.

    ValueError for routing tables that do not fit each other.
    """
    topology = params.topology
    tables = topology.tables()
    topology.check_symmetric(tables)
    switches = [
        HostProgram(dut, f"s_axil_switch_{k}", switch_side(params.of(k)))
        for k in range(topology.switches)
    ]

    async def set_switch_up(number: int, switch: HostProgram) -> None:
        routes = dict(enumerate(tables[number].tolist()))
        most, size = switch.side.build["most_cached_bytes"], job.nodes[0].served_bytes
        await switch.set_routes(routes, topology.uplinks(number))
        await switch.set_addresses(params.of(number).nodes + number)
        await switch.write(**job.switch)
        await switch.configure(size if size <= most else 0)
        await switch.clear_counters()

    await together(set_switch_up(k, switch) for k, switch in enumerate(switches))
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


async def report(dut: Any, folder: Path) -> None:
    """Write the cycle to a file now and then, for whoever shows progress."""
    while True:
        await Timer(PROGRESS_CYCLES * PERIOD_NS, "ns")
        (folder / PROGRESS_FILE).write_text(str(cycle()))
