import random

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.rig.idx_fetch import IdxFetch
from hdl.netsparse.rig.params import RigParams
from sim.streams import STALLS, Sink, cycle, never, often, start
from sim.verilator import params_in_simulator, simulate
from tests.hdl.netsparse.rig.bench import TINY, answer_reads

SIZE = 1 << 14


@pytest.mark.parametrize("idx_buffer_bytes", [512, 4096])
def test_idx_fetch(idx_buffer_bytes):
    params = RigParams(
        **{f: getattr(TINY, f) for f in ("nodes", "idx_bits", "address_bits")},
        idx_buffer_bytes=idx_buffer_bytes,
    )
    simulate(IdxFetch(params), __name__)


class Bench:
    def __init__(
        self, dut, sink_stall, host_stall=never, fails=lambda address: False, request_stall=never
    ):
        self.dut = dut
        edges = [bytes(8), b"\xff" * 8]
        words = [random.choice((*edges, *[random.randbytes(8)] * 14)) for _ in range(SIZE // 8)]
        self.memory = b"".join(words)
        self.requests = Sink(dut, "requests", stall=request_stall)
        self.idxs = Sink(dut, "idxs", stall=sink_stall)
        cocotb.start_soon(answer_reads(dut, self.requests, self.memory, fails, host_stall))

    def golden(self, address, count, wide):
        size = 8 if wide else 4
        return [
            int.from_bytes(self.memory[at : at + size], "little")
            for at in range(address, address + count * size, size)
        ]

    async def start(self, address, count, wide):
        dut = self.dut
        dut.address.value, dut.count.value, dut.wide.value = address, count, wide
        dut.start.value = 1
        await RisingEdge(dut.clk)
        dut.start.value = 0

    async def idle(self):
        await RisingEdge(self.dut.clk)
        while self.dut.busy.value:
            await RisingEdge(self.dut.clk)


def quiet(dut):
    for name in ("start", "stop", "beat_valid", "beat"):
        getattr(dut, name).value = 0


def check_requests(requests, address, total, chunk):
    """One after another, each up to a multiple of the chunk, so that later ones are whole lines."""
    end = address + total
    for request in requests:
        assert request["address"] == address
        assert request["bytes"] == min(chunk - address % chunk, end - address)
        address += request["bytes"]
    assert address == end


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def gives_every_idx(dut, stalls):
    quiet(dut)
    await start(dut)
    host_stall, sink_stall = stalls
    request_stall = never if stalls.none else lambda: random.random() < 0.7
    bench = Bench(dut, sink_stall, host_stall, request_stall=request_stall)
    chunk = IdxFetch(params_in_simulator(RigParams)).chunk_bytes
    for n in range(30):
        wide = random.getrandbits(1)
        size = 8 if wide else 4
        count = random.choice([0, 1, 2, 15, 16, 17, random.randrange(300)])
        address = size * random.randrange(SIZE // size - count)
        if n < 16:
            address = size * (128 + n % (64 // size))  # every place in a beat
        seen, asked = len(bench.idxs.beats), len(bench.requests.beats)
        await bench.start(address, count, wide)
        await bench.idle()
        assert bench.idxs.beats[seen:] == bench.golden(address, count, wide)
        check_requests(bench.requests.beats[asked:], address, count * size, chunk)
    assert not dut.failed.value


@cocotb.test(timeout_time=400, timeout_unit="us")
async def one_a_cycle(dut):
    quiet(dut)
    await start(dut)
    bench = Bench(dut, never)
    begun = cycle()
    await bench.start(64, 1600, 0)
    await bench.idle()
    fetch = IdxFetch(params_in_simulator(RigParams))
    assert bench.requests.cycles[0] - begun - 1 == fetch.start_latency
    cycles = bench.idxs.cycles
    assert cycles[-1] - cycles[0] == 1599, "a bubble"


@cocotb.test(timeout_time=400, timeout_unit="us")
async def stops(dut):
    quiet(dut)
    await start(dut)
    bench = Bench(dut, often, often)
    for _ in range(20):
        await bench.start(4 * random.randrange(100), 2000, 0)
        await ClockCycles(dut.clk, random.randrange(1, 300))
        dut.stop.value = 1
        await bench.idle()
        dut.stop.value = 0
        count, asked = len(bench.idxs.beats), len(bench.requests.beats)
        await ClockCycles(dut.clk, 40)
        assert (len(bench.idxs.beats), len(bench.requests.beats)) == (count, asked)
        await bench.start(800, 100, 1)
        await bench.idle()
        assert bench.idxs.beats[count:] == bench.golden(800, 100, 1), "left-overs"


@cocotb.test(timeout_time=400, timeout_unit="us")
async def tells_of_errors(dut):
    quiet(dut)
    await start(dut)
    bad = IdxFetch(params_in_simulator(RigParams)).chunk_bytes * 2
    bench = Bench(dut, often, fails=lambda address: address == bad)
    failures = 0
    await bench.start(0, 1200, 0)
    while True:
        await RisingEdge(dut.clk)
        failures += int(dut.failed.value)
        if not dut.busy.value:
            break
    assert failures == 1
