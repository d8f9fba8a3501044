import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.common.packet_buffer import PacketBuffer, PacketBufferParams
from sim.harness.streams import STALLS, Sink, cycle, edges, never, start, started
from sim.harness.verilator import params_in_simulator, simulate

WIDTH = 20


@pytest.mark.parametrize(("words", "behind"), [(16, 1), (32, 5)])
def test_packet_buffer(words, behind):
    params = PacketBufferParams(width=WIDTH, words=words, behind=behind)
    simulate(PacketBuffer(params), __name__)


class Bench:
    """Writes packets as ``room`` allows, and knows what comes out."""

    def __init__(self, dut, stall=never):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(PacketBufferParams)
        self.expected, self.kept_in = [], []  # words, and the cycle in which each packet was kept
        self.written = 0
        self.words, self.stall = [], stall  # to be written: word, last, keep
        dut.write.value, dut.ends.value = 0, 0
        cocotb.start_soon(self.write())

    def add(self, count, keep=True, alone=False):
        """Add a packet; if it is ``alone``, its end comes after its last word."""
        edges = (0, (1 << WIDTH) - 1)
        words = [random.choice((*edges, *[random.getrandbits(WIDTH)] * 8)) for _ in range(count)]
        self.words += [(word, k == count - 1 and not alone, keep) for k, word in enumerate(words)]
        if alone:
            self.words.append((None, True, keep))
        self.expected += words if keep else []

    async def write(self):
        """Write a word when there is room; it arrives as late as is allowed."""
        line = [None] * (self.params.behind - 1)
        while True:
            await self.edge
            go = self.words and self.dut.room.value and not self.stall()
            line.append(self.words.pop(0) if go and not self.dut.rst.value else None)
            word, ends, keep = line.pop(0) or (None, False, False)
            self.dut.write.value, self.dut.ends.value = word is not None, ends
            self.dut.word.value = random.getrandbits(WIDTH) if word is None else word
            self.dut.keep.value = keep if ends else random.getrandbits(1)
            self.written += word is not None
            if ends and keep:
                self.kept_in.append(cycle() + 1)  # the edge that sees it

    async def drain(self, sink):
        """Wait until everything that was kept has come out, and nothing else."""
        await sink.wait_for(len(self.expected))
        while self.words:  # of packets that are not kept
            await self.edge
        await edges(self.dut.clk, 30)
        assert sink.beats == self.expected
        assert self.dut.room.value


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def gives_what_was_kept(dut, stalls):
    source, sink = stalls
    bench = Bench(dut, source)
    most = bench.params.most_packet_words
    await start(dut)
    sink = Sink(dut, "o", stall=sink)
    for _ in range(300):
        count = random.choice([1, 1, 2, 3, random.randint(1, most), most])
        bench.add(count, random.random() < 0.6, random.random() < 0.2)
    await bench.drain(sink)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_and_gives_a_word_a_cycle(dut):
    bench = await started(Bench(dut))
    sink = Sink(dut, "o")
    for _ in range(50):
        bench.add(4)
    await bench.drain(sink)
    assert sink.cycles == list(range(sink.cycles[0], sink.cycles[0] + 200))
    assert sink.cycles[0] == bench.kept_in[0] + PacketBuffer.latency


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def fills_up_and_loses_nothing(dut):
    bench = await started(Bench(dut))
    dut.o_ready.value = 0
    for _ in range(bench.params.words + 20):
        bench.add(1)
    await edges(dut.clk, bench.params.words + 50)
    assert bench.params.most_packet_words <= bench.written <= bench.params.words + 2
    assert not dut.room.value
    # A word waits in each of the two registers behind the memory.
    assert dut.used.value == bench.written - 2
    sink = Sink(dut, "o")
    await bench.drain(sink)
    assert dut.used.value == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def forgets_what_was_not_kept(dut):
    """It may be as long as can be, again and again; the next packet is no later for it."""
    bench = await started(Bench(dut))
    sink = Sink(dut, "o")
    for _ in range(20):
        bench.add(bench.params.most_packet_words, keep=False)
    bench.add(3)
    await bench.drain(sink)
    assert sink.cycles[0] == bench.kept_in[0] + PacketBuffer.latency
