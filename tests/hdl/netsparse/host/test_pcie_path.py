"""Reads and writes properties of several units over PCI Express, on a simulated block and host."""

import random
from dataclasses import field
from functools import partial

import cocotb
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.common.params import Params
from hdl.netsparse.host.params import EVENTS, HostParams
from hdl.netsparse.host.pcie_path import PciePath
from hdl.pcie.function_reset import FUNCTION
from hdl.pcie.read_pace import SHARE_BITS
from sim.golden.pcie_link import bytes_of_share, max_of_share
from sim.harness.streams import benched, crossed, edges, never, often
from sim.harness.verilator import simulate
from sim.surroundings.pcie.host import PcieHost
from sim.surroundings.pcie.params import (
    COUNTS,
    HOST_ARRAY,
    PcieHostParams,
    host_dump,
    host_file,
    pcie_host_settings,
)
from sim.surroundings.side_port import SidePort
from tests.hdl.netsparse.host.bench import UnitsBench
from tests.hdl.netsparse.host.places import BEAT

SIZE = 1 << 16  #: bytes of host memory
READ_CODE, LARGEST = 2, 512  #: the largest read that the host allows
CAUGHT = 20_000  #: cycles within which whatever a test waits for happens
OFTEN = 10  #: cycles after which it looks again


class BenchParams(Params, suffix="{host.suffix}"):
    """Says what is put together."""

    host: HostParams = field(default_factory=lambda: HostParams(units=3, address_bits=32))
    memory: PcieHostParams = field(default_factory=lambda: PcieHostParams(address_bits=20))


class PathBench(Component):
    """Connects units to a block, a link and a host."""

    def __init__(self, params):
        host, memory = params.host, params.memory
        super().__init__(
            params,
            requests=In(stream.Signature(host.read_request)).array(host.units),
            beats=Out(host.read_beat),
            properties=In(stream.Signature(host.property_beat)).array(host.units),
            done=Out(host.done),
            watch=In(WATCH),
            function=In(FUNCTION),
            share=In(SHARE_BITS),
            deaf=In(1),  # the block takes no packet and tells no number
            **{f"{path}_bus": Out(BUS) for path in ("read", "write")},
            **{f"{path}_events": Out(EVENTS) for path in ("read", "write")},
            settings=In(memory.settings),
            index=In(8),
            dump=In(1),
            counts=Out(COUNTS),
            access=In(memory.access),
            accessed=Out(memory.data_bits),
            **{name: Out(1) for name in ("requested", "answered", "beats_valid", "done_valid")},
        )

    def build(self, m):
        m.submodules.path = path = PciePath(self.params.host)
        m.submodules.memory = memory = PcieHost(self.params.memory)
        for k in range(self.params.host.units):
            connect(m, flipped(self.requests[k]), path.requests[k])
            connect(m, flipped(self.properties[k]), path.properties[k])
        connect(m, memory.rc, path.rc)
        connect(m, flipped(self.function), path.function)
        for name in ("tdata", "tkeep", "tlast", "tuser"):
            m.d.comb += getattr(memory.rq, name).eq(getattr(path.rq, name))
        m.d.comb += [
            memory.rq.tvalid.eq(path.rq.tvalid & ~self.deaf),
            path.rq.tready.eq(memory.rq.tready & ~self.deaf),
            path.limits.read.eq(READ_CODE),
            path.limits.payload.eq(self.settings.payload[:2]),
            path.credits.eq(memory.credits),
            path.numbers.eq(memory.numbers),
            path.share.eq(self.share),
            path.watch.eq(self.watch),
            self.beats.eq(path.beats),
            self.done.eq(path.done),
            self.read_bus.eq(path.read_bus),
            self.write_bus.eq(path.write_bus),
            self.read_events.eq(path.read_events),
            self.write_events.eq(path.write_events),
            memory.index.eq(self.index),
            memory.settings.eq(self.settings),
            memory.dump.eq(self.dump),
            memory.access.eq(self.access),
            self.accessed.eq(memory.accessed),
            self.counts.eq(memory.counts),
            self.requested.eq(path.rq.tvalid & path.rq.tready),
            self.answered.eq(path.rc.tvalid & path.rc.tready),
            self.beats_valid.eq(path.beats.valid),
            self.done_valid.eq(path.done.valid),
        ]


