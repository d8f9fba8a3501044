import random
import re
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, Timer
from cocotb.utils import get_sim_time

from gen.base.emission.emit import emit
from gen.synth.limits import most_levels
from gen.synth.synthesis import synthesise
from hdl.common.crossing.async_fifo import AsyncFifo, AsyncFifoParams
from hdl.common.crossing.crossing import Crossing
from hdl.common.packets import BEAT
from hdl.common.streams import LANE_BITS
from hdl.u280.clock_ip import HBM_MHZ
from sim.harness.cache import cached_folder
from sim.harness.streams import STALLS, Sink, Source, crossed
from sim.harness.verilator import component_in_simulator, params_in_simulator
from tests.hdl.common.crossing.clocks import RATIOS, start
from tests.simulated import simulated

#: one lane, and two, the last of which is narrow
SIZES = [AsyncFifoParams(shape=16, depth=4), AsyncFifoParams(shape=LANE_BITS + 1)]

test_async_fifo = simulated(AsyncFifo, SIZES, __name__)


def test_registers_that_constraints_name():
    modules = emit(AsyncFifo(AsyncFifoParams(shape=LANE_BITS + 9))).modules
    top = modules[f"async_fifo_{LANE_BITS + 9}x32"].verilog
    assert 'ram_style = "distributed"' in modules[f"fifo_words_{LANE_BITS + 9}x32"].verilog
    assert "gray_crossing_6 write_pointer (" in top
    for index, bits in enumerate((LANE_BITS, 9)):
        assert f"output_lane_{bits} output_{index} (" in top
        assert f"reg [{bits - 1}:0] payload" in modules[f"output_lane_{bits}"].verilog


def test_ready_and_valid_are_registers():
    text = emit(AsyncFifo(AsyncFifoParams(shape=9))).modules["async_fifo_9x32"].verilog
    for port, register in (("i_ready", "ready"), ("o_valid", "valid")):
        assert f"assign {port} = {register};" in text
        assert re.search(rf"^  reg {register}\b", text, re.M)


def test_paths_have_time_at_the_fastest_clock():
    """A beat of the MAC is the widest that crosses, and HBM's clock the fastest."""
    clocks = synthesise(emit(AsyncFifo(AsyncFifoParams(shape=BEAT))), cached_folder).clocks
    assert [clock.name for clock in clocks] == ["write", "read"]
    for clock in clocks:
        assert 0 < clock.depth.most_levels <= most_levels(HBM_MHZ), clock.path


def test_crossings():
    crossings = AsyncFifo(AsyncFifoParams(shape=9)).crossings
    assert crossings[0] == Crossing(path="", constraint="async_fifo", source="write", target="read")
    assert [(c.path, c.constraint, c.source, c.target) for c in crossings[1:]] == [
        ("write_pointer", "gray_crossing", "write", "read"),
        ("read_pointer", "gray_crossing", "read", "write"),
        ("write_state", "synchroniser", "any", "read"),
        ("read_state", "synchroniser", "any", "write"),
    ]


def random_beats(count):
    width = params_in_simulator(AsyncFifoParams).width
    return [(1 << width) - 1, 0] + [random.getrandbits(width) for _ in range(count - 2)]


@crossed(ratio=RATIOS, stalls=STALLS, us=50)
async def keeps_order(dut, ratio, stalls):
    beats = random_beats(300)
    write, read = await start(dut, write=ratio[0], read=ratio[1])
    source = Source(write, "i", stall=stalls.value[0])
    sink = Sink(read, "o", stall=stalls.value[1])
    begin = get_sim_time("ps")
    await source.send_all(beats)
    await sink.wait_for(len(beats))
    if stalls.absent and params_in_simulator().depth >= 16:
        # As fast as the slower clock lets it, but for the start.
        assert get_sim_time("ps") - begin < (len(beats) + 20) * max(ratio) + 20 * min(ratio)
    await read.edges(20)
    assert sink.beats == beats


@crossed(ratio=RATIOS, us=50)
async def fills_and_recovers(dut, ratio):
    depth = params_in_simulator().depth
    beats = random_beats(2 * depth + 10)
    write, read = await start(dut, write=ratio[0], read=ratio[1])
    dut.o_ready.value = 0
    source = Source(write, "i")
    for beat in beats:
        source.append(beat)
    await Timer(20 * sum(ratio) + 4 * depth * max(ratio), unit="ps")
    assert len(source.cycles) == depth + 1  # one of them waits at the output
    assert not dut.i_ready.value
    sink = Sink(read, "o")
    await sink.wait_for(len(beats))
    assert sink.beats == beats


async def edges_until(side, port):
    """Return how many edges of a side's clock, from now on, lie before a rise of ``port``."""
    begin, count = get_sim_time("ps"), 0
    while True:
        await RisingEdge(side.clk)  # reads what was before the edge
        if port.value:
            return count
        count += get_sim_time("ps") > begin


@crossed(ratio=RATIOS, us=50)
async def takes_its_latencies(dut, ratio):
    """No register settles late in a simulation."""
    fifo: Any = component_in_simulator()
    write, read = await start(dut, write=ratio[0], read=ratio[1])
    dut.i_valid.value = dut.o_ready.value = 0
    await Timer(40 * max(ratio), unit="ps")
    for _ in range(5):
        await write.edges(random.randrange(1, 5))
        dut.i_valid.value = 1
        await RisingEdge(write.clk)
        dut.i_valid.value = 0
        assert await edges_until(read, dut.o_valid) == fifo.latency
        dut.o_ready.value = 1
        await read.edges(2)
        dut.o_ready.value = 0
    dut.i_valid.value = 1
    for _ in range(5):
        await Timer(fifo.params.depth * ratio[0] + 20 * sum(ratio), unit="ps")
        assert not dut.i_ready.value
        await read.edges()
        dut.o_ready.value = 1
        await read.edges()
        dut.o_ready.value = 0
        assert await edges_until(write, dut.i_ready) == fifo.room_latency


