import random
from bisect import bisect_left

import cocotb
import pytest
from cocotb.triggers import ClockCycles, RisingEdge

from gen.base.emission.emit import emit
from hdl.common.fifo import Fifo, FifoParams
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, Sink, Source, receive, send, start
from sim.harness.verilator import params_in_simulator
from tests.hdl.common.upset import start_upset
from tests.rejects import rejects
from tests.simulated import simulated

SIZES = [
    FifoParams(width=8, depth=2),
    FifoParams(width=1, depth=16, style="distributed"),
    FifoParams(width=33, depth=13, style="distributed"),
    FifoParams(width=8, depth=2, style="block"),
    FifoParams(width=16, depth=65),
    FifoParams(width=72, depth=16, style="block", output_register=True),
    FifoParams(width=40, depth=21, style="ultra", output_register=True),
    FifoParams(width=512, depth=64, style="ultra"),
]

test_fifo = simulated(Fifo, SIZES, __name__, short=[SIZES[0], SIZES[2], SIZES[4], SIZES[6]])


test_rejects = rejects(
    FifoParams,
    ({"width": 0, "depth": 4}, "width must be at least 1"),
    ({"width": 4, "depth": 1}, "depth must be from 2 to 65536 words: 1"),
    ({"width": 4, "depth": 4, "style": "lut"}, "auto, distributed, block, ultra: 'lut'"),
    (
        {"width": 4, "depth": 4, "output_register": True},
        "output_register needs style block or ultra",
    ),
)


@pytest.mark.parametrize(
    ("params", "style", "words"),
    [
        (FifoParams(width=8, depth=64), "distributed", 64),
        (FifoParams(width=8, depth=65), "block", 65),
        (FifoParams(width=512, depth=4096, style="ultra"), "ultra", 4096),
    ],
)
def test_memory_is_exactly_as_deep_as_asked(params, style, words):
    verilog = emit(Fifo(params)).verilog
    assert f'ram_style = "{style}"' in verilog
    assert f"[{words - 1}:0];" in verilog


def random_beats(count):
    width = params_in_simulator(FifoParams).width
    ones = (1 << width) - 1
    return [ones, 0, ones] + [random.getrandbits(width) for _ in range(count - 3)]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def keeps_order(dut, stalls):
    params = params_in_simulator(FifoParams)
    beats = random_beats(4 * params.depth + 50)
    await start(dut)
    source = Source(dut, "i", stall=stalls.value[0])
    sink = Sink(dut, "o", stall=stalls.value[1])
    await source.send_all(beats)
    await sink.wait_for(len(beats))
    assert sink.beats == beats
    if stalls.none:
        first = source.cycles[0]
        assert source.cycles == list(range(first, first + len(beats)))
        assert sink.cycles == [cycle + params.latency for cycle in source.cycles]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def counts_what_is_inside(dut, stalls):
    beats = random_beats(100)
    await start_upset(dut)
    dut.i_valid.value = 0
    dut.o_ready.value = 0
    await RisingEdge(dut.clk)
    levels = Recorder(dut, "", {"level": None})
    sending = cocotb.start_soon(send(dut, "i", beats, stalls.value[0]))
    received, left = await receive(dut, "o", len(beats), stalls.value[1])
    came = await sending
    await ClockCycles(dut.clk, 2)
    assert received == beats
    inside = [bisect_left(came, at) - bisect_left(left, at) for at in levels.cycles]
    assert [one["level"] for one in levels.beats] == inside
    assert inside[-1] == 0


@cocotb.test(timeout_time=100, timeout_unit="us")
async def fills_to_its_capacity_and_recovers(dut):
    params = params_in_simulator(FifoParams)
    beats = random_beats(3 * params.capacity + 20)
    await start(dut)
    dut.o_ready.value = 0
    source = Source(dut, "i")
    for beat in beats:
        source.append(beat)
    await ClockCycles(dut.clk, 2 * params.capacity + 10)
    assert len(source.cycles) == params.capacity
    assert int(dut.level.value) == params.capacity
    assert not dut.i_ready.value
    received, cycles = await receive(dut, "o", len(beats))
    assert received == beats
    # Full or not, a beat leaves in every cycle.
    assert cycles == list(range(cycles[0], cycles[0] + len(beats)))


@cocotb.test(timeout_time=100, timeout_unit="us")
async def passes_single_beats_in_its_latency(dut):
    params = params_in_simulator(FifoParams)
    await start(dut)
    source, sink = Source(dut, "i"), Sink(dut, "o")
    for beat in random_beats(2 * params.depth + 3):
        await source.send_all([beat])
        await sink.wait_for(len(source.cycles))
        assert sink.beats[-1] == beat
        assert sink.cycles[-1] == source.cycles[-1] + params.latency
