import random
from itertools import pairwise

import cocotb
from cocotb.triggers import ClockCycles

from hdl.common.rings import Fault
from hdl.netsparse.queue.descriptor_fetch import AHEAD, DescriptorFetch
from hdl.netsparse.queue.params import Verdict
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Sink, benched, crossed, cycle, never
from sim.netsparse.golden.rings import pack_descriptor
from tests.hdl.netsparse.queue.bench import HostReads
from tests.hdl.netsparse.rig.bench import TINY
from tests.simulated import simulated

NOTHING = dict.fromkeys(("idx_address", "property_address", "count", "watchdog"), 0)

test_descriptor_fetch = simulated(DescriptorFetch, [TINY], __name__)


def descriptor(**changes):
    """Return a legal descriptor of random numbers, and what is to come of it."""
    fields = {
        "idx_address": random.getrandbits(64),
        "property_address": random.getrandbits(64),
        "count": random.getrandbits(32),
        "watchdog": random.getrandbits(32),
        "property_bytes": random.getrandbits(13),
        "tag": random.getrandbits(16),
        "unit": random.getrandbits(8),
        "wide": random.getrandbits(1),
    } | changes
    request = {name: field for name, field in fields.items() if name != "unit"}
    built = {"verdict": Verdict.LEGAL, "unit": fields["unit"], "request": request}
    return pack_descriptor(**fields), built


class FetchBench(Bench):
    def __init__(self, dut, stalls=(never, never), delay=lambda: 10):
        host_stall, stall = stalls
        super().__init__(dut, (never, stall))
        self.memory = {}
        self.host = HostReads(dut, self.memory, stall=host_stall, delay=delay)

    def ring(self, **fields):
        self.set(ring=fields)

    def open(self, size, producer=0, address=None):
        places = 1 << size
        self.size = size
        room = (1 << self.params.address_bits) // (64 * places)
        self.address = random.randrange(room) * 64 * places if address is None else address
        self.produce(producer)

    def produce(self, producer):
        self.ring(enable=1, address=self.address, size=self.size, index=producer & 0xFFFF)

    async def close(self):
        self.ring(enable=0, address=self.address, size=self.size, index=random.getrandbits(16))
        await self.wait(3)
        await self.until("busy", 0)
        await self.wait(2)

    def place(self, index):
        return self.address + 64 * (index % (1 << self.size))

    async def run(self, count, write, begin=0):
        """Play a host that fills places as they become free; ``write`` makes descriptor k.

        So many have been asked for before, by a preset, of which ``consumer`` does not know.
        """
        first = len(self.o.beats)
        expected, written = [], begin
        while written < begin + count:
            await self.wait()
            consumer = begin + int(self.dut.consumer.value)
            free = (1 << self.size) - ((written - consumer) & 0xFFFF)
            for _ in range(min(begin + count - written, random.randint(0, free))):
                self.memory[self.place(written)], built = write(written)
                expected.append(built)
                written += 1
            self.produce(written)
        await self.o.wait_for(first + count)
        await self.wait(5)
        assert int(self.dut.consumer.value) == count & 0xFFFF
        return self.o.beats[first:], expected


@crossed(stalls=STALLS, size=[0, 1, 4, 7], us=400)
async def descriptors_come_in_their_order(dut, stalls, size):
    """The host fills a ring whenever there is room, for several rounds; again at zero."""
    bench = await FetchBench(dut, stalls, delay=lambda: random.randrange(1, 60)).begin()
    for address in (None, 0):
        bench.open(size, address=address)
        result, expected = await bench.run(
            max(20, 3 << size), lambda k: descriptor(**(NOTHING if k == 7 else {}))
        )
        assert result == expected
        assert Fault(int(dut.fault.value)) is Fault.NONE
        await bench.close()


@benched(FetchBench, us=100)
async def what_is_wrong_is_said(bench):
    """Numbers are too large, reserved bits are set, or reads fail, among good ones."""
    bench.open(5)
    kinds = {}

    def write(k):
        kind = kinds[k] = random.choice(("good", "read", "property_bytes", "wide", "reserved"))
        high = {"property_bytes": 13, "wide": 1}
        width = 16 if kind == "property_bytes" else 8
        if kind in high:
            memory, built = descriptor(**{kind: 1 << random.randrange(high[kind], width)})
        else:
            memory, built = descriptor()
        if kind == "reserved":
            bit = random.randrange(8 * 30, 512)
            memory = (int.from_bytes(memory, "little") | 1 << bit).to_bytes(64, "little")
        bench.host.bad.discard(bench.place(k))
        if kind == "read":
            bench.host.bad.add(bench.place(k))
        return memory, built

    result, expected = await bench.run(32, write)  # one round: an address is bad or not
    assert {*kinds.values()} > {"good", "read"}
    for k, (beat, built) in enumerate(zip(result, expected, strict=True)):
        if kinds[k] == "good":
            assert beat == built
        elif kinds[k] == "read":
            assert (beat["verdict"], beat["request"]["tag"]) == (Verdict.UNREAD, k)
        else:
            assert beat["verdict"] is Verdict.ILLEGAL
            assert beat["request"]["tag"] == built["request"]["tag"]


@benched(FetchBench, us=100)
async def so_many_wait_and_no_more(bench):
    bench.o.stop()
    bench.open(6)
    expected = []
    for k in range(40):
        bench.memory[bench.place(k)], built = descriptor()
        expected.append(built)
    bench.produce(40)
    await bench.wait(200)
    assert len(bench.host.demands.beats) == AHEAD == int(bench.dut.consumer.value)
    bench.ring(enable=0, address=bench.address, size=6, index=40)
    await bench.wait(20)
    assert bench.dut.busy.value, "what was asked for is still here"
    bench.o = Sink(bench.dut, "o")
    await bench.o.wait_for(AHEAD)
    await bench.wait(50)
    assert bench.o.beats == expected[:AHEAD]
    assert not bench.dut.busy.value


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(
    case=[
        (6, 1 << 32, 1, Fault.ADDRESS),
        (0, 64, 2, Fault.OVERRUN),
        (6, 64 * 64, 65, Fault.OVERRUN),
    ]
)
async def a_ring_that_cannot_be_stops(dut, case):
    size, address, producer, fault = case
    bench = await FetchBench(dut).begin()
    bench.open(size, producer, address)
    await ClockCycles(dut.clk, 70)
    assert Fault(int(dut.fault.value)) is fault
    assert not bench.host.demands.beats
    await bench.close()
    bench.open(3)
    result, expected = await bench.run(20, lambda k: descriptor())
    assert result == expected


@benched(FetchBench, us=100)
async def a_descriptor_every_four_cycles(bench):
    bench.open(6)
    for k in range(60):
        bench.memory[bench.place(k)], _ = descriptor()
    await bench.wait(10)
    bench.produce(60)
    begun = cycle()
    await bench.o.wait_for(60)
    requested = bench.host.demands.cycles
    assert 0 <= requested[0] - begun - DescriptorFetch.latency <= 1
    assert {after - before for before, after in pairwise(requested)} <= {3, 4}
