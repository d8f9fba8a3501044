import random
from itertools import pairwise

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.burst_generator import BurstGenerator
from hdl.common.read_plan import COUNT_BITS, EPOCH_BITS, ReadMasterParams
from sim.harness.streams import Sink, often, rarely, send, start, strobe
from sim.harness.verilator import params_in_simulator
from tests.hdl.common.read_bench import beats_of, make_plan
from tests.hdl.contracts import contracts
from tests.simulated import simulated

COUNTERS = {"runs_left": COUNT_BITS, "epochs_left": EPOCH_BITS}
ALL = {field: (1 << COUNT_BITS) - 1 for field in ("beats", "stride", "runs")}
ALL |= {"epochs": (1 << EPOCH_BITS) - 1}  #: ones

test_burst_generator = simulated(
    BurstGenerator,
    [
        ReadMasterParams(address_bits=28),
        ReadMasterParams(address_bits=16, data_bits=8, burst_beats=2, prefetch_beats=4),
        ReadMasterParams(address_bits=40, data_bits=64, burst_beats=256, prefetch_beats=512),
    ],
    __name__,
    registers=(*COUNTERS, "window"),
)


def random_plan():
    params = params_in_simulator(ReadMasterParams)
    window = params.burst_beats
    beats = random.choice([1, 2, window - 1, window, window + 1, random.randint(1, 5 * window)])
    runs = random.randint(1, 5)
    memory = 1 << params.beat_address_bits
    far = min(memory // 6, 1 << 28)
    stride = random.choice([0, 1, beats, random.randint(1, 3 * window), random.randrange(far)])
    room = memory - (runs - 1) * stride - beats
    plan = make_plan(
        params.beat_bytes,
        random.randrange(room),
        beats,
        stride=stride,
        runs=runs,
        epochs=random.randint(1, 3),
    )
    plan["address"] |= random.randrange(params.beat_bytes)  # low bits mean nothing
    return plan


def expected_bursts(plan):
    """Return the plan's beats, cut at the ends of runs and of windows."""
    params = params_in_simulator(ReadMasterParams)
    bursts = []
    for number, beat in enumerate(beats_of(plan, params.beat_bytes)):
        if number % plan["beats"] == 0 or beat % params.burst_beats == 0:
            bursts.append({"beat": beat, "length": 0})
        else:
            bursts[-1]["length"] += 1
    return bursts


def draw(count):
    plans = [random_plan() for _ in range(count)]
    return plans, [burst for plan in plans for burst in expected_bursts(plan)]


def pace(sent, left, latency):
    """A plan's bursts leave one after the other, and it ends with its last one."""
    firsts = [at + latency for at in sent]
    assert left[0] == firsts[0]
    assert set(left) >= set(firsts)
    breaks = [after for before, after in pairwise(left) if after != before + 1]
    assert set(breaks) <= set(firsts)


keeps_order, takes_its_latency, a_reset_empties_it = contracts(__name__, draw, pace=pace, count=30)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_to_two_to_the_28(dut):
    """The largest counts pass through: no bit of them is lost on the way."""
    params = params_in_simulator(ReadMasterParams)
    large = 1 << 28
    await start(dut)
    dut.clear.value = 0
    sink = Sink(dut, "bursts")
    mask = (1 << params.beat_address_bits) - 1
    for plan in (
        make_plan(params.beat_bytes, 0, large, runs=1),
        make_plan(params.beat_bytes, 1, 1, stride=large, runs=large, epochs=(1 << 32) - 1),
    ):
        have = len(sink.beats)
        await send(dut, "plan", [plan])
        await sink.wait_for(have + 50)
        step = params.burst_beats if plan["beats"] > 1 else plan["stride"]
        for k, burst in enumerate(sink.beats[have : have + 50]):
            assert burst["beat"] == (plan["address"] // params.beat_bytes + k * step) & mask
        assert dut.active.value
        dut.clear.value = 1
        await ClockCycles(dut.clk, 2)
        dut.clear.value = 0
        await RisingEdge(dut.clk)
        assert not dut.active.value


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(count=["beats", "runs", "epochs"])
async def every_bit_of_a_count_counts(dut, count):
    """A count above one by any power of two is more than one."""
    params = params_in_simulator(ReadMasterParams)
    window = params.burst_beats
    await start(dut)
    dut.clear.value = 0
    sink = Sink(dut, "bursts")
    bits = {"beats": min(28, params.beat_address_bits - 1), "runs": 28, "epochs": 32}[count]
    for bit in range(bits):
        sink.beats.clear()
        plan = make_plan(params.beat_bytes, 0, 1, stride=3) | {count: 1 + (1 << bit)}
        await send(dut, "plan", [plan])
        await ClockCycles(dut.clk, 12)
        length = min(1 << bit, window - 1) if count == "beats" else 0
        assert sink.beats[0] == {"beat": 0, "length": length}
        if count != "beats" or 1 << bit >= window:
            assert sink.beats[1]["beat"] == {"beats": window, "runs": 3, "epochs": 0}[count]
        await strobe(dut.clear, dut.clk)
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(counter=list(COUNTERS))
async def counts_down_over_every_bit(dut, counter):
    """It counts from a power of two, which borrows from all bits below, to the end."""
    await start(dut)
    dut.clear.value = 0
    sink = Sink(dut, "bursts")
    many = (1 << 28) - 1 if counter == "runs_left" else (1 << 32) - 1
    plan = {"runs_left": {"runs": many, "epochs": 2}, "epochs_left": {"runs": 1, "epochs": many}}
    params = params_in_simulator(ReadMasterParams)
    await send(dut, "plan", [make_plan(params.beat_bytes, 0, 1) | plan[counter]])
    await sink.wait_for(5)
    register = getattr(dut, counter)
    assert many - 9 <= int(register.value) <= many
    for bit in range(4, COUNTERS[counter]):
        register.value = have = 1 << bit
        before = len(sink.beats)
        while len(sink.beats) < before + 8:
            await RisingEdge(dut.clk)
            now = int(register.value)
            assert now in (have, have - 1)
            have = now
        assert have < 1 << bit
        assert dut.active.value
    if counter == "runs_left":  # and of the second epoch
        register.value = 6
        await sink.wait_for(len(sink.beats) + 9)
        assert many - 9 <= int(register.value) <= many
    register.value = 6
    before = len(sink.beats)
    await ClockCycles(dut.clk, 20)
    assert not dut.active.value
    # Those left, and what was on its way through the two steps behind.
    assert 6 <= len(sink.beats) - before <= 9


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_run_ends_at_every_bit(dut):
    """A preset puts the end two windows away, wherever that is, in two epochs."""
    params = params_in_simulator(ReadMasterParams)
    await start(dut)
    dut.clear.value = 0
    sink = Sink(dut, "bursts", stall=rarely)
    for bit in range(params.window_bits + 3, min(28, params.beat_address_bits - 1)):
        sink.beats.clear()
        plan = make_plan(params.beat_bytes, 0, 1 << bit, epochs=2)
        await send(dut, "plan", [plan])
        last = (1 << bit) - params.burst_beats
        for _ in range(2):
            while not any(burst["beat"] == 0 for burst in sink.beats):
                await RisingEdge(dut.clk)
            dut.window.value = (last >> params.window_bits) - 2
            sink.beats.clear()
            while not any(burst["beat"] == last for burst in sink.beats):
                await RisingEdge(dut.clk)
        await ClockCycles(dut.clk, 10)
        assert not dut.active.value
        assert sink.beats[-1] == {"beat": last, "length": params.burst_beats - 1}


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(zero=["beats", "runs", "epochs"])
async def reads_nothing_of_an_empty_plan(dut, zero):
    await start(dut)
    dut.clear.value = 0
    sink = Sink(dut, "bursts")
    plan = random_plan()
    await send(dut, "plan", [plan | {zero: 0}, plan | ALL | {zero: 0}, plan])
    await sink.wait_for(len(expected_bursts(plan)))
    assert sink.beats == expected_bursts(plan)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(after=range(12))
async def clear_ends_a_plan(dut, after):
    plan = random_plan()
    dut.bursts_ready.value = 0
    await start(dut)
    dut.clear.value = 0
    await send(dut, "plan", [random_plan()])
    for _ in range(after):
        dut.bursts_ready.value = often()
        await RisingEdge(dut.clk)
    dut.clear.value = 1
    await RisingEdge(dut.clk)
    dut.plan_valid.value = 1  # not taken now
    await RisingEdge(dut.clk)
    assert not dut.plan_ready.value
    dut.plan_valid.value = 0
    dut.clear.value = 0
    await RisingEdge(dut.clk)
    assert not dut.active.value
    sink = Sink(dut, "bursts")
    await send(dut, "plan", [plan])
    await sink.wait_for(len(expected_bursts(plan)))
    assert sink.beats == expected_bursts(plan)
