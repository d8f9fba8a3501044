import random
from bisect import bisect_left
from itertools import product

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.stream_pipeline import StreamPipeline, StreamPipelineParams
from sim.harness.streams import STALLS, Sink, Source, cycle, never, often, receive, send, start
from sim.harness.verilator import component_in_simulator, params_in_simulator, simulate
from tests.hdl.common.stream_bench import fills_and_empties, outputs_stand_still, passes_in_order
from tests.rejects import rejects

SIZES = [(1, 1), (40, 2), (9, 4)]


@pytest.mark.parametrize(("width", "stages"), SIZES)
def test_stream_pipeline(width, stages):
    simulate(StreamPipeline(StreamPipelineParams(width=width, stages=stages)), __name__)


test_rejects = rejects(
    StreamPipelineParams,
    ({"width": 0}, "width must be at least 1: 0"),
    ({"width": 1, "stages": 0}, "stages must be from 1 to 15: 0"),
    ({"width": 1, "stages": 16}, "stages must be from 1 to 15: 16"),
)


def test_sizes_have_names_of_their_own():
    names = {StreamPipelineParams(width=w, stages=s).suffix for w in (1, 2) for s in (1, 2)}
    assert len(names) == 4


def random_beats(count):
    width = params_in_simulator().width
    return [random.getrandbits(width) for _ in range(count)]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def keeps_order_and_pace(dut, stalls):
    latency = params_in_simulator(StreamPipelineParams).latency
    await start(dut)
    await passes_in_order(dut, random_beats(500), stalls, latency)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def holds_as_many_as_it_says(dut):
    params = params_in_simulator(StreamPipelineParams)
    assert params.capacity >= 2 * params.stages + 2
    await fills_and_empties(dut, random_beats(3 * params.capacity), params.capacity)


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stall=[never, often])
async def empty_only_when_all_have_left(dut, stall):
    params = params_in_simulator(StreamPipelineParams)
    await start(dut)
    await RisingEdge(dut.clk)
    assert dut.empty.value
    source, sink = Source(dut, "i"), Sink(dut, "o", stall=stall)
    for count in range(1, params.capacity + 3):
        sink.beats.clear()
        for beat in random_beats(count):
            source.append(beat)
        while len(sink.beats) < count:
            await RisingEdge(dut.clk)
            moved = bisect_left(source.cycles, cycle())  # before this edge
            assert not (dut.empty.value and moved > len(sink.cycles))
        last = sink.cycles[-1]
        while not dut.empty.value:
            await RisingEdge(dut.clk)
        assert cycle() - last <= params.stages + 1


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_reset_flushes_it(dut):
    """It flushes what it finds on the way there and back, and what moves while it lasts."""
    params = params_in_simulator(StreamPipelineParams)
    shortest = component_in_simulator().reset_cycles
    await start(dut)
    for under_way, moves in product(range(params.capacity + 1), (0, 1)):
        dut.o_ready.value = 0
        dut.i_valid.value = 1
        await ClockCycles(dut.clk, under_way)
        dut.i_valid.value = dut.o_ready.value = moves
        await ClockCycles(dut.clk, moves * random.randrange(params.latency + params.stages))
        dut.rst.value = 1
        await ClockCycles(dut.clk, shortest)
        dut.rst.value = dut.i_valid.value = dut.o_ready.value = 0
        for _ in range(2 * params.latency + 1):
            await RisingEdge(dut.clk)
            assert not dut.o_valid.value
            assert dut.empty.value
        beats = random_beats(2 * params.capacity)
        sending = cocotb.start_soon(send(dut, "i", beats))
        assert (await receive(dut, "o", len(beats)))[0] == beats
        await sending
        await ClockCycles(dut.clk, params.latency)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def cuts_both_ways(dut):
    outputs = (dut.i_ready, dut.o_valid, dut.o_payload, dut.empty)
    await outputs_stand_still(dut, outputs, lambda: random_beats(1)[0])
