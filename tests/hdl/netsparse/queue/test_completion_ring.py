import random
from itertools import pairwise

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.rings import RING, Fault
from hdl.netsparse.queue.completion_ring import CompletionRing
from hdl.netsparse.queue.params import NO_UNIT
from hdl.netsparse.rig.params import Cause
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.streams import STALLS, start
from sim.harness.verilator import simulate
from sim.netsparse.golden.rings import unpack_entry
from tests.hdl.netsparse.queue.bench import HostWrites
from tests.hdl.netsparse.rig.bench import THREE_UNITS


def test_completion_ring():
    simulate(CompletionRing(THREE_UNITS), __name__, registers=["sent", "under_way"])


def completion():
    return {
        "unit": random.randrange(NO_UNIT + 1),
        "completion": {"tag": random.getrandbits(16), "cause": random.choice(list(Cause))},
    }


class RingBench(Bench):
    def __init__(self, dut, *stalls, delay=lambda: 10):
        super().__init__(dut, *stalls)
        self.host = HostWrites(dut, stall=self.sink_stall, delay=delay)

    def ring(self, **fields):
        self.set(ring=fields)

    def open(self, size, address=None):
        places, self.size, self.count = 1 << size, size, 0
        room = (1 << self.params.rig.address_bits) // (16 * places)
        self.address = random.randrange(room) * 16 * places if address is None else address
        self.read(0)

    def read(self, count):
        self.ring(enable=1, address=self.address, size=self.size, index=count & 0xFFFF)

    async def close(self):
        self.ring(enable=0, address=self.address, size=self.size, index=random.getrandbits(16))
        await self.wait(2)
        await self.until("busy", 0)
        self.host.memory.clear()
        await self.wait(2)

    def poll(self):
        """Return the next entry, if its phase says that it is new: the host reads memory alone."""
        places = 1 << self.size
        memory = self.host.memory.get(self.address + 16 * (self.count % places))
        if memory is None:
            return None
        entry = unpack_entry(memory)
        assert not any(memory[6:15])
        assert not memory[15] & 0x7F
        if entry.phase == self.count // places % 2:
            return None
        self.count += 1
        return entry


def told(entry):
    return {
        "unit": entry.unit,
        "completion": {"tag": entry.tag, "cause": Cause(entry.cause)},
    }


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS, size=[0, 1, 5])
async def entries_are_found_by_their_phase(dut, stalls, size):
    """The host reads when it likes, for several rounds of the ring; again at address zero."""
    bench = await RingBench(dut, stalls, delay=lambda: random.randrange(1, 50)).begin()
    for address in (None, 0):
        bench.open(size, address)
        given = [completion() for _ in range(max(30, 4 << size))]
        given[7]["completion"]["tag"] = 0
        for one in given:
            bench.completions.append(one)
        found, told_of, known = [], 0, 0
        while len(found) < len(given):
            await RisingEdge(dut.clk)
            assert int(dut.written.value) >= known
            known = told_of  # of the edge before, whose ``done`` counts at this one
            entry = bench.poll() if random.random() < 0.3 else None
            if entry is not None:
                found.append(told(entry))
            if random.random() < 0.1:
                told_of = bench.count
                bench.read(told_of)
            waiting = len(bench.host.memory)
            assert waiting <= 1 << size
        assert found == given
        await ClockCycles(dut.clk, 60)
        assert int(dut.written.value) == len(given)
        assert dut.irq.value == (told_of != len(given))
        bench.read(len(given))
        await ClockCycles(dut.clk, 3)
        assert not dut.irq.value
        assert Fault(int(dut.fault.value)) is Fault.NONE
        await bench.close()


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(wrong=[12, 2])
async def a_full_ring_waits_for_its_host(dut, wrong):
    """Of 11 entries, 3 to 11 can have been read; any other number is an overrun."""
    bench = await RingBench(dut).begin()
    bench.open(3)
    for _ in range(20):
        bench.completions.append(completion())
    await ClockCycles(dut.clk, 200)
    assert len(bench.completions.cycles) == 8 == int(dut.written.value)
    assert dut.full.value
    assert dut.irq.value
    for read in (1, 3):
        bench.read(read)
        await ClockCycles(dut.clk, 60)
        assert len(bench.completions.cycles) == 8 + read
    assert dut.full.value
    bench.read(wrong)
    await ClockCycles(dut.clk, 5)
    assert Fault(int(dut.fault.value)) is Fault.OVERRUN
    assert len(bench.completions.cycles) == 11


