"""Tests how many beats may leave in how much time."""

import random
from itertools import product

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.switchgnn.endpoint.bundles import RATE_SETTINGS
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.token_bucket import UNIT, TokenBucket
from sim.harness.payloads import pack
from sim.harness.streams import cycle, start, strobe
from sim.harness.verilator import simulate

MOST, LEAST, STEP, TRIP, BURST = UNIT // 4, UNIT // 32, UNIT // 64, 200, 10


def test_token_bucket():
    simulate(TokenBucket(PRESETS["tiny"]), __name__, registers=["tokens", "time"])


async def begin(dut, **settings):
    given = {"enabled": 1, "most": MOST, "least": LEAST, "step": STEP}
    given |= {"burst": BURST, "round_trip": TRIP}
    dut.settings.value = pack(RATE_SETTINGS, given | settings)
    dut.congested.value = dut.beat.value = 0
    await start(dut)
    await ClockCycles(dut.clk, 2)


async def pour(dut, cycles, size=1):
    """Return the beats that leave in this many cycles, in frames of ``size``, without a pause."""
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
    await ClockCycles(dut.clk, 50 * (BURST + 5))
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
    """The model knows when the rate was halved last."""
    trip, most = random.randrange(50, 200), random.randrange(UNIT // 16, UNIT + 1)
    least, step = random.randrange(most // 16, most // 4), random.randrange(most // 64, most // 8)
    await begin(dut, most=most, least=least, step=step, round_trip=trip)
    assert int(dut.rate.value) == most
    halvings, before = 0, most
    last = -trip
    for now_at in range(6000):
        dut.congested.value = random.random() < (0.05 if now_at < 1500 else 0.0005)
        await RisingEdge(dut.clk)
        now = int(dut.rate.value)
        if now < before:
            assert now == max(least, before // 2)
            assert now_at - last >= trip
            halvings, last = halvings + 1, now_at
        elif now > before:
            assert now == min(most, before + step)
            assert now_at - last >= trip
        before = now
    assert halvings > 5
    assert before > least


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_mark_counts_from_the_end_of_a_round_trip_on(dut):
    """Marks come just before that cycle, in it, and behind it, where the rate would grow."""
    for trip in (5, 30):
        await begin(dut, round_trip=trip, least=1)
        seen = []
        for pause in range(trip - 2, trip + 3):
            for wait in (3 * trip, pause):
                await ClockCycles(dut.clk, wait)
                dut.congested.value = 1
                await RisingEdge(dut.clk)
                halved = bool(dut.halved.value)
                dut.congested.value = 0
            seen.append(halved)
        assert seen == [pause >= trip for pause in range(trip - 2, trip + 3)]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def grows_after_a_round_trip(dut):
    """It grows to the cycle and by its step, whatever the bits of both are."""
    await begin(dut, least=0)
    given = {"enabled": 1, "most": UNIT, "burst": BURST}
    delays = set()
    for bit in range(6, 24):
        trip = random.getrandbits(24) & (1 << bit) - 1 | 1 << bit
        step = 1 << bit % 16
        dut.settings.value = pack(RATE_SETTINGS, given | {"step": step, "round_trip": trip})
        dut.time.value = trip
        dut.congested.value = 1
        while not dut.halved.value:
            await RisingEdge(dut.clk)
        dut.congested.value = 0
        await RisingEdge(dut.clk)
        dut.time.value = trip - (1 << bit)
        await RisingEdge(dut.clk)
        before = int(dut.rate.value)
        for _ in range(20):
            await RisingEdge(dut.clk)
            assert int(dut.rate.value) == before
        dut.time.value = trip - 5
        began = cycle()
        while int(dut.rate.value) == before:
            await RisingEdge(dut.clk)
        assert int(dut.rate.value) == before + step
        delays.add(cycle() - began)
    assert len(delays) == 1


@cocotb.test(timeout_time=100, timeout_unit="us")
async def keeps_between_least_and_most(dut):
    """This holds also where a half, or a step, ends just beyond a bound."""
    await begin(dut)
    for _ in range(150):
        most = random.choice([random.randrange(1000, UNIT), UNIT])
        least = most - (1 << random.randrange(9)) - random.getrandbits(1)
        least = random.choice([least, random.randrange(most // 2, most - 1)])
        over = random.choice([-1, 1, random.randrange(-1, 200)])
        step = random.choice([max(1, most - least + over), 1 << random.randrange(10)])
        if random.getrandbits(1):
            least, step = most // 2 + random.randrange(-200, 200), 1
        given = {"enabled": 1, "most": most, "least": least, "step": step, "round_trip": 5}
        dut.settings.value = pack(RATE_SETTINGS, given)
        await strobe(dut.rst, dut.clk)
        await ClockCycles(dut.clk, 3)
        assert int(dut.rate.value) == most
        dut.congested.value = 1
        await RisingEdge(dut.clk)
        assert dut.halved.value
        dut.congested.value = 0
        await RisingEdge(dut.clk)
        low = max(least, most // 2)
        assert int(dut.rate.value) == low
        while int(dut.rate.value) == low:
            await RisingEdge(dut.clk)
        assert int(dut.rate.value) == (high := min(most, low + step))
        for _ in range(8):  # a round trip
            await RisingEdge(dut.clk)
        assert int(dut.rate.value) == min(most, high + step)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def without_a_step_it_stays(dut):
    for most in (UNIT, MOST):
        await begin(dut, most=most, step=0, round_trip=5)
        for _ in range(30):
            await RisingEdge(dut.clk)
            assert int(dut.rate.value) == most


@cocotb.test(timeout_time=100, timeout_unit="us")
async def none_is_too_few_by_one(dut):
    for _ in range(20):
        rate = random.randrange(1, UNIT)
        await begin(dut, most=rate, round_trip=(1 << 24) - 1)
        for tokens, left in product((0, -1), (0, 1)):
            dut.beat.value = left
            await RisingEdge(dut.clk)
            dut.beat.value, dut.tokens.value = 0, tokens - rate + UNIT * left
            await ClockCycles(dut.clk, 2)
            assert dut.may_begin.value == (tokens == 0)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def every_token_counts(dut):
    """A burst of any size leaves after a pause, and beats one by one after it."""
    await begin(dut)
    for bit in range(12):
        burst = random.getrandbits(12) & (1 << bit) - 1 | 1 << bit
        rate = random.randrange(UNIT // 8, UNIT // 2)
        await drain(dut, rate, burst, random.choice([-3 * rate, *range(8)]))


async def drain(dut, rate, burst, ahead):
    """Use up a bucket that begins with ``ahead`` tokens more than a burst; every token counts."""
    given = {"enabled": 1, "most": rate, "burst": burst, "round_trip": TRIP}
    dut.settings.value = pack(RATE_SETTINGS, given)
    await strobe(dut.rst, dut.clk)
    await ClockCycles(dut.clk, 3)
    most = burst * UNIT
    dut.tokens.value = most + ahead
    await ClockCycles(dut.clk, 6 if ahead < 0 else 0)
    tokens, beat, left = most, 1, 0
    for _ in range(2 * burst + 200):
        dut.beat.value = beat
        await RisingEdge(dut.clk)
        assert dut.may_begin.value == (tokens >= 0)
        tokens = min(most, tokens + rate - UNIT * left)
        left, beat = beat, tokens >= 0
    dut.beat.value = 0
