import random
from bisect import bisect_left

import cocotb
import pytest
from cocotb.triggers import FallingEdge, RisingEdge

from hdl.common.stream_pipeline import StreamPipeline, StreamPipelineParams
from sim.harness.bench import Bench
from sim.harness.streams import Sink, Source, crossed, cycle, never, often, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.cuts import stand_still
from tests.hdl.contracts import contracts, filling

SIZES = [(1, 1, False), (40, 2, False), (9, 2, True), (9, 4, False)]


@pytest.mark.parametrize(("width", "stages", "passes"), SIZES)
def test_stream_pipeline(width, stages, passes):
    params = StreamPipelineParams(shape=width, stages=stages, passes=passes)
    simulate(StreamPipeline(params), __name__)


def test_sizes_have_names_of_their_own():
    names = {StreamPipelineParams(shape=w, stages=s).suffix for w in (1, 2) for s in (1, 2)}
    assert len(names) == 4


def test_holds_those_of_a_round_trip():
    for stages in range(1, 16):
        assert StreamPipelineParams(shape=1, stages=stages).capacity >= 2 * stages + 2


def draw(count):
    width = params_in_simulator().width
    beats = [random.getrandbits(width) for _ in range(count)]
    return beats, beats


def bench(dut):
    cocotb.start_soon(is_empty_after_a_reset(dut))
    return Bench(dut)


async def is_empty_after_a_reset(dut):
    while True:
        await FallingEdge(dut.rst)
        await RisingEdge(dut.clk)
        assert dut.empty.value


keeps_order, takes_its_latency, a_reset_empties_it = contracts(__name__, draw, bench=bench)
fills_and_empties = filling(__name__, draw, bench=bench)


@crossed(stall=[never, often], us=100)
async def empty_only_when_all_have_left(dut, stall):
    params = params_in_simulator(StreamPipelineParams)
    await start(dut)
    await RisingEdge(dut.clk)
    assert dut.empty.value
    source, sink = Source(dut, "i"), Sink(dut, "o", stall=stall)
    for count in range(1, params.capacity + 3):
        sink.beats.clear()
        source.extend(draw(count)[0])
        while len(sink.beats) < count:
            await RisingEdge(dut.clk)
            moved = bisect_left(source.cycles, cycle())  # before this edge
            assert not (dut.empty.value and moved > len(sink.cycles))
        last = sink.cycles[-1]
        while not dut.empty.value:
            await RisingEdge(dut.clk)
        assert cycle() - last <= params.stages + 1


@cocotb.test(timeout_time=100, timeout_unit="us")
async def cuts_both_ways(dut):
    await stand_still(dut, dut.i_ready, dut.o_valid, dut.o_payload, dut.empty)
