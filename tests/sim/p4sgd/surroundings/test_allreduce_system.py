"""Runs AllReduce in RTL, without training: its latency, and sums over bad links."""

import random

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge

from gen.base.emission.emit import module_name
from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.transport.params import NETWORK_SETTINGS, TransportParams
from hdl.p4sgd.transport.transport import Transport
from sim.harness.host_program import HostProgram
from sim.harness.payloads import pack
from sim.harness.streams import Sink, Source, crossed, cycle, start, strobe
from sim.harness.verilator import params_in_simulator, simulate
from sim.p4sgd.cluster_driver import number
from sim.p4sgd.golden.sgd import full_activation
from sim.p4sgd.host.job import GROUP, SWITCH
from sim.p4sgd.surroundings.allreduce_system import AllReduceParams, AllReduceSystem
from sim.p4sgd.surroundings.network import NetworkParams
from sim.p4sgd.switch_side import switch_side
from sim.p4sgd.training_job import NetworkSettings
from sim.surroundings.link import Link

MAX_CYCLES = 40  # of our RTL in an AllReduce
LANES = 8


def test_allreduce_system():
    params = AllReduceParams(
        transport=TransportParams(slots=32), network=NetworkParams(workers=8, sums=256)
    )
    blocks = [Transport(params.transport), Link(params.network.link)]
    simulate(
        AllReduceSystem(params), __name__, hier_blocks=[module_name(block) for block in blocks]
    )


async def begin(dut, **network):
    """Begin a job of all workers; return sources and sinks of each."""
    params = params_in_simulator(AllReduceParams)
    links = NetworkSettings(seed=random.getrandbits(31), **network)
    dut.link.value = pack(params.network.link.settings, links.fields)
    dut.cut.value = 0
    dut.clear.value = 0
    workers = range(params.network.workers)
    everyone = (1 << len(workers)) - 1
    sources = [Source(dut, f"partial_{k}") for k in workers]
    sinks = [Sink(dut, f"full_{k}") for k in workers]
    for k in workers:
        settings = {
            "address": k,
            "switch_address": number(SWITCH),
            "group_address": number(GROUP),
            "worker": k,
            "workers": everyone,
            "epoch": 1,
            "slot_base": 64,
            "slot_count": params.transport.slots,
            "timeout": links.patience(len(workers), params.transport.slots),
        }
        getattr(dut, f"settings_{k}").value = pack(NETWORK_SETTINGS, settings)
    await start(dut)
    switch = HostProgram(dut, "s_axil", switch_side(params.network.switch))
    await switch.set_addresses(SWITCH, GROUP)
    await switch.start_job(0, ports=[*workers], epoch=1, base=64, slots=params.transport.slots)
    await strobe(dut.clear, dut.clk)
    await ClockCycles(dut.clk, params.transport.slots + 2)
    return sources, sinks, switch


def wild(workers, count):
    rng = np.random.default_rng(random.getrandbits(32))
    return rng.integers(-(1 << 31), 1 << 31, size=(workers, count, LANES))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_few_cycles_and_always_the_same(dut):
    """From partial to full valid, for workers that send in one cycle over no distance."""
    sources, sinks, _ = await begin(dut, latency=0)
    count = 40
    partials = wild(len(sources), count)
    latencies = []
    for j in range(count):
        await ClockCycles(dut.clk, random.randrange(60, 80))
        for source, rows in zip(sources, partials, strict=True):
            source.append(rows[j].tolist())
        for sink in sinks:
            await sink.wait_for(j + 1)
        sent = {source.cycles[-1] for source in sources}
        assert len(sent) == 1
        latencies.append([sink.cycles[-1] - min(sent) for sink in sinks])
        assert [sink.beats[-1] for sink in sinks] == [
            full_activation(partials[:, j])[0].tolist()
        ] * len(sinks)
    dut._log.info(f"AllReduce: {latencies[0]} cycles")
    assert all(row == latencies[0] for row in latencies)
    # The last of the packets that arrive together has the others in front of it.
    params = params_in_simulator(AllReduceParams)
    switch = Switch(params.network.switch).latency + len(sinks) - 1
    assert set(latencies[0]) == {Transport.send_latency + switch + Transport.receive_latency}
    assert max(latencies[0]) <= MAX_CYCLES


@crossed(rate=[0.0, 0.1, 0.3], ms=4)
async def adds_over_bad_links(dut, rate):
    """All sums arrive once, in order; some slots are used more than ten times."""
    rates = dict.fromkeys(("drop", "duplicate", "reorder"), rate)
    sources, sinks, _ = await begin(dut, latency=20, corrupt=rate / 10, **rates)
    count = 400 if rate < 0.3 else 150
    partials = wild(len(sources), count)
    for source, rows in zip(sources, partials, strict=True):
        for row in rows.tolist():
            source.append(row)
    expected = [full_activation(column)[0].tolist() for column in partials.transpose(1, 0, 2)]
    for sink in sinks:
        await sink.wait_for(count)
        assert sink.beats == expected
    while int(dut.idle.value) != (1 << len(sinks)) - 1:
        await RisingEdge(dut.clk)
    assert all(len(sink.beats) == count for sink in sinks)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def keeps_the_switch_busy(dut):
    """If workers never pause, only the switch's packet per cycle holds them up."""
    sources, sinks, switch = await begin(dut, latency=0)
    count = 300
    partials = wild(len(sources), count)
    began = cycle()
    for source, rows in zip(sources, partials, strict=True):
        for row in rows.tolist():
            source.append(row)
    for sink in sinks:
        await sink.wait_for(count)
    packets = 2 * count * len(sources)
    cycles = cycle() - began
    assert await switch.read("packets") <= packets
    assert cycles < 1.05 * packets
