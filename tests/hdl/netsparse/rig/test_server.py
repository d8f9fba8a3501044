import random
from dataclasses import replace
from functools import partial

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.packets import BEAT_BYTES
from hdl.netsparse.protocol import LENGTH_BITS
from hdl.netsparse.rig.params import RigParams
from hdl.netsparse.rig.server import READS, Server
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, benched, crossed, cycle, edges, never, often
from sim.harness.verilator import params_in_simulator
from tests.hdl.netsparse.rig.bench import TINY, AnswerSink, dense_beats
from tests.simulated import simulated

NODE, FIRST, END = 2, 100, 900


SIZES = [4, 64, 68, 192, 512]  #: that are registered; a build's largest may be far from it
JUDGED = 3  #: reads in the server that have no place yet
HANDLING = 10  #: cycles of a property in the server, from its ask to its response, memory aside
#: The buffer holds just one property of the largest size.
TIGHT = [replace(TINY, most_property_bytes=k, property_buffer_bytes=k) for k in (512, 4096)]

test_server = simulated(Server, TIGHT, __name__)


def beats_of(size):
    return -(-size // BEAT_BYTES)


class ServerBench(Bench):
    """Has host memory and the property buffer, which must never hold more than it can."""

    def __init__(self, dut, stalls=(never, never), size=4, *, node=NODE, first=FIRST, end=END):
        partition = {"node": node, "first": first, "end": end, "columns": max(1000, end)}
        super().__init__(dut, stalls, partition=partition, bytes=size, legal=1)
        self.size, self.node, self.idxs = size, node, range(first, end)
        self.properties = [random.randbytes(size) for _ in range(end)]
        self.fails, self.latency, self.max_buffered = lambda idx: False, 0, 0
        self.responses = AnswerSink(dut, "responses", stall=self.sink_stall)
        self.totals = self.tally()
        self.failed = []

    async def begin(self):
        cocotb.start_soon(self.memory())
        return await super().begin()

    async def memory(self):
        """Play one property after another, a beat per cycle at most; then its outcome."""
        dut, edge, done = self.dut, RisingEdge(self.dut.clk), 0
        moved = 0
        while True:
            await self.demands.wait_for(done + 1)
            await edges(dut.clk, self.demands.cycles[done] + self.latency - cycle())
            idx = self.demands.beats[done]
            done += 1
            beats = dense_beats(self.properties[idx])
            for k, data in enumerate(beats):
                while self.source_stall():
                    await edge
                self.beats.append({"last": k + 1 == len(beats), "data": data})
                moved += 1
                room = self.params.property_beats
                self.max_buffered = max(self.max_buffered, moved - len(self.beats.cycles))
                assert moved - len(self.beats.cycles) <= room, "the property buffer overflows"
                if k + 1 == len(beats):
                    self.failed.append(self.fails(idx))
                    dut.outcome.value, dut.outcome_failed.value = 1, self.failed[-1]
                await edge
                dut.outcome.value = dut.outcome_failed.value = 0

    def some_reads(self, count, idxs=None):
        edges = (FIRST, END - 1, FIRST - 1, END, 0, 999, FIRST | 1 << 12, FIRST | 1 << 63)
        reads = []
        for _ in range(count):
            idx = random.choice((*edges, *(random.randrange(FIRST, END) for _ in range(12))))
            if idxs is not None:
                idx = random.choice(idxs)
            wrong = idxs is None and random.random() < 0.1
            pr = {"src": random.getrandbits(32), "tid": random.getrandbits(16), "idx": idx}
            pr["id"] = random.getrandbits(32)
            length = random.choice((self.size ^ 4, self.size + 64)) if wrong else self.size
            reads.append({"dest": self.node, "length": length, "pr": pr})
        return reads

    async def rest(self):
        await self.settle()
        assert not self.dut.busy.value

    def good(self, read):
        return read["pr"]["idx"] in self.idxs and read["length"] == self.size

    def check(self, reads):
        """Check that every read has its answer, in order; memory was read for good ones only."""
        good = [read["pr"]["idx"] for read in reads if self.good(read)]
        assert self.demands.beats == good
        assert len(self.failed) == len(good)
        outcomes = iter(self.failed)
        beats = iter(self.responses.beats)
        for read in reads:
            error = not self.good(read) or next(outcomes)
            block, last = b"", False
            while not last:
                beat = next(beats)
                assert (beat["dest"], beat["length"]) == (read["pr"]["src"], read["length"])
                assert beat["pr"] == read["pr"] | {"src": self.node}
                assert beat["error"] == error
                block += beat["data"].to_bytes(BEAT_BYTES, "little")
                last = beat["last"]
            if error:
                assert len(block) == BEAT_BYTES, "an error is one beat"
            else:
                assert len(block) == -(-self.size // BEAT_BYTES) * BEAT_BYTES
                assert block[: self.size] == self.properties[read["pr"]["idx"]]
        assert next(beats, None) is None
        failed = sum(self.failed)
        expected = {
            "served": len(good) - failed,
            "out_of_bounds": len(reads) - len(good),
            "read_error": failed,
        }
        assert {name: self.totals[name] for name in expected} == expected


@crossed(stalls=STALLS, size=[4, 64, 68, 192])
async def answers_every_read(dut, stalls, size):
    bench = await ServerBench(dut, stalls, size=size).begin()
    bench.fails = lambda idx: random.random() < 0.2
    reads = bench.some_reads(120)
    if size == 4:  # every bit above those of an idx tells it from one of this node
        for read, bit in zip(reads[::2], range(TINY.idx_bits, 64), strict=False):
            read["pr"]["idx"] = FIRST | 1 << bit
    for read, bit in zip(reads[1::2], range(LENGTH_BITS), strict=False):
        read["length"] = size ^ 1 << bit
    await bench.reads.send_all(reads)
    await bench.rest()
    bench.check(reads)


@benched(ServerBench)
async def keeps_room_for_what_it_reads(bench):
    """Responses hardly leave: it asks for as many reads as the buffer holds, no more."""
    for size in SIZES:
        bench.size, bench.dut.bytes.value = size, size
        bench.properties = [random.randbytes(size) for _ in range(1000)]
        bench.responses.stall = always
        seen = len(bench.demands.beats)
        bench.max_buffered = 0
        reads = bench.some_reads(200, range(FIRST, END))
        bench.reads.extend(reads)
        taken = len(bench.reads.cycles)
        await bench.wait(300)
        room = bench.params.property_beats // beats_of(size)
        assert len(bench.demands.beats) - seen == min(room, READS)
        assert len(bench.reads.cycles) - taken <= READS + JUDGED
        bench.responses.stall = often
        await bench.rest()
        assert len(bench.demands.beats) - seen == len(reads)
        assert bench.max_buffered <= bench.params.property_beats
        assert bench.totals["served"] == len(reads)
        bench.totals.clear()


@crossed(size=SIZES, latency=[0, 40])
async def as_fast_as_the_buffer_and_memory_allow(dut, size, latency):
    """A beat a cycle, or the whole buffer in flight, whatever the build's largest property is.

    A property's place in the buffer is taken for its beats, memory's latency and HANDLING cycles.
    """
    bench = await ServerBench(dut, size=size).begin()
    bench.latency = latency
    reads = bench.some_reads(120, range(FIRST, END))
    await bench.reads.send_all(reads)
    await bench.rest()
    bench.check(reads)
    assert bench.demands.cycles[0] - bench.reads.cycles[0] == Server.request_latency
    beats = beats_of(size)
    room = min(bench.params.property_beats // beats, READS)
    trip = latency + HANDLING + beats
    cycles = bench.responses.cycles
    assert len(cycles) == len(reads) * beats
    took = cycles[-1] - cycles[0] + 1
    dut._log.info("%d of %d bytes: %d cycles", len(reads), size, took)
    assert took <= max(len(reads) * beats, -(-len(reads) // room) * trip)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_idx_may_be_of_this_node(dut):
    end = 1 << TINY.idx_bits
    bench = await ServerBench(dut, first=0, end=end).begin()
    reads = bench.some_reads(30, (0, 1, end // 2, end - 1, end, 1 << 63))
    await bench.reads.send_all(reads)
    await bench.rest()
    bench.check(reads)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def zeros_and_ones(dut):
    """In reads of the largest property, of node 0, every field is zero, then each bit is set."""
    most = params_in_simulator(RigParams).most_property_bytes
    end = 1 << TINY.idx_bits
    bench = await ServerBench(dut, size=most, node=0, first=0, end=end).begin()
    least = {"src": 0, "tid": 0, "idx": 0, "id": 0}
    largest = {"src": (1 << 32) - 1, "tid": (1 << 16) - 1, "idx": end - 1, "id": (1 << 32) - 1}
    reads = [{"dest": 0, "length": most, "pr": pr} for pr in (least, largest)]
    await bench.reads.send_all(reads)
    await bench.rest()
    bench.check(reads)


@benched(partial(ServerBench, size=192))
async def a_bad_read_disturbs_no_other(bench):
    """Reads first get errors, some with nothing legal registered; then some fail, others do not."""
    wrong = bench.some_reads(100, [0, FIRST - 1, END, 999])
    await bench.reads.send_all(wrong)
    await bench.rest()
    assert not bench.demands.beats
    bench.dut.legal.value = 0
    refused = bench.some_reads(20, range(FIRST, END))
    await bench.reads.send_all(refused)
    await bench.rest()
    assert not bench.demands.beats
    assert [beat["error"] for beat in bench.responses.beats] == [1] * (len(wrong) + len(refused))
    bench.responses.beats.clear()
    bench.totals.clear()
    bench.dut.legal.value = 1
    bench.fails = lambda idx: idx < 200
    failing = bench.some_reads(20, range(FIRST, 200))
    good = bench.some_reads(20, range(200, END))
    await bench.reads.send_all(failing + good)
    await bench.rest()
    bench.check(failing + good)
