"""How many beats may leave in how much time."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switchgnn.endpoint.bundles import RATE_SETTINGS
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.token_bucket import UNIT, TokenBucket
from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import simulate

MOST, LEAST, STEP, TRIP, BURST = UNIT // 4, UNIT // 32, UNIT // 64, 200, 10


def test_token_bucket():
    simulate(TokenBucket(PRESETS["tiny"]), __name__)


async def begin(dut, **settings):
    given = {"enabled": 1, "most": MOST, "least": LEAST, "step": STEP}
    given |= {"burst": BURST, "round_trip": TRIP}
    dut.settings.value = pack(RATE_SETTINGS, given | settings)
    dut.congested.value = dut.beat.value = 0
    await start(dut)
    for _ in range(2):
        await RisingEdge(dut.clk)


async def pour(dut, cycles, size=1):
    """The beats that leave in so many cycles, in frames of ``size``, as soon as they may."""
    left = beats = 0
    for _ in range(cycles):
        await RisingEdge(dut.clk)
        if not left and dut.may_begin.value:
            left = size
        dut.beat.value = left > 0
        beats += left > 0
        left = max(0, left - 1)
    dut.beat.value = 0
    return beats


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(size=[1, 2, 9], rate=[UNIT // 2, UNIT // 8, UNIT // 100])
async def the_rate_is_kept(dut, size, rate):
    await begin(dut, most=rate)
    cycles = 4000
    beats = await pour(dut, cycles, size)
    # What a frame has on credit, and those under way when the test looks.
    assert abs(beats - cycles * rate / UNIT) <= 2 * size + 3


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_pause_earns_a_burst(dut):
    await begin(dut, most=UNIT // 50)
    for _ in range(50 * (BURST + 5)):
        await RisingEdge(dut.clk)
    assert BURST <= await pour(dut, BURST + 5) <= BURST + 3


@cocotb.test(timeout_time=100, timeout_unit="us")
async def off_is_off(dut):
    await begin(dut, enabled=0, most=1)
    assert await pour(dut, 500, 9) == 500
    dut.congested.value = 1
    for _ in range(5):
        await RisingEdge(dut.clk)
        assert not dut.halved.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def halves_once_a_round_trip_and_grows(dut):
    """By a model that knows when it was halved last."""
    await begin(dut)
    assert int(dut.rate.value) == MOST
    for _ in range(20):  # grown to the most at once
        await RisingEdge(dut.clk)
    halvings, before = 0, int(dut.rate.value)
    last = -TRIP
    for cycle in range(6000):
        dut.congested.value = random.random() < (0.05 if cycle < 1500 else 0.0005)
        await RisingEdge(dut.clk)
        now = int(dut.rate.value)
        if now < before:
            assert now == max(LEAST, before // 2)
            assert cycle - last >= TRIP
            halvings, last = halvings + 1, cycle
        elif now > before:
            assert now == min(MOST, before + STEP)
            assert cycle - last >= TRIP
        assert LEAST <= now <= MOST
        before = now
    assert halvings > 5
    assert before > LEAST
