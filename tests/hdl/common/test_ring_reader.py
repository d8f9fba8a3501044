import random
from collections import deque
from itertools import pairwise

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.ring_reader import RingReader, RingReaderParams
from hdl.common.rings import DESCRIPTOR_BYTES, RING, Fault
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, Sink, cycle, never, start, until
from sim.harness.verilator import params_in_simulator, simulate

PARAMS = RingReaderParams(address_bits=24, ahead=3)


def test_ring_reader():
    simulate(RingReader(PARAMS), __name__, registers=["asked"])


class Bench:
    """Has a memory whose descriptors come ``delay()`` cycles after a request, and then leave."""

    async def begin(self, dut, stall=never, delay=lambda: 10):
        self.dut, self.params, self.delay = dut, params_in_simulator(RingReaderParams), delay
        self.coming, self.here, self.most = deque(), 0, 0
        dut.ring.value = dut.hold.value = dut.arrived.value = dut.left.value = 0
        await start(dut)
        self.asks = Sink(dut, "asks", stall=stall, callback=self.ask)
        cocotb.start_soon(self.answer())
        return self

    def ask(self, address):
        self.coming.append(cycle() + self.delay())
        self.most = max(self.most, len(self.coming) + self.here)

    async def answer(self):
        while True:
            await RisingEdge(self.dut.clk)
            arrives = bool(self.coming) and self.coming[0] <= cycle()
            leaves = bool(self.here) and random.random() < 0.5
            self.dut.arrived.value, self.dut.left.value = arrives, leaves
            self.here += arrives - leaves
            if arrives:
                self.coming.popleft()

    def ring(self, **fields):
        self.dut.ring.value = pack(RING, fields)

    def open(self, size, producer=0, address=None):
        ring_bytes = DESCRIPTOR_BYTES << size
        self.size = size
        room = (1 << self.params.address_bits) // ring_bytes
        self.address = random.randrange(room) * ring_bytes if address is None else address
        self.produce(producer)

    def produce(self, producer):
        self.ring(enable=1, address=self.address, size=self.size, index=producer & 0xFFFF)

    async def close(self):
        self.ring(enable=0, address=self.address, size=self.size, index=random.getrandbits(16))
        await ClockCycles(self.dut.clk, 3)
        await until(self.dut.clk, self.dut.busy, 0)
        assert not self.coming
        assert not self.here
        await ClockCycles(self.dut.clk, 2)
        assert not self.dut.fault.value

    async def run(self, count, begin=0):
        """Fill places as they become free; check that each is asked for once, in order.

        A preset makes the first ``begin`` places count as asked for, but not in ``consumer``.
        """
        first, written = len(self.asks.beats), begin
        while written < begin + count:
            await RisingEdge(self.dut.clk)
            consumer = begin + int(self.dut.consumer.value)
            free = (1 << self.size) - ((written - consumer) & 0xFFFF)
            written += min(begin + count - written, random.randint(0, free))
            self.produce(written)
        await self.asks.wait_for(first + count)
        while int(self.dut.consumer.value) != count & 0xFFFF:
            await RisingEdge(self.dut.clk)
        await ClockCycles(self.dut.clk, 5)
        places = [index % (1 << self.size) for index in range(begin, begin + count)]
        wanted = [self.address + DESCRIPTOR_BYTES * place for place in places]
        assert self.asks.beats[first:] == wanted
        assert Fault(int(self.dut.fault.value)) is Fault.NONE


@cocotb.test(timeout_time=60, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS, size=[0, 1, 4, 6])
async def each_place_is_asked_for_in_turn(dut, stalls, size):
    """A host fills the ring for several rounds, as it has room; then a ring at address 0."""
    _, stall = stalls
    bench = await Bench().begin(dut, stall, delay=lambda: random.randrange(1, 60))
    for address in (None, 0):
        bench.open(size, address=address)
        await bench.run(max(20, 3 << size))
        await bench.close()
    assert bench.most <= bench.params.ahead
    assert bench.most == bench.params.ahead or size < 4


