import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge, Timer

from hdl.common.streams import Fork, ForkParams, StreamRegister, StreamRegisterParams, StreamSkid
from sim.harness.streams import STALLS, Sink, Source, never, often, rarely, receive, start
from sim.harness.verilator import component_in_simulator, params_in_simulator, simulate
from tests.hdl.common.stream_bench import fills_and_empties, outputs_stand_still, passes_in_order
from tests.hdl.common.upset import start_upset
from tests.rejects import refuses


@pytest.mark.parametrize(("width", "count"), [(1, 1), (8, 2), (17, 5)])
def test_fork(width, count):
    simulate(Fork(ForkParams(width=width, count=count)), __name__, test_filter="fork_")


@pytest.mark.parametrize("width", [1, 40])
def test_stream_register(width):
    params = StreamRegisterParams(width=width)
    simulate(StreamRegister(params), __name__, test_filter="register_|keeps_")


def test_stream_skid():
    simulate(StreamSkid(StreamRegisterParams(width=40)), __name__, test_filter="skid_|keeps_")


test_rejects = refuses(
    lambda kind, sizes: kind(**sizes),
    (ForkParams, {"width": 0, "count": 2}, "width must be at least 1"),
    (ForkParams, {"width": 4, "count": 0}, "count must be from 1 to 64 copies: 0"),
    (StreamRegisterParams, {"width": 0}, "width must be at least 1"),
)


def random_beats(count):
    width = params_in_simulator().width
    extremes = (0, (1 << width) - 1)
    beats = (random.getrandbits(width) for _ in range(count))
    return [random.choice(extremes) if random.random() < 0.1 else beat for beat in beats]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(source_stall=[never, often], sink_stall=[never, rarely, often])
async def fork_gives_every_beat_to_every_copy(dut, source_stall, sink_stall):
    count = params_in_simulator(ForkParams).count
    beats = random_beats(300)
    await start_upset(dut)
    sinks = [Sink(dut, f"o_{k}", stall=sink_stall) for k in range(count)]
    source = Source(dut, "i", stall=source_stall)
    await source.send_all(beats)
    for sink in sinks:
        await sink.wait_for(len(beats))
    await RisingEdge(dut.clk)
    assert [sink.beats for sink in sinks] == [beats] * count
    # A beat leaves when the last copy has been taken, not later.
    assert source.cycles == [max(cycles) for cycles in zip(*(s.cycles for s in sinks), strict=True)]
    if source_stall is never and sink_stall is never:
        assert source.cycles == list(range(source.cycles[0], source.cycles[0] + len(beats)))


@cocotb.test(timeout_time=100, timeout_unit="us")
async def fork_lets_copies_go_apart(dut):
    count = params_in_simulator(ForkParams).count
    await start(dut)
    for k in range(count):
        getattr(dut, f"o_{k}_ready").value = 0
    source = Source(dut, "i")
    beat = random_beats(1)[0]
    source.append(beat)
    for k in reversed(range(count)):  # one copy after the other, far apart
        assert source.cycles == []
        assert (await receive(dut, f"o_{k}", 1))[0] == [beat]
        for _ in range(3):
            await RisingEdge(dut.clk)
            assert not getattr(dut, f"o_{k}_valid").value
    assert len(source.cycles) == 1


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def keeps_order_and_pace(dut, stalls):
    await start_upset(dut)
    latency = component_in_simulator().latency
    await passes_in_order(dut, random_beats(500), stalls, latency)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def register_holds_two_beats(dut):
    await fills_and_empties(dut, random_beats(10), StreamRegister.capacity)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def skid_cuts_ready(dut):
    """A beat that finds no room waits inside; whatever ``o_ready`` does, ``i_ready`` stands."""
    await start(dut)
    for _ in range(200):
        await RisingEdge(dut.clk)
        dut.i_valid.value = random.random() < 0.7
        dut.i_payload.value = random_beats(1)[0]
        seen = set()
        for ready in (0, 1, random.randrange(2)):
            dut.o_ready.value = ready
            await Timer(500, "ps")
            seen.add((int(dut.i_ready.value), int(dut.o_valid.value), int(dut.o_payload.value)))
        assert len(seen) == 1


@cocotb.test(timeout_time=100, timeout_unit="us")
async def register_cuts_both_ways(dut):
    outputs = (dut.i_ready, dut.o_valid, dut.o_payload)
    await outputs_stand_still(dut, outputs, lambda: random_beats(1)[0])
