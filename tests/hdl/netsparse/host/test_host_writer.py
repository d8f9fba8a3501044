import random
from collections import deque

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.axi import Response
from hdl.netsparse.host.host_writer import AHEAD, HostWriter
from hdl.netsparse.host.params import HostParams
from sim.harness.payloads import pack, unpack
from sim.harness.streams import STALLS, benched, crossed, never, often
from sim.surroundings.axi_ram import Fault
from tests.hdl.netsparse.host.bench import (
    FAILURES,
    RamBench,
    UnitsBench,
    carry_out_random,
    latency,
    run_bench,
)
from tests.hdl.netsparse.host.places import expected_bursts, expected_strobes, spread
from tests.simulated import simulated


def test_host_writer(tmp_path, rng):
    run_bench(__name__, tmp_path, rng, test_filter="bench_")


CHANNELS = [HostParams(units=units, outstanding=24) for units in (1, 2)]
test_channels_of_host_writer = simulated(HostWriter, CHANNELS, __name__, test_filter="alone_")


@crossed(aligned=[True, False], stalls=STALLS, late=[0, 100])
async def bench_writes_random_properties(dut, aligned, stalls, late):
    await carry_out_random(dut, "write", aligned, stalls, late)


@crossed(aligned=[True, False], us=100)
async def bench_writes_the_papers_example(dut, aligned):
    """480 bytes at address 480 take five requests, against eight."""
    bench = await RamBench(dut, aligned=aligned).begin()
    await bench.carry_out(bench.write, [(0, 480, 480)])
    assert len(bench.seen["aw"]) == (5 if aligned else 8)


@crossed(aligned=[True, False])
async def bench_writes_every_start_and_awkward_sizes(dut, aligned):
    """One unit writes without a pause, so that every beat follows every other."""
    bench = await RamBench(dut, aligned=aligned).begin()
    sizes = [4, 60, 64, 68, 124, 128, 132, 188, 192, 196, 4096]
    cases = [(4 * word, size) for word in range(32) for size in sizes]
    random.shuffle(cases)
    at, places = 0, []
    for offset, size in cases:
        at += (offset - at) % 128
        places.append((at, size))
        at += size
    await bench.carry_out(bench.write, [(0, *place) for place in places])
    assert bench.order == places


@crossed(units=[1, 2, 5], size=[4, 64], aligned=[True, False], late=[0, 60])
async def bench_short_properties_one_a_cycle(dut, units, size, aligned, late):
    bench = await RamBench(dut, aligned=aligned, **latency(late)).begin()
    places = [(number % units, 64 * number, size) for number in range(300)]
    await bench.carry_out(bench.write, places)
    if late:  # 64 requests in flight just cover it
        assert spread(bench.cycles["aw"]) < 320
    for name in ("aw", "w", "done"):
        assert late or spread(bench.cycles[name]) == 300
    assert bench.cycles["aw"][0] - bench.first(bench.properties) == HostWriter.request_latency
    assert bench.cycles["w"][0] - bench.first(bench.properties) == HostWriter.beat_latency
    assert bench.cycles["done"][0] - bench.cycles["b"][0] == HostWriter.done_latency


@crossed(
    case=[
        # Address, bytes, order, beats of the bus for each
        (0, 4096, True, 64),
        (4, 4096, True, 65),
        (4, 4096, False, 65 + 31),  # the first beat of a line but two is written in two parts
        (64, 128, True, 2),
        (60, 64, True, 2),
        (124, 8, True, 2),
    ]
)
async def bench_the_bus_is_always_busy(dut, case):
    """The bus moves a beat every cycle, whatever it is for."""
    address, size, aligned, beats = case
    bench = await RamBench(dut, aligned=aligned).begin()
    places = [(number % bench.host.units, 8192 * number + address, size) for number in range(40)]
    await bench.carry_out(bench.write, places)
    assert spread(bench.cycles["w"]) == len(bench.cycles["w"]) == 40 * beats


@cocotb.test(timeout_time=100, timeout_unit="us")
async def bench_no_more_in_flight_than_allowed(dut):
    bench = await RamBench(dut, **latency(1000)).begin()
    for number in range(100):
        bench.write(number % bench.host.units, 128 * number, 128)
    await bench.until(1)
    before = [number for number in bench.cycles["aw"] if number < bench.cycles["b"][0]]
    assert len(before) == bench.host.outstanding
    await bench.until(100)
    await bench.end()