@cocotb.test(timeout_time=10, timeout_unit="us")
async def what_is_held_is_not_asked_for(dut):
    """``hold`` acts from the next cycle on; after it, what the host has written is asked for."""
    bench = await Bench().begin(dut)
    bench.open(5)
    dut.hold.value = 1
    bench.produce(7)
    await ClockCycles(dut.clk, 30)
    assert not bench.asks.beats
    dut.hold.value = 0
    await bench.asks.wait_for(4)
    dut.hold.value = 1
    await ClockCycles(dut.clk, 30)
    asked = len(bench.asks.beats)
    assert asked in (4, 5)
    assert int(dut.consumer.value) == asked
    dut.hold.value = 0
    await bench.asks.wait_for(7)
    await ClockCycles(dut.clk, 5)
    await bench.close()


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_ring_that_closes_asks_for_nothing(dut):
    """It is busy until all descriptors that were asked for have come and left."""
    bench = await Bench().begin(dut, delay=lambda: 50)
    bench.open(5)
    bench.produce(20)
    await bench.asks.wait_for(2)
    bench.ring(enable=0, address=bench.address, size=5, index=20)
    await ClockCycles(dut.clk, 4)
    asked = len(bench.asks.beats)
    assert dut.busy.value, "what was asked for has not come"
    await bench.close()
    assert len(bench.asks.beats) == asked
    bench.open(3)
    await bench.run(20)


@cocotb.test(timeout_time=10, timeout_unit="us")
@cocotb.parametrize(
    case=[
        (6, 64, 0, Fault.ADDRESS),
        (6, 32, 1, Fault.ADDRESS),
        (6, 1 << 24, 1, Fault.ADDRESS),
        (0, 4, 1, Fault.ADDRESS),
        (6, 64 * 64, 65, Fault.OVERRUN),
        (0, 64, 2, Fault.OVERRUN),
        (6, 64 * 64, 0xFFFF, Fault.OVERRUN),
    ]
)
async def a_ring_that_cannot_be_stops(dut, case):
    size, address, producer, fault = case
    bench = await Bench().begin(dut)
    bench.open(size, producer, address)
    await ClockCycles(dut.clk, 20)
    assert Fault(int(dut.fault.value)) is fault
    bench.produce(1)
    await ClockCycles(dut.clk, 50)
    assert Fault(int(dut.fault.value)) is fault, "it stays until the ring is disabled"
    assert not bench.asks.beats
    await bench.close()
    bench.open(3)
    await bench.run(20)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def consumer_counts_over_every_bit(dut):
    dut.ring.value = pack(RING, {"enable": 1, "size": 4})
    dut.asks_ready.value = dut.hold.value = dut.left.value = dut.arrived.value = 0
    await start(dut)
    await ClockCycles(dut.clk, 5)
    counted = 0
    stops = [1 << bit for bit in range(16)]
    for stop in sorted({*stops, *(random.randrange(1, 1 << 15) for _ in stops)}):
        dut.arrived.value = 1
        await ClockCycles(dut.clk, stop - counted)
        counted, dut.arrived.value = stop, 0
        await RisingEdge(dut.clk)
        for _ in range(2):
            await RisingEdge(dut.clk)
            assert int(dut.consumer.value) == counted


@cocotb.test(timeout_time=10, timeout_unit="us")
async def indices_go_round(dut):
    """Indices wrap in the largest ring and in a small one, and also pass 2 ** 15."""
    bench = await Bench().begin(dut)
    for size in (15, 2):
        for begin in (0x7FF0, 0xFFF0):
            bench.open(size)
            await ClockCycles(dut.clk, 5)
            dut.asked.value = begin
            bench.produce(begin)
            await bench.run(40, begin)
            await bench.close()


@cocotb.test(timeout_time=10, timeout_unit="us")
@cocotb.parametrize(more=[0, 1])
async def the_largest_ring_may_be_full(dut, more):
    bench = await Bench().begin(dut)
    bench.open(15)
    await ClockCycles(dut.clk, 5)
    bench.produce((1 << 15) + more)
    await ClockCycles(dut.clk, 60)
    assert Fault(int(dut.fault.value)) is (Fault.OVERRUN if more else Fault.NONE)
    assert bool(bench.asks.beats) == (not more)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_descriptor_every_three_or_four_cycles(dut):
    bench = await Bench().begin(dut, delay=lambda: 1)
    bench.open(6)
    await ClockCycles(dut.clk, 10)
    bench.produce(60)
    begun = cycle()
    await bench.asks.wait_for(20)
    asked = bench.asks.cycles
    assert 0 <= asked[0] - begun - RingReader.latency <= 1
    assert min(after - before for before, after in pairwise(asked)) in (3, 4)
