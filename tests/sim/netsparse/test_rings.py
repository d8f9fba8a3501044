"""Lets a host submit by rings in its memory, on whole SNICs: node 0 asks, node 1 serves."""

import cocotb
from cocotb.triggers import ClockCycles

from hdl.common.rings import DESCRIPTOR_BYTES, Fault
from hdl.netsparse.queue.params import ENTRY_BYTES, NO_UNIT
from sim.harness.streams import crossed
from sim.harness.threads import bridge
from sim.netsparse.host.snic.by_registers import ByRegisters, RequestRefused
from sim.netsparse.host.snic.request import Completion
from sim.surroundings.axi_ram import Fault as Misdeed
from tests.sim.netsparse.ring_bench import RINGS, Bench, simulate_bench


def test_rings(tmp_path, rng):
    """This runs all of the module's tests in one simulation."""
    simulate_bench(tmp_path, rng, __name__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_beside_the_ring(dut):
    """With more in the ring than units take, registers are refused, or served."""
    bench = await Bench().begin(dut)
    await bench.open()
    by_ring, by_registers = bench.requests[:24], bench.requests[24:]
    refusals = 0

    @bridge
    def submit():
        nonlocal refusals
        for request in by_registers:
            while True:
                try:
                    ByRegisters(bench.snic.registers).submit([request])
                    break
                except RequestRefused:
                    refusals += 1

    await bench.snic.submit(by_ring)
    submitting = cocotb.start_soon(submit())
    result = await bench.collect(len(bench.requests))
    await submitting
    assert refusals
    tags = {item.tag for item in by_ring}
    bench.in_order([done for done in result if done.tag in tags], by_ring)
    bench.in_order([done for done in result if done.tag not in tags], by_registers)
    await bench.check(result, bench.requests)
    await bench.snic.run("acknowledge")
    await ClockCycles(dut.clk, 20)
    assert not int(dut.interrupts.value), "all was read"


@crossed(places=[1, 2, 8])
async def small_rings_go_round(dut, places):
    bench = await Bench().begin(dut)
    await bench.open(places, places)
    result = await bench.snic.carry_out(bench.of_all(bench.queues))
    await bench.check(result, bench.requests)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_host_that_reads_nothing_loses_nothing(dut):
    """When the completion ring is full everything stops, and goes on once the host reads."""
    bench = await Bench().begin(dut)
    await bench.open(completions=2)
    await bench.snic.submit(bench.requests[: 1 << RINGS])
    await ClockCycles(dut.clk, 6000)
    assert await bench.snic.read("completion_ring_full")
    assert await bench.snic.read("completion_producer") == 2
    assert int(dut.interrupts.value) == 1
    result = await bench.collect(1 << RINGS)
    assert len({done.tag for done in result}) == 1 << RINGS
    assert {done.cause for done in result} == {"DONE"}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_ring_stops_in_the_middle(dut):
    """What was fetched is done; the host finds how much that was, and submits the rest again."""
    bench = await Bench().begin(dut)
    await bench.open()
    requested = bench.of_all(bench.queues[:2])
    await bench.snic.submit(requested)
    await ClockCycles(dut.clk, 100)
    await bench.snic.write(request_ring=0)
    while await bench.snic.read("request_ring_busy"):
        await ClockCycles(dut.clk, 50)
    await bench.snic.rest(servers=True)
    first = await bench.snic.completions()
    assert 0 < len(first) < len(requested)
    await bench.open()
    rest = requested[len(first) :]
    await bench.snic.submit(rest)
    result = await bench.collect(len(rest))
    bench.in_order(first + result, requested)
    assert {done.cause for done in first + result} == {"DONE"}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_descriptor_that_cannot_be_read_is_reported(dut):
    bench = await Bench().begin(dut)
    await bench.open()
    address = bench.address + 3 * DESCRIPTOR_BYTES
    bench.surround(**bench.failing("read", address))
    requested = bench.requests[:6]
    await bench.snic.submit(requested)
    result = await bench.collect(6)
    assert Completion(NO_UNIT, requested[3].tag, "DESCRIPTOR") in result
    bench.in_order(result, requested[:3] + requested[4:])
    bench.surround()
    await bench.snic.submit([requested[3], *bench.requests[6:30]])
    result = [done for done in result if done.unit != NO_UNIT] + await bench.collect(25)
    await bench.snic.submit(bench.requests[30:])
    await bench.check(result + await bench.collect(6), bench.requests)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_completion_that_cannot_be_written_stops_the_ring(dut):
    """The host is interrupted; what waits can be read in registers, and all works again."""
    bench = await Bench().begin(dut)
    await bench.open()
    address = bench.entries + 4 * ENTRY_BYTES
    bench.surround(**bench.failing("write", address))
    await bench.snic.submit(bench.requests[:20])
    while not int(dut.interrupts.value):
        await ClockCycles(dut.clk, 1)
    await bench.snic.rest(servers=True)
    assert Fault(await bench.snic.read("completion_ring_fault")) is Fault.WRITE
    written = await bench.snic.read("completion_producer")
    assert written <= 4
    bench.surround()
    await bench.snic.use_registers()
    assert Fault(await bench.snic.read("completion_ring_fault")) is Fault.NONE
    read = 0
    while await bench.snic.read("completion_valid"):
        assert [done.cause for done in await bench.snic.completions()] == ["DONE"]
        read += 1
    assert 12 <= written + read < 20
    await bench.snic.clear_filter()
    await bench.open()
    await bench.check(await bench.snic.carry_out(bench.requests), bench.requests)


@crossed(gone=[("read", Misdeed.MUTE), ("write", Misdeed.DEAF)])
async def a_host_memory_that_is_gone_is_reported(dut, gone):
    """Its bus is given up: descriptors are not read, or completions stop; both recover."""
    kind, fault = gone
    bench = await Bench().begin(dut)
    await bench.open()
    await bench.snic.write(memory_timeout=400)
    address = bench.address if kind == "read" else bench.entries
    bench.surround(**bench.failing(kind, address) | {"fault": fault})
    await bench.snic.submit(bench.requests[:6])
    if kind == "read":
        ends = [(done.unit, done.cause) for done in await bench.collect(6)]
        assert ends == [(NO_UNIT, "DESCRIPTOR")] * 6
    else:
        while not int(dut.interrupts.value):
            await ClockCycles(dut.clk, 1)
        assert Fault(await bench.snic.read("completion_ring_fault")) is Fault.WRITE
    await bench.snic.rest(servers=True)
    assert await bench.snic.read(f"host_{kind}_silent")
    bench.surround()
    while await bench.snic.read(f"host_{kind}_owes"):
        await ClockCycles(dut.clk, 50)
    await bench.snic.write(revive_buses=1)
    await bench.snic.use_registers()
    while await bench.snic.read("completion_valid"):
        await bench.snic.completions()
    await bench.snic.clear_filter()
    await bench.open()
    await bench.check(await bench.snic.carry_out(bench.requests), bench.requests)


@crossed(
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
    await bench.open()
    await bench.snic.write(**{ring: 0})
    await bench.snic.write(**{name: v for name, v in fields.items() if "address" in name})
    await bench.snic.write(**{ring: 1})
    await bench.snic.write(**fields)
    await ClockCycles(dut.clk, 20)
    assert int(dut.interrupts.value) == 1
    assert Fault(await bench.snic.read(f"{ring}_fault")) is fault
    await bench.snic.use_registers()
    assert not int(dut.interrupts.value)
    await bench.open()
    result = await bench.snic.carry_out(bench.queues[0][:2])
    assert [done.cause for done in result] == ["DONE"] * 2