@crossed(response=FAILURES, aligned=[True, False])
async def bench_only_properties_that_need_it_fail(dut, response, aligned):
    """They are those that write the beat that fails, or the other half of its request."""
    bad = 9000
    bench = RamBench(
        dut, aligned=aligned, stall=often, fail_write=1, fail_write_beat=bad, fail_response=response
    )
    await bench.begin()
    places, at = [], 64 * bad - 3000
    while at < 64 * bad + 3000:
        size = 4 * random.choice([1, 2, random.randint(1, 60)])
        places.append((at, size))
        at += size
    for number, place in enumerate(places):
        bench.write(number % bench.host.units, *place)
    await bench.until(len(places))
    await bench.end()
    needs = [
        any(address <= 64 * bad <= address + 64 * length for address, length in bursts)
        for bursts in (expected_bursts([place], aligned) for place in bench.order)
    ]
    assert bench.failed == needs
    assert {True, False} == set(needs)


@crossed(fault=[Fault.MUTE, Fault.DEAF], size=[64, 300], us=100)
async def bench_every_property_ends_with_a_broken_bus(dut, fault, size):
    """Later ones fail as well; what the memory answers late is nobody's."""
    bench = await RamBench(dut, fail_write=1, fault=fault, **latency(30)).begin()
    for number in range(60):
        bench.write(number % bench.host.units, 64 * 100 + size * number, size)
    bus = await bench.breaks("write", 60, silent=True)
    assert bus["owes"]
    bench.set(settings={})
    await bench.revives("write")
    places = [(k % bench.host.units, 64 * 100 + size * k, size) for k in range(60)]
    await bench.carry_out(bench.write, places)  # over all that may have been written
    assert not any(bench.failed)


@benched(RamBench, us=100)
async def bench_a_unit_that_pauses_holds_up_the_others(bench):
    """Nothing of theirs comes between its beats."""
    stops = iter([False, False, *[True] * 200])
    bench.properties[1].stall = lambda: next(stops, False)
    bench.write(1, 1000, 640)
    await bench.idle()
    bench.write(0, 5000, 100)
    bench.write(2, 7000, 100)
    await bench.idle(150)
    assert bench.order == []
    await bench.until(3)
    await bench.end()
    await bench.check_memory()
    assert bench.order[0] == (1000, 640)
    assert not any(bench.failed)


class Channels(UnitsBench):
    """Is a slave whose channels are opened by hand, behind a writer alone."""

    def __init__(self, dut, stall=never):
        super().__init__(dut, stall, aligned=1)
        self.bursts, self.beats, self.done, self.order = [], [], [], []
        self.provided_bytes, self.written = b"", b""  # of the properties taken; with a strobe
        self.events, self.on_bus = self.tally(), self.tally("bus")
        self.provided = [deque() for _ in range(self.params.units)]
        cocotb.start_soon(self.watch())

    async def watch(self):
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            if dut.axi_awvalid.value and dut.axi_awready.value:
                self.bursts.append((int(dut.axi_awaddr.value), int(dut.axi_awlen.value)))
                assert (int(dut.axi_awsize.value), int(dut.axi_awburst.value)) == (6, 1)
            if dut.axi_wvalid.value and dut.axi_wready.value:
                strobes = int(dut.axi_wstrb.value)
                self.beats.append((strobes, bool(dut.axi_wlast.value)))
                octets = int(dut.axi_wdata.value).to_bytes(64, "little")
                self.written += bytes(octets[k] for k in range(64) if strobes >> k & 1)
            if int(dut.done.value) & 1:
                self.done.append(int(dut.done.value))
            for unit in range(self.params.units):
                bus = self.properties[unit].bus
                if bus.valid.value and bus.ready.value:
                    beat = unpack(self.params.property_beat, int(bus.payload.value))
                    if beat["last"]:
                        place, octets = self.provided[unit].popleft()
                        self.order.append((unit, place))
                        self.provided_bytes += octets

    def write_all(self, places, unit=0):
        for address, size in places:
            octets = random.randbytes(size)
            self.provided[unit].append(((address, size), octets))
            self.write(unit, address, octets)

    async def report(self, said):
        """Pulse ``tick`` or ``revive``, and check what follows."""
        await self.strobe(watch={said: 1})
        await self.wait(20)

    async def answer(self, count):
        """Answer on B with OKAY."""
        self.dut.axi_bvalid.value = 1
        await self.wait(count)
        self.dut.axi_bvalid.value = 0
        await self.wait(20)

    async def wait(self, cycles=200):
        await super().wait(cycles)


