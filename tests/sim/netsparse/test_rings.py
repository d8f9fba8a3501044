"""Lets a host submit by rings in its memory, on whole SNICs: node 0 asks, node 1 serves."""

import cocotb
from cocotb.triggers import ClockCycles

from hdl.common.rings import DESCRIPTOR_BYTES, Fault
from hdl.netsparse.queue.params import ENTRY_BYTES, NO_UNIT
from hdl.netsparse.rig.params import Cause
from sim.netsparse.driver import RequestRefused
from sim.netsparse.work_request import Completion
from sim.surroundings.axi_ram import Fault as Misdeed
from tests.sim.netsparse.ring_bench import RINGS, Bench, simulate_bench


def test_rings(tmp_path, rng):
    """This runs all of the module's tests in one simulation."""
    simulate_bench(tmp_path, rng, __name__)


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
