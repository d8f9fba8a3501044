import random

import cocotb

from hdl.netsparse.host.host_reader import HostReader
from sim.harness.streams import STALLS, benched, crossed, often
from sim.surroundings.axi_ram import Fault
from tests.hdl.netsparse.host.bench import (
    FAILURES,
    RAM_BYTES,
    RamBench,
    carry_out_random,
    latency,
    run_bench,
)
from tests.hdl.netsparse.host.places import expected_bursts, spread


def test_host_reader(tmp_path, rng):
    run_bench(__name__, tmp_path, rng)


@crossed(aligned=[True, False], stalls=STALLS, late=[0, 100])
async def reads_random_properties(dut, aligned, stalls, late):
    bench, properties = await carry_out_random(dut, "read", aligned, stalls, late)
    if stalls.absent:
        # All in turn, the last one first, as every unit always asks.
        assert bench.order[: 4 * bench.host.units] == [
            properties[(k - 1) % bench.host.units][k // bench.host.units]
            for k in range(4 * bench.host.units)
        ]


@crossed(aligned=[True, False], us=100)
async def reads_the_papers_example(dut, aligned):
    """480 bytes at address 480 take five requests, against eight."""
    bench = await RamBench(dut, aligned=aligned).begin()
    await bench.carry_out(bench.read, [(0, 480, 480)])
    assert len(bench.seen["ar"]) == (5 if aligned else 8)


@crossed(aligned=[True, False])
async def reads_every_start_and_awkward_sizes(dut, aligned):
    """One unit reads without a pause, so that every beat follows every other.

    It reads in the lower half of the address space, which has the RAM, and in the upper one.
    """
    bench = await RamBench(dut, aligned=aligned).begin()
    sizes = [4, 60, 64, 68, 124, 128, 132, 188, 192, 196, 4096]
    begin = RAM_BYTES - 4096 * len(sizes) // 2
    places = [
        (begin + 4096 * k + 4 * word, size) for word in range(32) for k, size in enumerate(sizes)
    ]
    random.shuffle(places)
    await bench.carry_out(bench.read, [(0, *place) for place in places])
    assert bench.order == places


@crossed(units=[1, 2, 5], size=[4, 64], aligned=[True, False], late=[0, 60])
async def short_properties_one_a_cycle(dut, units, size, aligned, late):
    bench = await RamBench(dut, aligned=aligned, **latency(late)).begin()
    places = [(number % units, 64 * random.randrange(1000), size) for number in range(300)]
    await bench.carry_out(bench.read, places)
    for name in ("ar", "beats"):
        assert spread(bench.cycles[name]) == 300
    assert bench.cycles["ar"][0] - bench.first(bench.requests) == HostReader.request_latency
    assert bench.cycles["beats"][0] - bench.cycles["r"][0] == HostReader.beat_latency


@crossed(
    case=[
        # Address, bytes, order, beats of the bus for each
        (0, 4096, True, 64),
        (4, 4096, True, 65),
        (4, 4096, False, 65 + 31),  # the first beat of a line but two is asked for twice
        (64, 128, True, 2),
        (60, 64, True, 2),
        (124, 8, True, 2),
    ]
)
async def the_bus_is_always_busy(dut, case):
    """The bus moves a beat every cycle, whatever it is for."""
    address, size, aligned, beats = case
    bench = await RamBench(dut, aligned=aligned).begin()
    places = [(number % bench.host.units, 8192 * number + address, size) for number in range(40)]
    await bench.carry_out(bench.read, places)
    assert spread(bench.cycles["r"]) == len(bench.cycles["r"]) == 40 * beats


@crossed(size=[64, 128], us=100)
async def no_more_in_flight_than_allowed(dut, size):
    bench = await RamBench(dut, **latency(1000)).begin()
    for number in range(100):
        bench.read(number % bench.host.units, 128 * number, size)
    await bench.until(1)
    before = [number for number in bench.cycles["ar"] if number < bench.cycles["r"][0]]
    assert len(before) == bench.host.outstanding - (size > 64)
    await bench.until(100)
    await bench.end()


@crossed(response=FAILURES, aligned=[True, False])
async def only_properties_that_need_it_fail(dut, response, aligned):
    bad = 9000
    bench = RamBench(
        dut, aligned=aligned, stall=often, fail_read=1, fail_read_beat=bad, fail_response=response
    )
    await bench.begin()
    places = [
        (number % bench.host.units, 64 * bad + 4 * random.randint(-300, 100), 4 * size)
        for number, size in enumerate(random.choices(range(1, 201), k=200))
    ]
    await bench.carry_out(bench.read, places)
    needs = [
        any(address <= 64 * bad <= address + 64 * length for address, length in bursts)
        for bursts in (expected_bursts([place], aligned) for place in bench.order)
    ]
    assert bench.failed == needs
    assert {True, False} == set(needs)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(
    (
        ("fault", "size"),
        [
            (Fault.LAST, 64),
            (Fault.LAST, 300),
            (Fault.EXTRA, 300),
            (Fault.MUTE, 64),
            (Fault.MUTE, 300),
            (Fault.DEAF, 300),
        ],
    )
)
async def every_property_ends_with_a_broken_bus(dut, fault, size):
    """Later ones fail as well; what the memory answers late is nobody's."""
    bad = 84
    bench = await RamBench(dut, fail_read=1, fail_read_beat=bad, fault=fault, **latency(30)).begin()
    for number in range(60):
        bench.read(number % bench.host.units, 64 * bad + 4 * size * (number // 5 - 2), size)
    silent = fault in (Fault.MUTE, Fault.DEAF)
    bus = await bench.breaks("read", 60, silent)
    assert bus["owes"] == silent
    bench.set(settings={})
    await bench.revives("read")
    places = [(number % bench.host.units, 100 * number, size) for number in range(60)]
    await bench.carry_out(bench.read, places)
    assert not any(bench.failed)


@benched(RamBench, us=100)
async def a_unit_waits_for_the_others_once(bench):
    """One that comes to a busy reader is next but one or two."""
    for number in range(200):
        bench.read(0, 128 * number, 128)
    await bench.wait(50)
    requested = len(bench.requests[0].cycles)
    bench.read(3, 0, 4)
    await bench.until(201)
    await bench.end()
    assert requested <= bench.order.index((0, 4)) <= requested + 3
