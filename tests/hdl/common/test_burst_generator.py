import random
from itertools import chain, islice, pairwise, repeat

import cocotb

from hdl.common.burst_generator import BurstGenerator
from hdl.common.read_plan import COUNT_BITS, EPOCH_BITS, ReadMasterParams
from sim.harness.bench import Bench
from sim.harness.streams import always, crossed, cycle, never, often, rarely
from sim.harness.verilator import params_in_simulator
from tests.hdl.common.read_bench import make_plan
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


def bursts_of(plan):
    """Yield the plan's bursts: runs, cut at the ends of windows."""
    params = params_in_simulator(ReadMasterParams)
    window, room = params.burst_beats, 1 << params.beat_address_bits
    runs = range(plan["runs"]) if plan["beats"] else ()
    for run in chain.from_iterable(repeat(runs, plan["epochs"] if runs else 0)):
        first = plan["address"] // params.beat_bytes + run * plan["stride"]
        end = first + plan["beats"]
        while first < end:
            after = min(end, (first // window + 1) * window)
            yield {"beat": first % room, "length": after - first - 1}
            first = after


def draw(count):
    plans = [random_plan() for _ in range(count)]
    return plans, [burst for plan in plans for burst in bursts_of(plan)]


def pace(sent, left, latency):
    """A plan's bursts leave one after the other, and it ends with its last one."""
    firsts = [at + latency for at in sent]
    assert left[0] == firsts[0]
    assert set(left) >= set(firsts)
    breaks = [after for before, after in pairwise(left) if after != before + 1]
    assert set(breaks) <= set(firsts)


keeps_order, takes_its_latency, a_reset_empties_it = contracts(__name__, draw, pace=pace, count=30)


def plans_of_any_counts():
    """Return plans one of whose counts has any bits: it is above one by a power of two, or 0."""
    params = params_in_simulator(ReadMasterParams)
    plan = make_plan(params.beat_bytes, 0, 1, stride=3)
    bits = {"beats": min(28, params.beat_address_bits - 1), "runs": 28, "epochs": 32}
    plans = [plan | {count: 1 + (1 << bit)} for count, top in bits.items() for bit in range(top)]
    plans += [random_plan() | {zero: 0} for zero in bits]
    plans += [plan | ALL | {zero: 0} for zero in bits]
    plans += [plan | {"stride": 1 << k, "runs": 1 << 28} for k in range(29)]
    plans += [random_plan() for _ in range(50)]
    return random.sample(plans, len(plans))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def clear_ends_a_plan_of_any_counts(dut):
    """Its first bursts are right until then; the next plan is not taken before ``clear`` falls."""
    bench = await Bench(dut).begin()
    bench.bursts.let_go()  # what is cleared is withdrawn
    for plan in plans_of_any_counts():
        bench.bursts.stall = random.choice((never, never, often, always))
        bench.plan.append(plan)
        await bench.wait(random.choice((2, random.randrange(30), 30)))
        bench.set(clear=0)
        await bench.wait(random.choice((random.randrange(1, 12), 40)))
        result, expected = bench.bursts.beats, [*islice(bursts_of(plan), 80)]
        bench.set(clear=1)
        assert result == expected[: len(result)]
        if bench.bursts.stall is never and bench.plan.cycles:
            ran = cycle() - 1 - bench.plan.cycles[-1] - BurstGenerator.latency
            assert len(result) >= min(len(expected), ran)
        await bench.wait(2)
        assert not dut.active.value
        bench.forget()


@crossed(counter=list(COUNTERS))
async def counts_down_over_every_bit(dut, counter):
    """It counts from a power of two, which borrows from all bits below, to the end."""
    bench = await Bench(dut).begin()
    sink = bench.bursts
    many = (1 << 28) - 1 if counter == "runs_left" else (1 << 32) - 1
    plan = {"runs_left": {"runs": many, "epochs": 2}, "epochs_left": {"runs": 1, "epochs": many}}
    params = params_in_simulator(ReadMasterParams)
    bench.plan.append(make_plan(params.beat_bytes, 0, 1) | plan[counter])
    await sink.wait_for(5)
    register = getattr(dut, counter)
    assert many - 9 <= int(register.value) <= many
    for bit in range(4, COUNTERS[counter]):
        register.value = have = 1 << bit
        before = len(sink.beats)
        while len(sink.beats) < before + 8:
            await bench.wait()
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
    await bench.wait(20)
    assert not dut.active.value
    # Those left, and what was on its way through the two steps behind.
    assert 6 <= len(sink.beats) - before <= 9


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_run_ends_at_every_bit(dut):
    """A preset puts the end two windows away, wherever that is, in two epochs."""
    params = params_in_simulator(ReadMasterParams)
    bench = await Bench(dut, (never, rarely)).begin()
    sink = bench.bursts
    for bit in range(params.window_bits + 3, min(28, params.beat_address_bits - 1)):
        sink.beats.clear()
        plan = make_plan(params.beat_bytes, 0, 1 << bit, epochs=2)
        bench.plan.append(plan)
        last = (1 << bit) - params.burst_beats
        for _ in range(2):
            while not any(burst["beat"] == 0 for burst in sink.beats):
                await bench.wait()
            dut.window.value = (last >> params.window_bits) - 2
            sink.beats.clear()
            while not any(burst["beat"] == last for burst in sink.beats):
                await bench.wait()
        await bench.wait(10)
        assert not dut.active.value
        assert sink.beats[-1] == {"beat": last, "length": params.burst_beats - 1}
