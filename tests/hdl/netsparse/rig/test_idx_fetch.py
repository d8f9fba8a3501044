import random

import cocotb
from cocotb.triggers import ClockCycles

from hdl.netsparse.rig.idx_fetch import IdxFetch
from hdl.netsparse.rig.params import COUNT_BITS, RigParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, benched, crossed, mostly, never, often
from sim.harness.verilator import params_in_simulator
from tests.hdl.netsparse.rig.bench import TINY, Reader
from tests.simulated import simulated

SIZE = 1 << 14

SAME = {name: getattr(TINY, name) for name in ("nodes", "idx_bits", "address_bits")}
SIZES = {str(size): RigParams(**SAME, idx_buffer_bytes=size) for size in (512, 16384)}
test_idx_fetch = simulated(IdxFetch, SIZES, __name__, registers=["left"])


class Endless:
    """Host memory that repeats every ``SIZE`` bytes."""

    def __init__(self, block):
        self.block = block

    def __getitem__(self, part):
        first = part.start % SIZE
        return (self.block * 2)[first : first + part.stop - part.start]


class FetchBench(Bench):
    def __init__(self, dut, *stalls, fails=lambda address: False, request_stall=never):
        super().__init__(dut, *stalls)
        edges = [bytes(8), b"\xff" * 8]
        words = [random.choice((*edges, *[random.randbytes(8)] * 14)) for _ in range(SIZE // 8)]
        self.memory = Endless(b"".join(words))
        reader = Reader(dut, self.memory, fails, stall=self.source_stall)
        self.requests.add_callback(reader.answer)
        self.requests.stall, self.arrays.stall = request_stall, never
        self.chunk = self.component.chunk_bytes

    def golden(self, address, count, wide, slot=0):
        size = 8 if wide else 4
        end = address + count * size
        return [
            {
                "idx": int.from_bytes(self.memory[at : at + size], "little"),
                "slot": slot,
                "last": int(at + size == end),
            }
            for at in range(address, end, size)
        ]

    async def start(self, address, count, wide, slot=0):
        self.arrays.append({"address": address, "count": count, "wide": wide, "slot": slot})
        await self.wait()

    async def idle(self):
        await self.wait(2)
        while self.arrays.missing or self.dut.busy.value:
            await self.until("busy", 0)


def some_array(n):
    """Return array n: the first ones begin at every place in a beat, others anywhere."""
    wide = random.getrandbits(1)
    size = 8 if wide else 4
    count = random.choice([1, 2, 15, 16, 17, random.randrange(1, 300)])
    address = size * random.randrange(SIZE // size - count)
    if n < 16:
        address = size * (128 + n % (64 // size))
    return address, count, wide, n % 4


@crossed(stalls=STALLS, us=400)
async def gives_every_idx(dut, stalls):
    """Arrays follow one another, the next one while this one is given."""
    request_stall = never if stalls.absent else mostly
    bench = await FetchBench(dut, stalls, request_stall=request_stall).begin()
    arrays = [some_array(n) for n in range(30)]
    for n, array in enumerate(arrays):
        await bench.start(*array)
        if n < 10:
            await bench.idle()
        if n == 10:
            await ClockCycles(dut.clk, 2)  # as commands start at their fastest
    await bench.idle()
    assert bench.idxs.beats == [idx for array in arrays for idx in bench.golden(*array)]
    requested = iter(bench.requests.beats)
    for address, count, wide, _ in arrays:
        end = address + count * (8 if wide else 4)
        while address < end:
            size = min(bench.chunk - address % bench.chunk, end - address)
            assert next(requested) == {"address": address, "bytes": size}
            address += size
    assert next(requested, None) is None
    assert not dut.failed.value


@benched(FetchBench, arrays=[[1600], [400, 800, 400]], us=400)
async def one_a_cycle(bench, arrays):
    """One comes per cycle over the borders of chunks, and of arrays that are whole chunks."""
    address = 0
    for count in arrays:
        await bench.start(address, count, 0)
        address += -(-4 * count // bench.chunk) * bench.chunk
    await bench.idle()
    assert bench.requests.cycles[0] - bench.arrays.cycles[0] == bench.component.start_latency
    cycles = bench.idxs.cycles
    assert cycles[-1] - cycles[0] == 1599, "a bubble"


@benched(FetchBench, us=400)
async def arrays_are_as_long_as_they_like(bench):
    """No bit of a count or of an address is overlooked; a preset skips most idxs."""
    for bit in range(10, COUNT_BITS + 1):
        beyond, bit = bit == COUNT_BITS, min(bit, COUNT_BITS - 1)
        wide, slot = bit % 2, bit // 2 % 4
        size = 8 if wide else 4
        address = (1 << bit) + (5 if beyond else -5) * size
        provided, requested = len(bench.idxs.beats), len(bench.requests.beats)
        bench.requests.stall, count = always, (1 << bit) + 3
        await bench.start(address, count, wide, slot)
        await bench.wait(8)  # until its first request waits
        few = min(count, (bench.chunk - address % bench.chunk) // size + 40)
        bench.dut.left.value = int(bench.dut.left.value) - (count - few) * size
        await bench.edge
        bench.requests.stall = never
        await bench.idle()
        assert bench.idxs.beats[provided:] == bench.golden(address, few, wide, slot)
        for request in bench.requests.beats[requested:]:
            assert request["address"] == address
            address += request["bytes"]


@cocotb.test(timeout_time=400, timeout_unit="us")
async def stops(dut):
    bench = await FetchBench(dut, (often, often)).begin()
    for _ in range(20):
        await bench.start(4 * random.randrange(100), 2000, 0)
        await ClockCycles(dut.clk, random.randrange(2, 300))
        dut.stop.value = 1
        await bench.idle()
        dut.stop.value = 0
        count, requested = len(bench.idxs.beats), len(bench.requests.beats)
        await ClockCycles(dut.clk, 40)
        assert (len(bench.idxs.beats), len(bench.requests.beats)) == (count, requested)
        await bench.start(800, 100, 1)
        await bench.idle()
        assert bench.idxs.beats[count:] == bench.golden(800, 100, 1), "left-overs"


@crossed(stalls=STALLS, chunks=[0, 1, 2], us=400)
async def gives_nothing_of_a_bad_chunk(dut, stalls, chunks):
    """What is before it is given; what it holds and what follows are not, until a stop."""
    chunk = IdxFetch(params_in_simulator(RigParams)).chunk_bytes
    begin = max(0, chunk - 512)  # the first chunk need not be a whole one
    bad = (begin, chunk, 2 * chunk)[chunks]
    count, before = (2 * chunk + 1024 - begin) // 4, (bad - begin) // 4
    bench = FetchBench(dut, stalls, fails=lambda address: address == bad)
    failures = bench.record("failed")
    await bench.begin()
    await bench.start(begin, count, 0)
    await ClockCycles(dut.clk, 1200 + 3 * before)
    assert len(failures.beats) == 1
    assert bench.idxs.beats == bench.golden(begin, count, 0)[:before]
    assert not dut.failed_slot.value
    dut.stop.value = 1
    await bench.idle()
    dut.stop.value = 0
    await bench.start(bad + 64, 100, 1)
    await bench.idle()
    assert bench.idxs.beats[before:] == bench.golden(bad + 64, 100, 1)
