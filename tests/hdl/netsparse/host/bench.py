"""Has host memory at a reader and a writer, and checks the buses between them."""

import random
from collections import defaultdict, deque
from dataclasses import dataclass
from pathlib import Path

import cocotb
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.axi import Burst, Response
from hdl.common.bus_watch import BUS, WATCH
from hdl.common.component import Component
from hdl.netsparse.host.host_reader import HostReader
from hdl.netsparse.host.host_writer import HostWriter
from hdl.netsparse.host.params import EVENTS, HostParams
from sim.harness.bench import Bench
from sim.harness.streams import Monitor, never, often
from sim.harness.verilator import simulate
from sim.surroundings.axi_ram import RAM_ARRAY, AxiRam, AxiRamParams, dump_file, ram_file
from tests.hdl.netsparse.host.places import BEAT, expected_bursts, expected_strobes, random_size

RAM_BYTES = 1 << 20
ADDRESS_BITS = 21

REQUEST = data.StructLayout({"address": ADDRESS_BITS, "length": 8, "size": 3, "burst": Burst})
CHANNELS = {"ar": REQUEST, "aw": REQUEST, "w": data.StructLayout({"last": 1, "strobes": BEAT})}


@dataclass(frozen=True, kw_only=True)
class HostBenchParams:
    """Says what is put together."""

    host: HostParams

    @property
    def ram(self):
        return AxiRamParams(address_bits=ADDRESS_BITS)


class HostBench(Component):
    """Has a reader and a writer at one RAM, with their buses to look at."""

    def __init__(self, params):
        host = params.host
        super().__init__(
            params,
            requests=In(stream.Signature(host.read_request)).array(host.units),
            beats=Out(host.read_beat),
            properties=In(stream.Signature(host.property_beat)).array(host.units),
            done=Out(host.done),
            aligned=In(1),
            read_events=Out(EVENTS),
            write_events=Out(EVENTS),
            watch=In(WATCH),
            read_bus=Out(BUS),
            write_bus=Out(BUS),
            **{f"{name}_payload": Out(shape) for name, shape in CHANNELS.items()},
            **{f"{name}_{wire}": Out(1) for name in CHANNELS for wire in ("valid", "ready")},
            **{f"{name}_valid": Out(1) for name in ("r", "b", "beats", "done")},
            ended=Out(1),  # a property is read, or written
            settings=In(params.ram.settings),
            index=In(8),
            dump=In(1),
        )

    def build(self, m):
        m.submodules.ram = ram = AxiRam(self.params.ram)
        m.submodules.reader = reader = HostReader(self.params.host)
        m.submodules.writer = writer = HostWriter(self.params.host)
        m.d.comb += [
            ram.index.eq(self.index),
            ram.settings.eq(self.settings),
            ram.dump.eq(self.dump),
            reader.aligned.eq(self.aligned),
            writer.aligned.eq(self.aligned),
            reader.watch.eq(self.watch),
            writer.watch.eq(self.watch),
            self.read_bus.eq(reader.bus),
            self.write_bus.eq(writer.bus),
            self.beats.eq(reader.beats),
            self.done.eq(writer.done),
            self.read_events.eq(reader.events),
            self.write_events.eq(writer.events),
            self.beats_valid.eq(reader.beats.valid),
            self.done_valid.eq(writer.done.valid),
            self.ended.eq(reader.beats.valid & reader.beats.last | writer.done.valid),
            self.r_valid.eq(ram.axi.rvalid),
            self.b_valid.eq(ram.axi.bvalid),
        ]
        for outer, inner in (
            (self.requests, reader.requests),
            (self.properties, writer.properties),
        ):
            for provided, taken in zip(outer, inner, strict=True):
                connect(m, flipped(provided), taken)
        for part in (reader, writer):
            for name, member in part.axi.signature.members.items():
                near, present = getattr(ram.axi, name), getattr(part.axi, name)
                m.d.comb += near.eq(present) if member.flow is Out else present.eq(near)
        named = {"address": "addr", "length": "len", "strobes": "strb"}  # others as they are in AXI
        for prefix, shape in CHANNELS.items():
            payload = getattr(self, f"{prefix}_payload")
            shown = {name: payload[name] for name in shape.members}
            shown |= {wire: getattr(self, f"{prefix}_{wire}") for wire in ("valid", "ready")}
            for name, near in shown.items():
                m.d.comb += near.eq(getattr(ram.axi, prefix + named.get(name, name)))


