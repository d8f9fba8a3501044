"""The hosts' side of a gather, inside the simulator."""

import os
import pickle
import time
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, SimTimeoutError, Timer, with_timeout

from sim.harness.payloads import pack, unpack
from sim.harness.streams import PERIOD_NS, cycle, start
from sim.harness.verilator import params_in_simulator
from sim.netsparse.driver import SnicDriver
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
from sim.netsparse.ring_driver import SnicRings
from sim.netsparse.surroundings.cluster_system import ClusterParams
from sim.netsparse.surroundings.host_memory import HostMemory
from sim.netsparse.surroundings.link import LINK_SETTINGS
from sim.netsparse.surroundings.network import NetworkParams, link_counts
from sim.netsparse.surroundings.node import ACCESSES
from sim.netsparse.switch_driver import SwitchDriver

PROGRESS_CYCLES = 4096
COUNT_CYCLES = 4  #: until an access is counted


class GatherStuckError(RuntimeError):
    """A gather did not end in time."""


@cocotb.test()
async def gather(dut: Any) -> None:
    """Set all SNICs up, run all requests, read all counters, dump all memories."""
    folder = Path(os.environ[JOB])
    job: GatherJob = pickle.loads((folder / JOB_FILE).read_bytes())
    params = params_in_simulator(ClusterParams)
    dut.host.value = pack(params.host.settings, job.host)
    dut.dram.value = pack(params.dram.settings, job.dram)
    dut.link.value = pack(LINK_SETTINGS, job.link)
    dut.faulty_link.value = job.faulty_link
    dut.fail_index.value = job.fail_index
    dut.dump.value = 0
    memories = [HostMemory(dut, params.host, k) for k in range(params.nodes)]
    await start(dut)
    drivers = [SnicDriver(dut, params.snic, f"s_axil_{k}") for k in range(params.nodes)]
    await together(
        set_up(driver, k, job, node)
        for k, (driver, node) in enumerate(zip(drivers, job.nodes, strict=True))
    )
    switches = await set_up_network(dut, params.network, job)
    rings = [
        node.rings and SnicRings(driver, memory, node.rings)
        for driver, memory, node in zip(drivers, memories, job.nodes, strict=True)
    ]
    await together(each.open() for each in rings if each)
    watch = cocotb.start_soon(report(dut, folder))
    first_packet = cocotb.start_soon(first_delivery(dut, params.network))
    await ClockCycles(dut.clk, COUNT_CYCLES)
    before = [register_accesses(dut, k) for k in range(params.nodes)]
    begun, began = cycle(), time.monotonic()
    try:
        completions = await with_timeout(
            cocotb.start_soon(
                together(
                    until_done(
                        ring.run(node.requests)
                        if ring
                        else driver.run(node.requests, dut.interrupts, k)
                    )
                    for k, (driver, ring, node) in enumerate(
                        zip(drivers, rings, job.nodes, strict=True)
                    )
                )
            ),
            job.timeout_cycles * PERIOD_NS,
            "ns",
        )
    except SimTimeoutError:
        text = "; ".join([await describe(k, driver) for k, driver in enumerate(drivers)])
        raise GatherStuckError(f"no end after {job.timeout_cycles:,} cycles: {text}") from None
    cycles, seconds = cycle() - begun, time.monotonic() - began
    watch.cancel()
    await ClockCycles(dut.clk, COUNT_CYCLES)
    after = [register_accesses(dut, k) for k in range(params.nodes)]
    for driver in drivers:
        await driver.at_rest()
    await together(each.close() for each in rings if each)
    counts = await together(
        [
            *(snic_counts(driver) for driver in drivers),
            *(switch.counts() for switch in switches),
        ]
    )
    nodes = [
        NodeResult(
            completions=done,
            units=units,
            snic=snic,
            accesses={kind: count - before[k][kind] for kind, count in after[k].items()},
            cycles=end - begun,
        )
        for k, ((units, snic), (done, end)) in enumerate(zip(counts, completions, strict=False))
    ]
    result = GatherResult(
        nodes=nodes,
        cycles=cycles,
        first_packet=first_packet.result() - begun if first_packet.done() else 0,
        seconds=seconds,
        topology=params.network.topology,
        links=unpack(link_counts(params.network.topology), int(dut.link_counts.value)),
        switches=counts[params.nodes :],
    )
    dut.dump.value = 1
    await ClockCycles(dut.clk, 4)
    assert not int(dut.missing.value), "a memory was read beyond its end"
    assert not int(dut.lost.value), "a memory was written beyond its end"
    (folder / RESULT_FILE).write_bytes(pickle.dumps(result))


async def snic_counts(driver: SnicDriver) -> tuple[list[dict[str, int]], dict[str, int]]:
    """All counters of a SNIC: by unit, and its own."""
    units = [await driver.unit_counters(k) for k in range(driver.params.units)]
    return units, await driver.counters()


def register_accesses(dut: Any, index: int) -> dict[str, int]:
    """Of a node, as its bus has counted them."""
    return unpack(ACCESSES, int(getattr(dut, f"register_accesses_{index}").value))


async def until_done(coroutine: Any) -> tuple[Any, int]:
    """Its result, and the cycle in which it was there."""
    return await coroutine, cycle()


async def first_delivery(dut: Any, params: NetworkParams) -> int:
    """The cycle in which a link has delivered a beat for the first time."""
    layout = link_counts(params.topology)
    while True:
        await dut.link_counts.value_change
        links = unpack(layout, int(dut.link_counts.value))
        if any(counts["beats"] for link in links for counts in link.values()):
            return cycle()


async def together(coroutines: Any) -> list[Any]:
    """Run all at once; their results."""
    tasks = [cocotb.start_soon(coroutine) for coroutine in coroutines]
    return [await task for task in tasks]


async def set_up_network(dut: Any, params: NetworkParams, job: GatherJob) -> list[SwitchDriver]:
    """Everything that switches must know before the first packet; their drivers.

    ValueError for routing tables that do not fit each other.
    """
    topology = params.topology
    tables = topology.tables()
    topology.check_symmetric(tables)
    switches = [
        SwitchDriver(dut, params.of(k), f"s_axil_switch_{k}") for k in range(topology.switches)
    ]

    await together(
        switch.set_up(
            k,
            dict(enumerate(tables[k].tolist())),
            topology.uplinks(k),
            job.nodes[0].served_bytes,
            **job.switch,
        )
        for k, switch in enumerate(switches)
    )
    return switches


async def set_up(driver: SnicDriver, index: int, job: GatherJob, node: NodeJob) -> None:
    """Everything that a SNIC must know before its first request."""
    await driver.set_partition(index, job.boundaries)
    await driver.write(**job.mechanisms)
    await driver.write(server_units=node.server_units, served_bytes=node.served_bytes)
    await driver.write_wide(served_address=node.served_address, filter_address=node.filter_address)
    await driver.clear_filter()
    await driver.write(clear_counters=1)


async def describe(index: int, driver: SnicDriver) -> str:
    """What a SNIC that does not end has done."""
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