@cocotb.test(timeout_time=100, timeout_unit="us")
async def it_is_busy_while_any_entry_is_under_way(dut):
    """It does not open then."""
    bench = await RingBench(dut).begin()
    for count in (*(1 << bit for bit in range(16)), 0):
        bench.ring(enable=0)
        dut.under_way.value = count
        await ClockCycles(dut.clk, 3)
        assert dut.busy.value == (count != 0)
        assert int(dut.under_way.value) == count
        bench.open(4)
        await ClockCycles(dut.clk, 4)
        assert dut.completions_ready.value == (count == 0)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_entry_tells_how_far_requests_are_read(dut):
    bench = await RingBench(dut).begin()
    bench.open(4)
    for _ in range(16):
        consumer = random.getrandbits(16)
        dut.consumer.value = consumer
        await RisingEdge(dut.clk)
        bench.completions.append(completion())
        while (entry := bench.poll()) is None:
            await RisingEdge(dut.clk)
        assert entry.consumer == consumer


@cocotb.test(timeout_time=100, timeout_unit="us")
async def indices_go_round(dut):
    """In the largest ring, the phase turns at the end of an index and of its upper half."""
    bench = await RingBench(dut).begin()
    for begin in (0x7FF0, 0xFFF0):
        bench.open(15)
        await ClockCycles(dut.clk, 5)
        dut.sent.value = bench.count = begin
        bench.read(begin)
        await ClockCycles(dut.clk, 5)
        given = [completion() for _ in range(40)]
        found = []
        for one in given:
            bench.completions.append(one)
        while len(found) < len(given):
            await RisingEdge(dut.clk)
            entry = bench.poll()
            if entry is not None:
                found.append(told(entry))
        assert found == given
        assert Fault(int(dut.fault.value)) is Fault.NONE
        await ClockCycles(dut.clk, 15)
        assert dut.irq.value
        await bench.close()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def more_than_the_ring_has_is_an_overrun(dut):
    """It may be more by any power of two."""
    bench = await RingBench(dut).begin()
    for bit in range(16):
        for size, over in ((0, 1), (bit, 1), (bit + 1, 0)):
            if size > 15:
                continue
            bench.open(size)
            await ClockCycles(dut.clk, 5)
            dut.sent.value = (1 << bit) + over
            await ClockCycles(dut.clk, 5)
            assert Fault(int(dut.fault.value)) is (Fault.OVERRUN if over else Fault.NONE)
            await bench.close()


@cocotb.test(timeout_time=400, timeout_unit="us")
async def written_counts_over_every_bit(dut):
    """And whatever is written and not read is told."""
    for name in ("consumer", "completions_valid", "writes_ready", "write_failed"):
        getattr(dut, name).value = 0
    dut.ring.value, dut.done.value = pack(RING, {"enable": 1, "size": 15}), 0
    await start(dut)
    await ClockCycles(dut.clk, 5)
    counted = 0
    for bit in range(16):
        dut.done.value = 1
        await ClockCycles(dut.clk, (1 << bit) - counted)
        counted, dut.done.value = 1 << bit, 0
        await ClockCycles(dut.clk, 3)
        assert int(dut.written.value) == counted
        assert dut.irq.value
        dut.sent.value = counted
        dut.ring.value = pack(RING, {"enable": 1, "size": 15, "index": counted})  # all are read
        await ClockCycles(dut.clk, 4)
        assert not dut.irq.value
        dut.sent.value = 0
        dut.ring.value = pack(RING, {"enable": 1, "size": 15})
        await ClockCycles(dut.clk, 2)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(begin=[0, 0xFFFF])