def run_bench(test_module, folder, rng, *, units=5, **options):
    """Run the cocotb tests of ``test_module``, on a RAM of random bytes."""
    content, dump = folder / "content.bin", folder / "dump.bin"
    content.write_bytes(rng.bytes(RAM_BYTES))
    host = HostParams(units=units, address_bits=ADDRESS_BITS, outstanding=64)
    return simulate(
        HostBench(HostBenchParams(host=host)),
        test_module,
        extra_sources=[RAM_ARRAY],
        plusargs=[ram_file(0, content), dump_file(0, dump)],
        **options,
    )


def random_properties(count, units):
    """Draw some of every unit, none overlapping another: lists of (address, bytes)."""
    at, places = 4 * random.randrange(64), []
    for number in range(count):
        size = 4 * random.randint(900, 1024) if number % 100 == 0 else random_size()
        if random.random() < 0.2:
            at += -at % random.choice([64, 128])
        places.append((at, size))
        at += size + 4 * random.choice([0, 0, 1, random.randrange(40)])
    assert at < RAM_BYTES
    random.shuffle(places)
    return [places[k::units] for k in range(units)]


class UnitsBench(Bench):
    """Lets units read and write properties, at a host of any kind."""

    def __init__(self, dut, stall=never, **inputs):
        super().__init__(dut, (stall, never), **inputs)
        self.host = getattr(self.params, "host", self.params)

    def read(self, unit, address, size):
        self.requests[unit].append({"address": address, "bytes": size})

    def write(self, unit, address, octets):
        place = {"address": address, "bytes": len(octets)}
        filled = octets + random.randbytes(-len(octets) % BEAT)  # which nobody may look at
        for at in range(0, len(filled), BEAT):
            data = int.from_bytes(filled[at : at + BEAT], "little")
            self.properties[unit].append(place | {"last": at + BEAT == len(filled), "data": data})

    def bus(self, name):
        return self.value(f"{name}_bus")