async def write_numbers(side, dut, until):
    """Send 1, 2, 3, ... with pauses; return how far it came."""
    number = 0
    while not until():
        dut.i_valid.value = 0
        await side.edges(random.choice([0, 0, 0, 1, 5]))
        number += 1
        dut.i_payload.value = number
        dut.i_valid.value = 1
        await RisingEdge(side.clk)
        while not dut.i_ready.value:
            await RisingEdge(side.clk)
        assert dut.write_runs.value  # beats that move are counted as long as it is high
    dut.i_valid.value = 0
    return number


async def read_numbers(side, dut, numbers):
    """Take what comes, with pauses."""
    while True:
        dut.o_ready.value = random.random() < 0.7
        await RisingEdge(side.clk)
        if dut.o_valid.value and dut.o_ready.value:
            numbers.append(int(dut.o_payload.value))


async def drained(read, numbers, last):
    """Wait until ``last`` was taken: a full queue takes longer, the less often it is ready."""
    for _ in range(40 * params_in_simulator().depth):
        if numbers and numbers[-1] == last:
            return
        await read.edges()


@crossed(ratio=RATIOS, which=["write", "read", "both"], us=100)
async def recovers_from_a_reset_of_either_side(dut, ratio, which):
    write, read = await start(dut, write=ratio[0], read=ratio[1])
    dut.i_valid.value = 0
    done, numbers = [], []
    writing = cocotb.start_soon(write_numbers(write, dut, lambda: done))
    reading = cocotb.start_soon(read_numbers(read, dut, numbers))
    for _ in range(12):
        await Timer(random.randrange(1, 40 * max(ratio)), unit="ps")
        sides = {"write": [write], "read": [read], "both": [write, read]}[which]
        resets = [cocotb.start_soon(s.reset(random.choice([1, 2, 3, 8]))) for s in sides]
        for reset in resets:
            await reset
    await Timer(60 * max(ratio), unit="ps")  # both go on by now
    settled = len(numbers)
    await Timer(200 * max(ratio), unit="ps")
    done.append(True)
    last = await writing
    await drained(read, numbers, last)
    reading.cancel()
    # Nothing old, nothing twice, nothing that was never sent; and all of it when resets are over.
    assert numbers == sorted(set(numbers))
    assert len(numbers) > settled
    assert numbers[settled:] == list(range(numbers[settled], last + 1))


@crossed(which=["write", "read"], us=100)
async def a_reset_close_behind_another(dut, which):
    """The faster side is reset again, however soon: nothing old comes out, and it goes on."""
    periods = {"write": 4000, "read": 4000} | {which: 2222}
    write, read = await start(dut, **periods)
    dut.i_valid.value = 0
    done, numbers = [], []
    writing = cocotb.start_soon(write_numbers(write, dut, lambda: done))
    reading = cocotb.start_soon(read_numbers(read, dut, numbers))
    side, port = {"write": (write, dut.i_ready), "read": (read, dut.o_valid)}[which]
    for apart in range(1, 16):
        await Timer(20 * 4000 + random.randrange(4000), unit="ps")
        before = len(numbers)
        await side.reset(5)
        await side.edges(apart)
        await side.reset(1)
        for _ in range(5):
            await side.edges()
            assert not port.value, apart
        await Timer(60 * 4000, unit="ps")
        assert len(numbers) > before, apart
        assert numbers == sorted(set(numbers)), apart
    done.append(True)
    await drained(read, numbers, await writing)
    reading.cancel()
    assert numbers == sorted(set(numbers))


@crossed(which=["write", "read"], cycles=[1, 2, 20], us=50)
async def stands_still_from_its_reset_on(dut, which, cycles):
    """It does from the next cycle until both sides have cleared; a long reset is one reset."""
    sides = dict(zip(("write", "read"), await start(dut, write=2222, read=4000), strict=True))
    dut.o_ready.value = 0
    source = Source(sides["write"], "i")
    await source.send_all(random_beats(3))
    await Timer(20 * 4000, unit="ps")
    assert dut.o_valid.value
    assert dut.i_ready.value
    port = {"write": dut.i_ready, "read": dut.o_valid}[which]
    cocotb.start_soon(sides[which].reset(cycles))
    await sides[which].edges(2)  # the reset is high before the second
    for _ in range(cycles + 5):
        await sides[which].edges()
        assert not port.value
    await Timer(20 * 4000, unit="ps")
    assert dut.i_ready.value


@crossed(ratio=RATIOS, which=["write", "read"], us=50)
async def a_reset_empties_it(dut, ratio, which):
    sides = dict(
        zip(("write", "read"), await start(dut, write=ratio[0], read=ratio[1]), strict=True)
    )
    dut.o_ready.value = 0
    source = Source(sides["write"], "i")
    await source.send_all(random_beats(4))
    await Timer(20 * sum(ratio), unit="ps")
    assert dut.o_valid.value
    await sides[which].reset(1)
    await Timer(40 * sum(ratio), unit="ps")
    assert dut.i_ready.value  # it goes on
    for _ in range(20):
        await sides["read"].edges()
        assert not dut.o_valid.value