async def a_ring_of_any_size_may_be_full(dut, begin):
    bench = await RingBench(dut).begin()
    for size in range(16):
        bench.open(size)
        await ClockCycles(dut.clk, 5)
        dut.sent.value = (begin + (1 << size)) & 0xFFFF
        bench.read(begin)
        await ClockCycles(dut.clk, 5)
        taken = len(bench.completions.cycles)
        bench.completions.append(completion())
        await ClockCycles(dut.clk, 20)
        assert dut.full.value
        assert len(bench.completions.cycles) == taken
        bench.read(begin + 1)
        await ClockCycles(dut.clk, 20)
        assert len(bench.completions.cycles) == taken + 1
        assert Fault(int(dut.fault.value)) is Fault.NONE
        assert dut.full.value
        await bench.close()
        assert not dut.full.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_ring_that_closes_takes_nothing(dut):
    """It takes nothing from the next cycle on."""
    bench = await RingBench(dut).begin()
    bench.open(4)
    await ClockCycles(dut.clk, 5)
    assert dut.completions_ready.value
    bench.ring(enable=0, address=bench.address, size=bench.size)
    await RisingEdge(dut.clk)
    for _ in range(4):
        await RisingEdge(dut.clk)
        assert not dut.completions_ready.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_doorbell_lets_another_message_go(dut):
    """An entry comes after the host's last look, before its doorbell: irq falls and rises."""
    bench = await RingBench(dut).begin()
    bench.open(3)
    for _ in range(2):
        bench.completions.append(completion())
    while int(dut.written.value) < 2:
        await RisingEdge(dut.clk)
    await ClockCycles(dut.clk, 2)
    assert dut.irq.value
    levels = []
    bench.read(1)
    for _ in range(6):
        await RisingEdge(dut.clk)
        levels.append(int(dut.irq.value))
    assert levels == [1, 0, 1, 1, 1, 1]
    bench.read(2)
    await ClockCycles(dut.clk, 6)
    assert not dut.irq.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_write_that_fails_stops_the_ring(dut):
    bench = await RingBench(dut).begin()
    bench.open(4)
    bench.host.bad = {bench.address + 16 * 3}
    for _ in range(16):
        bench.completions.append(completion())
    await ClockCycles(dut.clk, 200)
    assert Fault(int(dut.fault.value)) is Fault.WRITE
    assert int(dut.written.value) == 3
    assert dut.irq.value
    bench.read(3)
    await ClockCycles(dut.clk, 10)
    assert dut.irq.value
    taken = len(bench.completions.cycles)
    assert taken < 16
    bench.host.bad = set()
    await bench.close()
    assert not dut.irq.value
    bench.open(4)
    await ClockCycles(dut.clk, 200)
    assert Fault(int(dut.fault.value)) is Fault.NONE
    assert int(dut.written.value) == 16 - taken


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_ring_that_cannot_be_stops(dut):
    """It begins at no multiple of its bytes, by any bit, or beyond the memory's end."""
    bench = await RingBench(dut).begin()
    cases = [(size, 1 << bit) for size in (0, 4, 15) for bit in range(size + 4)]
    cases += [(4, 1 << bit) for bit in range(32, 64)]
    bench.completions.append(completion())
    for case in cases:
        bench.open(*case)
        await ClockCycles(dut.clk, 8)
        assert Fault(int(dut.fault.value)) is Fault.ADDRESS, case
        assert dut.irq.value
        assert not bench.completions.cycles
        await bench.close()


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_entry_every_three_cycles(dut):
    bench = await RingBench(dut).begin()
    bench.open(6)
    await ClockCycles(dut.clk, 5)
    for _ in range(30):
        bench.completions.append(completion())
    await ClockCycles(dut.clk, 200)
    taken, sent = bench.completions.cycles, bench.host.writes.cycles
    assert {after - before for before, after in pairwise(taken)} <= {2, 3}
    assert [at - CompletionRing.latency for at in sent] == taken
