import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from gen.base.emission.emit import emit
from gen.synth.synthesis import synthesise
from hdl.common.streams import (
    LANE_BITS,
    Fork,
    ForkParams,
    StreamRegister,
    StreamRegisterParams,
    StreamSkid,
)
from sim.harness.bench import Bench
from sim.harness.cache import cached_folder
from sim.harness.streams import STALLS, Source, crossed, receive, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.common.cuts import stand_still
from tests.hdl.contracts import contracts, filling


@pytest.mark.parametrize(("width", "count"), [(1, 1), (8, 2), (17, 5)])
def test_fork(width, count):
    tests = r"test_streams[.](?!fills_|register_|skid_)"
    simulate(Fork(ForkParams(shape=width, count=count)), __name__, test_filter=tests)


@pytest.mark.parametrize("width", [1, 40, LANE_BITS + 1])
def test_stream_register(width):
    tests = r"test_streams[.](?!fork_|skid_)"
    simulate(StreamRegister(StreamRegisterParams(shape=width)), __name__, test_filter=tests)


def test_a_wide_register_has_no_enable_of_many_loads():
    wide = synthesise(emit(StreamRegister(StreamRegisterParams(shape=512))), cached_folder)
    assert wide.depth.most_levels == 1


def test_stream_skid():
    tests = r"test_streams[.](?!fork_|register_)"
    simulate(StreamSkid(StreamRegisterParams(shape=40)), __name__, test_filter=tests)


def draw(count):
    """Draw beats, which each output gives as they are."""
    params = params_in_simulator()
    width = params.width
    extremes = (0, (1 << width) - 1)
    beats = (random.getrandbits(width) for _ in range(count))
    beats = [random.choice(extremes) if random.random() < 0.1 else beat for beat in beats]
    copies = [beats] * params.count if isinstance(params, ForkParams) else beats
    return beats, {"o": copies}


keeps_order, takes_its_latency, a_reset_empties_it = contracts(__name__, draw)
fills_and_empties = filling(__name__, draw)


@crossed(stalls=STALLS, us=100)
async def fork_ends_a_beat_with_its_last_copy(dut, stalls):
    """It leaves when the last copy has been taken, not later."""
    bench = await Bench(dut).begin()
    await bench.exchange(*draw(300), stalls)
    assert bench.i.cycles == [max(all_) for all_ in zip(*(o.cycles for o in bench.o), strict=True)]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def fork_lets_copies_go_apart(dut):
    count = params_in_simulator().count
    await start(dut)
    for k in range(count):
        getattr(dut, f"o_{k}_ready").value = 0
    source = Source(dut, "i")
    (beat,), _ = draw(1)
    source.append(beat)
    for k in reversed(range(count)):  # one copy after the other, far apart
        assert source.cycles == []
        assert (await receive(dut, f"o_{k}", 1))[0] == [beat]
        for _ in range(3):
            await RisingEdge(dut.clk)
            assert not getattr(dut, f"o_{k}_valid").value
    assert len(source.cycles) == 1


@cocotb.test(timeout_time=100, timeout_unit="us")
async def skid_cuts_ready(dut):
    """A beat that finds no room waits inside; whatever ``o_ready`` does, ``i_ready`` stands."""
    await stand_still(dut, dut.i_ready, dut.o_valid, dut.o_payload, inputs=[dut.o_ready])


@cocotb.test(timeout_time=100, timeout_unit="us")
async def register_cuts_in_both_directions(dut):
    await stand_still(dut, dut.i_ready, dut.o_valid, dut.o_payload)