@crossed(first=["aw", "w"], size=[8, 256], us=100)
async def alone_neither_channel_waits_for_the_other(dut, first, size):
    """A slave may want all of one before any of the other; the top of the address space counts.

    Properties of two requests each, of one beat or four.
    """
    channels = await Channels(dut).begin()
    places = [((1 << 64) - 256 + 4 * k, 256 - 8 * k) for k in range(20)]
    if size == 8:
        places = [(128 * k - 4, 8) for k in range(1, 31)]
    bursts, beats = expected_bursts(places, True), expected_strobes(places, True)
    channels.write_all(places)
    second = {"aw": "w", "w": "aw"}[first]
    getattr(dut, f"axi_{first}ready").value = 1
    await channels.wait()
    if first == "aw":
        # As many beats as can wait, of four a property, or requests; and what is on the way.
        assert AHEAD // 2 <= len(channels.bursts) <= AHEAD + 3  # a skid holds one
        assert channels.beats == []
    else:
        assert channels.bursts == []
        lasts = [last for _, last in channels.beats]
        assert sum(lasts) == 1  # that of the AW that waits
        assert channels.beats == beats[: len(lasts)]
    getattr(dut, f"axi_{first}ready").value = 0
    getattr(dut, f"axi_{second}ready").value = 1
    await channels.wait()
    getattr(dut, f"axi_{first}ready").value = 1
    answered = 0
    while answered < len(bursts):
        await RisingEdge(dut.clk)
        dut.axi_bvalid.value = 0
        if answered < min(len(channels.bursts), sum(last for _, last in channels.beats)):
            dut.axi_bvalid.value = 1
            answered += 1
        assert len(channels.bursts) - answered <= channels.params.outstanding
    await RisingEdge(dut.clk)
    dut.axi_bvalid.value = 0
    await channels.wait(20)
    assert channels.bursts == bursts
    assert channels.beats == beats
    assert channels.written == channels.provided_bytes
    assert channels.done == [1] * len(places)


@crossed(aligned=[True, False], us=100)
async def alone_each_channel_at_its_own_pace(dut, aligned):
    """Some answers are errors: ``done`` tells whose property it was, and whether it failed."""
    channels = Channels(dut, stall=lambda: random.random() < 0.8)
    channels.set(aligned=aligned)
    await channels.begin()
    places = [(512 * k + 4 * random.randrange(32), 4 * random.randint(1, 64)) for k in range(80)]
    places.append((1 << 20, channels.params.max_bytes))
    units = channels.params.units
    for unit in range(units):
        channels.write_all(places[unit::units], unit)
    left, answers = len(expected_bursts(places, aligned)), []
    while left:
        dut.axi_awready.value = random.random() < 0.4
        dut.axi_wready.value = random.random() < 0.4
        ended = min(len(channels.bursts), sum(last for _, last in channels.beats))
        dut.axi_bvalid.value = answered = len(answers) < ended and random.random() < 0.5
        answer = random.choice((*[Response.OKAY] * 9, *FAILURES))
        dut.axi_bresp.value = answer.value
        if answered:
            answers.append(answer)
            left -= 1
        await RisingEdge(dut.clk)
    dut.axi_bvalid.value = 0
    await channels.wait(5)
    order, answer, done = [place for _, place in channels.order], iter(answers), []
    assert channels.bursts == expected_bursts(order, aligned)
    assert channels.beats == expected_strobes(order, aligned)
    for unit, place in channels.order:
        own = [next(answer) for _ in expected_bursts([place], aligned)]
        failed = any(item is not Response.OKAY for item in own)
        done.append(pack(channels.params.done, {"valid": 1, "unit": unit, "failed": failed}))
    assert channels.done == done
    assert channels.written == channels.provided_bytes
    assert channels.events.counts == {"property": len(places), "request": len(answers)}


@benched(Channels, us=100)
async def alone_a_silent_memory_is_abandoned(channels):
    """Its properties fail, its late answers are nobody's, and the bus is used again."""
    channels.dut.axi_awready.value = channels.dut.axi_wready.value = 1
    channels.write_all([(512 * k, 64) for k in range(3)])
    await channels.wait(50)
    await channels.report("tick")
    assert not int(channels.dut.bus.value) & 1
    assert channels.done == []
    await channels.report("tick")
    assert channels.value("bus") == {"broken": 1, "silent": 1, "owes": 1, "dropped": 0}
    assert channels.done == [pack(channels.params.done, {"valid": 1, "unit": 0, "failed": 1})] * 3
    await channels.answer(3)
    assert channels.on_bus["dropped"] == 3
    await channels.report("revive")
    assert not int(channels.dut.bus.value)
    channels.done.clear()
    channels.write_all([(512, 64)])
    await channels.wait(50)
    await channels.answer(1)
    assert channels.done == [1]
    assert channels.on_bus["dropped"] == 3
