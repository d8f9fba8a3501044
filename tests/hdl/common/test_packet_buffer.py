import random

import cocotb
import pytest

from hdl.common.packet_buffer import PacketBuffer, PacketBufferParams
from sim.harness.streams import STALLS, Sink, crossed, edges, start, started
from sim.harness.verilator import simulate
from tests.hdl.common.packet_buffer_bench import WIDTH, Bench


@pytest.mark.parametrize(
    ("words", "behind", "early"), [(16, 1, False), (32, 5, False), (16, 1, True)]
)
def test_packet_buffer(words, behind, early):
    params = PacketBufferParams(shape=WIDTH, words=words, behind=behind, early=early)
    simulate(PacketBuffer(params), __name__)


@crossed(stalls=STALLS)
async def gives_what_was_kept(dut, stalls):
    source, sink = stalls
    bench = Bench(dut, source)
    most = bench.params.max_packet_words
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
    assert sink.cycles[0] == bench.kept_in[0] + bench.params.latency


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def fills_up_and_loses_nothing(dut):
    bench = await started(Bench(dut))
    dut.o_ready.value = 0
    for _ in range(bench.params.words + 20):
        bench.add(1)
    await edges(dut.clk, bench.params.words + 50)
    assert bench.params.max_packet_words <= bench.written <= bench.params.words + 2
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
        bench.add(bench.params.max_packet_words, keep=False)
    bench.add(3)
    await bench.drain(sink)
    assert sink.cycles[0] == bench.kept_in[0] + bench.params.latency