class RamBench(UnitsBench):
    """Remembers what it sees of units at a RAM."""

    def __init__(self, dut, *, aligned=True, stall=never, **settings):
        super().__init__(dut, stall, aligned=aligned, settings=settings)
        self.aligned, units = aligned, range(self.host.units)
        self.requested = [deque() for _ in units]  # of each unit, not yet answered
        self.provided = [deque() for _ in units]
        self.part = b""  # of a property that is read
        self.order = []  # places as they were answered
        self.failed = []  # which of them
        self.seen = defaultdict(list)  # bursts and beats, by channel
        self.cycles = defaultdict(list)
        self.events = defaultdict(int)
        self.content = bytearray()  # of the RAM, which keeps it from one cocotb test to the next
        events = ("read_events", "write_events")
        self.records = {
            **{name: Monitor(dut, name, shape=shape) for name, shape in CHANNELS.items()},
            **{name: self.record(f"{name}_valid") for name in ("r", "b")},
            **{name: self.record(name, name) for name in events},
            "beats": self.record("beats_valid", "beats"),
            "done": self.record("done_valid", "done"),
        }
        self.ended = self.record("ended")
        cocotb.start_soon(self.find_content())

    def read(self, unit, address, size):
        self.requested[unit].append((address, size))
        super().read(unit, address, size)

    def write(self, unit, address, size):
        self.provided[unit].append((address, size))
        self.content[address : address + size] = octets = random.randbytes(size)
        super().write(unit, address, octets)

    async def find_content(self):
        await self.idle(2)
        self.content[:] = await self.dumped()  # in reset, so that nobody writes

    def collect(self):
        """Note what has happened since the last time."""
        for name, records in self.records.items():
            for now, record in records.take().items():
                self.cycles[name].append(now)
                if name in CHANNELS:
                    self.seen[name].append(self.shown(name, **record))
                elif name == "beats":
                    self.judge(**record["beats"])
                elif name == "done":
                    done = record["done"]
                    self.order.append(self.provided[done["unit"]].popleft())
                    self.failed.append(bool(done["failed"]))
                elif record:
                    for event, happened in record[name].items():
                        self.events[f"{name}_{event}"] += happened

    def shown(self, name, **beat):
        """Return what a beat of channel ``name`` says."""
        if name == "w":
            return beat["strobes"], bool(beat["last"])
        assert (beat["size"], beat["burst"]) == (6, Burst.INCR)
        return beat["address"], beat["length"]

    def judge(self, *, data, unit, last, failed, **_):
        """Check a beat that was read."""
        address, size = self.requested[unit][0]
        self.part += data.to_bytes(BEAT, "little")
        assert len(self.part) <= -(-size // BEAT) * BEAT
        if not last:
            assert not failed
            return
        content, self.part = self.part, b""
        assert len(content) == -(-size // BEAT) * BEAT
        present = self.content[address : address + size].ljust(size, b"\0")  # zeros beyond the RAM
        assert failed or content[:size] == present
        self.order.append(self.requested[unit].popleft())
        self.failed.append(bool(failed))

    def first(self, sources):
        """Return the cycle in which the first property of any unit was taken."""
        return min(source.cycles[0] for source in sources if source.cycles)

    async def until(self, count):
        """Wait until ``count`` properties have ended."""
        self.collect()
        await self.ended.wait_for(len(self.ended.beats) + count - len(self.order))
        self.collect()

    async def idle(self, cycles=20):
        await self.wait(cycles)
        self.collect()

    async def breaks(self, name, count, silent):
        """Check that bus ``name`` breaks: ``count`` properties are answered, the last fails."""
        for _ in range(3):
            await self.idle(100)
            await self.strobe(watch={"tick": 1})
        await self.idle(600)
        assert len(self.order) == count
        assert self.failed[-1]
        assert self.failed == sorted(self.failed)
        bus = self.bus(name)
        assert bus["broken"]
        assert bus["silent"] == silent
        return bus

    async def revives(self, name):
        """Let its memory be well again: it answers what it owes, and then the bus is used."""
        await self.idle(400)
        assert not self.bus(name)["owes"]
        await self.strobe(watch={"revive": 1})
        await self.idle(2)
        assert not any(self.bus(name).values())
        self.order.clear()
        self.failed.clear()
        self.seen.clear()
        self.events.clear()

    async def end(self):
        """Check that nothing is left, and that the bus was asked for what the golden model says."""
        await self.idle()
        assert not any(self.requested)
        assert not any(self.provided)
        write = bool(self.seen["aw"])
        channel, side = ("aw", "write") if write else ("ar", "read")
        bursts = expected_bursts(self.order, self.aligned)
        assert self.seen[channel] == bursts
        assert not self.seen["ar" if write else "aw"]
        if write:
            assert self.seen["w"] == expected_strobes(self.order, self.aligned)
        assert self.events[f"{side}_events_request"] == len(bursts)
        assert self.events[f"{side}_events_property"] == len(self.order)

    async def carry_out(self, path, properties):
        """Have all ``properties`` read or written: unit, address and bytes; check all of it."""
        for item in properties:
            path(*item)
        await self.until(len(properties))
        await self.end()
        if path == self.write:
            await self.check_memory()

    async def check_memory(self):
        """Check every byte of host memory."""
        assert await self.dumped() == self.content

    async def dumped(self):
        """Return what the RAM holds."""
        await self.strobe(dump=1)
        await self.idle(3)
        return Path(cocotb.plusargs["dump_0"]).read_bytes()


async def carry_out_random(dut, path, aligned, stalls, late):
    """Have random properties of all units read or written; return the bench, and each unit's.

    A unit's own are carried out in its order.
    """
    source, sink = stalls
    settings = latency(late) | ({} if sink is never else stalled(160 if sink is often else 20))
    bench = await RamBench(dut, aligned=aligned, stall=source, **settings).begin()
    properties = random_properties(400, bench.host.units)
    each = [(unit, *place) for unit, places in enumerate(properties) for place in places]
    await bench.carry_out(getattr(bench, path), each)
    assert not any(bench.failed)
    for unit, places in enumerate(properties):
        assert [place for place in bench.order if place in set(places)] == places, unit
    return bench, properties


def stalled(chance):
    """Return settings that stall every channel, with ``chance`` in 256."""
    names = ("ar_stall", "r_stall", "aw_stall", "w_stall", "b_stall")
    return dict.fromkeys(names, chance) | {"seed": random.getrandbits(32)}


def latency(cycles):
    """Return settings that are late."""
    return {"read_latency": cycles, "write_latency": cycles}


FAILURES = [Response.EXOKAY, Response.SLVERR, Response.DECERR]