def test_pcie_path(tmp_path, rng):
    content = tmp_path / "content.bin"
    content.write_bytes(rng.bytes(SIZE))
    simulate(
        PathBench(BenchParams()),
        __name__,
        extra_sources=[HOST_ARRAY],
        plusargs=[host_file(0, content), host_dump(0, tmp_path / "dump.bin")],
    )


class PcieBench(UnitsBench):
    """Keeps what units ask and write, what comes of it, and the host's memory beside them."""

    def __init__(self, dut, stall=never, stalled=0, **settings):
        super().__init__(dut, stall, function_master=1)
        settings = {"latency": 50, "stall": stalled, "seed": random.getrandbits(32)} | settings
        self.set(settings=pcie_host_settings(self.params.memory, **settings))
        units = range(self.host.units)
        self.memory = SidePort(dut, self.params.memory)
        self.parts = [b"" for _ in units]  # of properties that are read
        self.ended = []  # cycle, unit and bytes of each that was
        self.result = [[] for _ in units]  # of each unit: bytes, whether they have failed
        self.done = [0 for _ in units]
        self.lost = [[] for _ in units]  # of each unit: numbers of its writes that have failed
        self.events = {name: self.tally(f"{name}_events") for name in ("read", "write")}
        self.beats, self.ends = (
            self.record("beats_valid", "beats"),
            self.record("done_valid", "done"),
        )
        self.requested, self.answered = self.record("requested"), self.record("answered")
        self.came = []  # cycles of beats

    def collect(self):
        """Note what has happened since the last time."""
        for now, record in self.beats.take().items():
            beat, unit = record["beats"], record["beats"]["unit"]
            self.came.append(now)
            self.parts[unit] += beat["data"].to_bytes(BEAT, "little")
            if beat["last"]:
                self.ended.append((now, unit))
                self.result[unit].append((self.parts[unit], beat["failed"]))
                self.parts[unit] = b""
        for record in self.ends.take().values():
            unit = record["done"]["unit"]
            if record["done"]["failed"]:
                self.lost[unit].append(self.done[unit])
            self.done[unit] += 1

    async def happens(self, ready):
        for _ in range(CAUGHT // OFTEN):
            self.collect()
            if ready():
                return
            await edges(self.dut.clk, OFTEN)
        raise AssertionError("it has not come")

    async def cycles(self, count):
        await self.wait(count)
        self.collect()

    async def say(self, name):
        """Let a time-out pass while nothing moves (``tick``), or ``revive`` the buses."""
        await self.strobe(watch={name: 1})
        await self.cycles(5)


def some_place():
    """Draw an address and a size in whole dwords; many cross the largest read."""
    size = 4 * random.choice([1, 15, 16, 17, random.randint(1, 60), random.randint(1, 1024)])
    near = random.choice([4, LARGEST, LARGEST, 4096])
    address = near * random.randrange(SIZE // near) - 4 * random.randrange(20)
    return max(0, min(address, SIZE - size)), size


@crossed(
    (
        ("stall", "settings"),
        [
            (never, {}),
            (often, {"stalled": 60, "split": 3, "window": 8, "boundary": 1}),
            (never, {"payload": 0, "split": 2, "window": 4}),
        ],
    ),
    ms=2,
)
async def every_unit_has_its_bytes(dut, stall, settings):
    """Reads and writes go at once, in places of their own, each unit's in its order."""
    bench = await PcieBench(dut, stall, **settings).begin()
    reads, writes, free = [[] for _ in bench.requests], [], SIZE // 2
    for _ in range(40):
        for unit, expected in enumerate(reads):
            address, size = some_place()
            address = address // 2 & ~3  # the lower half is read
            size = min(size, SIZE // 2 - address)
            bench.read(unit, address, size)
            expected.append((address, size))
        octets = random.randbytes(4 * random.choice([1, 16, random.randint(1, 100)]))
        if free + len(octets) <= SIZE:
            writes.append((free, octets))
            bench.write(len(writes) % len(reads), free, octets)
            free += len(octets) + 4 * random.randrange(8)
    await bench.happens(
        lambda: all(len(a) == len(b) for a, b in zip(bench.result, reads, strict=True))
    )
    await bench.happens(lambda: sum(bench.done) == len(writes))
    assert not any(bench.lost)
    for result, expected in zip(bench.result, reads, strict=True):
        for (octets, failed), (address, size) in zip(result, expected, strict=True):
            assert not failed
            assert octets[:size] == await bench.memory.read_memory(address, size)
    for address, octets in writes:
        assert await bench.memory.read_memory(address, len(octets)) == octets
    counts = bench.value("counts")
    read, written = (bench.events[name].counts for name in ("read", "write"))
    assert read == {"request": counts["reads"], "property": sum(map(len, reads))}
    assert written == {"request": counts["writes"], "property": len(writes)}
    for path in ("read", "write"):
        assert not any(bench.bus(path).values())


@benched(PcieBench)
async def what_is_nowhere_fails_alone(bench):
    places = [some_place() for _ in range(30)]
    wrong = [k % 5 == 3 for k in range(30)]
    for (address, size), item in zip(places, wrong, strict=True):
        bench.read(1, address + item * SIZE, size)
    await bench.happens(lambda: len(bench.result[1]) == 30)
    assert [bool(failed) for _, failed in bench.result[1]] == wrong
    for (octets, failed), (address, size) in zip(bench.result[1], places, strict=True):
        assert failed or octets[:size] == await bench.memory.read_memory(address, size)


@benched(PcieBench)
async def latencies_and_a_property_a_cycle(bench):
    path = PciePath(bench.host)
    await bench.cycles(bench.host.requester.reads.tags)  # until tags may be given
    bench.read(0, 128, 64)
    await bench.happens(lambda: bench.came)
    # The unit that an arbiter is turned to at first is not this one.
    assert bench.requested.cycles[0] - bench.requests[0].cycles[0] in range(
        path.request_latency, path.request_latency + 2
    )
    assert bench.came[0] - bench.answered.cycles[-1] == path.beat_latency
    for k in range(240):
        bench.read(k % 3, 64 * random.randrange(SIZE // 64), 64)
    await bench.happens(lambda: len(bench.came) == 241)
    requested = bench.requested.cycles[1:]
    assert requested[63] - requested[0] == 63  # as many as there are tags


@benched(PcieBench, share=[20, 100])
async def reads_keep_to_a_share(bench, share):
    """Those of all units together have as much as that, within 2 percent, once they go."""
    bench.dut.share.value = share
    sizes, rest = [[] for _ in bench.result], int(bytes_of_share(share, 4000, BEAT))
    while rest > 0:
        unit, size = random.randrange(len(sizes)), 4 * random.randrange(1, 64)
        bench.read(unit, 256 * random.randrange(SIZE // 256), size)
        sizes[unit].append(size)
        rest -= size
    await bench.happens(lambda: len(bench.ended) == sum(map(len, sizes)))
    come, had = [], 0  # when, and how much has come before the property that comes then
    for now, unit in bench.ended:
        come.append((now, had))
        had += sizes[unit].pop(0)
    _, had = come[-1]
    assert had <= max_of_share(share, come[-1][0] - bench.requested.cycles[0], BEAT)
    begin, end = come[len(come) // 4], come[-1]  # in between nothing is left of what was saved
    had_share = (end[1] - begin[1]) / bytes_of_share(share, end[0] - begin[0], BEAT)
    bench.dut._log.info("%.4f of what the share allows", had_share)
    assert abs(had_share - 1) < 0.02


@benched(PcieBench)
async def a_block_that_stands_still_is_silent(bench):
    """A write that is stuck and a read without an answer are told, and both end."""
    bench.dut.deaf.value = 1
    bench.write(0, 64, random.randbytes(64))
    await bench.happens(lambda: len(bench.properties[0].cycles) == 1)
    await bench.wait(40)
    assert not bench.bus("write")["silent"]
    for _ in range(3):
        await bench.say("tick")
    assert bench.bus("write")["silent"]
    bench.dut.deaf.value = 0
    await bench.happens(lambda: bench.done[0] == 1)
    await bench.say("revive")
    assert not any(bench.bus("write").values())
    before = len(bench.requested.cycles)
    bench.read(2, 0, 64)
    await bench.happens(lambda: len(bench.requested.cycles) > before)
    for _ in range(4):  # before the host has answered, whose latency is longer
        await bench.say("tick")
    await bench.happens(lambda: bench.result[2])
    assert bench.result[2][0][1]
    assert bench.bus("read")["silent"]
    await bench.happens(lambda: not bench.bus("read")["owes"])
    bench.read(2, 0, 64)
    await bench.happens(lambda: len(bench.result[2]) == 2)
    assert bench.result[2][1] == (await bench.memory.read_memory(0, 64), 0)


PLACE = 128  #: bytes of a place that is written once
WRITES = 100  #: that all units make at most before a reset
AHEAD = 8  #: reads, and writes, of a unit that have not ended, at most


class Storm:
    """Lets all units read a quarter of host memory, and write places of their own in the rest."""

    def __init__(self, bench):
        self.bench, self.runs, self.places = bench, False, 0
        self.reads = [[] for _ in bench.requests]
        self.writes = [[] for _ in bench.properties]

    def read(self, unit):
        address, size = some_place()
        address = address // 4 & ~3
        size = min(size, 600, SIZE // 4 - address)
        self.reads[unit].append((address, size))
        self.bench.read(unit, address, size)

    def write(self, unit):
        address = SIZE // 4 + PLACE * self.places
        self.places += 1
        octets = random.randbytes(4 * random.choice([1, 16, random.randint(1, PLACE // 4)]))
        self.writes[unit].append((address, octets))
        self.bench.write(unit, address, octets)

    async def run(self):
        """Ask more than can be done, as long as it ``runs``."""
        self.runs, most, unit = True, self.places + WRITES, 0
        while self.runs:
            if len(self.reads[unit]) < len(self.bench.result[unit]) + AHEAD:
                self.read(unit)
            if len(self.writes[unit]) < self.bench.done[unit] + AHEAD and self.places < most:
                self.write(unit)
            unit = (unit + 1) % len(self.reads)
            await self.bench.cycles(2)

    async def over(self):
        """Wait until everything that was asked has ended; return how much of it failed."""
        self.runs, bench = False, self.bench
        await bench.cycles(3)
        await bench.happens(
            lambda: [len(item) for item in bench.result] == list(map(len, self.reads))
        )
        await bench.happens(lambda: bench.done == list(map(len, self.writes)))
        failed = 0
        for result, expected in zip(bench.result, self.reads, strict=True):
            for (octets, bad), (address, size) in zip(result, expected, strict=True):
                assert len(octets) == size + -size % BEAT
                assert bad or octets[:size] == await bench.memory.read_memory(address, size)
                failed += bad
        for lost, written in zip(bench.lost, self.writes, strict=True):
            for number, (address, octets) in enumerate(written):
                if number not in lost:
                    assert await bench.memory.read_memory(address, len(octets)) == octets
        return failed, sum(map(len, bench.lost))


async def reset(bench):
    """Reset the function as a host does: nothing is sent before it is a master again."""
    dut = bench.dut
    dut.function_in_process.value = 1
    await bench.happens(lambda: dut.function_done.value)
    dut.function_in_process.value = dut.function_master.value = 0
    await bench.cycles(5)
    assert not dut.function_done.value
    await keeps_still(bench)


async def lose_master(bench):
    bench.dut.function_master.value = 0
    await bench.cycles(1500)
    await keeps_still(bench)


async def keeps_still(bench):
    sent = len(bench.requested.cycles)
    await bench.cycles(300)
    assert len(bench.requested.cycles) == sent


@benched(partial(PcieBench, window=8), stop=[reset, lose_master], ms=2)
async def the_function_is_reset_under_traffic(bench, stop):
    """What was asked ends, right or failed; all fails until the buses are revived, then none."""
    storm, units, before = Storm(bench), bench.host.units, (0, 0)

    async def one_each():
        for unit in range(units):
            storm.read(unit)
            storm.write(unit)
        return await storm.over()

    for wait in [150, random.randrange(60, 190), random.randrange(60, 190)]:
        cocotb.start_soon(storm.run())
        await bench.cycles(wait)
        await stop(bench)
        for path in ("read", "write"):
            state = bench.bus(path)
            assert (state["broken"], state["silent"]) == (1, 0)
        bench.dut.function_master.value = 1
        failed = await storm.over()
        assert failed[0] > before[0]
        assert failed[1] > before[1]
        before = tuple(count + units for count in failed)
        assert await one_each() == before
        await bench.say("revive")
        for path in ("read", "write"):
            assert not any(bench.bus(path).values())
        assert await one_each() == before


@benched(partial(PcieBench, window=8), ms=2)
async def what_is_refused_when_the_buses_are_revived_ends_as_it_began(bench):
    """A property has several beats, and the revival comes with any of them."""
    storm = Storm(bench)
    for _ in range(10):
        await reset(bench)
        bench.dut.function_master.value = 1
        cocotb.start_soon(storm.run())
        await bench.cycles(random.randrange(30, 60))
        await bench.say("revive")
        await storm.over()
