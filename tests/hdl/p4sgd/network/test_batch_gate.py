import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.network.batch_gate import COUNT_BITS, BatchGate
from sim.harness.streams import start
from tests.hdl.p4sgd.bench import generator, micro_batches, pulse, put
from tests.simulated import simulated

QUIET = {"start": 0, "vanilla": 0, "seen": 0, "delivered": 0}

test_batch_gate = simulated(
    BatchGate,
    [EngineParams()],
    __name__,
    registers=["gathering", "complete", "in_batch", "in_epoch"],
)


def some_run(rng, **sizes):
    """Draw lengths, often with an incomplete last mini-batch, and which micro-batches are last."""
    lengths = {
        "batch_micro_batches": int(rng.integers(1, 6)),
        "epoch_micro_batches": int(rng.integers(1, 14)),
    } | sizes
    run = lengths | {"tail_samples": 1, "epochs": int(rng.integers(1, 4, endpoint=True))}
    return lengths, [mark["last"] for mark in micro_batches(run, 1)]


def allowed_after(lasts, seen):
    """Return how many may be delivered: all of mini-batches that were seen to their ends."""
    return max((j + 1 for j in range(seen) if lasts[j]), default=0)


async def go(dut, lengths, lasts, vanilla, see, take):
    """Run with random arrivals, watched in every cycle."""
    edge = RisingEdge(dut.clk)
    put(dut, lengths=lengths, vanilla=vanilla)
    await pulse(dut, "start")
    seen = delivered = 0
    while delivered < len(lasts):
        may = not vanilla or delivered < allowed_after(lasts, seen)
        sees = seen < len(lasts) and random.random() < see
        takes = may and delivered < seen and random.random() < take
        put(dut, seen=sees, delivered=takes)
        await edge
        assert bool(dut.allowed.value) == may, (seen, delivered)
        seen += sees
        delivered += takes
    put(dut, seen=0, delivered=0)
    await edge
    assert bool(dut.allowed.value) != vanilla


RATES = [(1, 1), (1, 0.2), (0.3, 1), (0.5, 0.5)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(rates=RATES, vanilla=[True, False])
async def holds_until_the_last_is_seen(dut, rates, vanilla):
    """Runs of any size follow each other."""
    rng = generator()
    put(dut, **QUIET)
    await start(dut)
    for _ in range(25):
        lengths, lasts = some_run(rng)
        await go(dut, lengths, lasts, vanilla, *rates)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(epoch=[1, 3, 4, 7, 8, 9])
async def the_end_of_an_epoch_ends_a_mini_batch(dut, epoch):
    """There are four micro-batches a mini-batch; the next epoch begins with a whole one."""
    rng = generator()
    lengths, lasts = some_run(rng, batch_micro_batches=4, epoch_micro_batches=epoch)
    put(dut, **QUIET)
    await start(dut)
    for rates in RATES:
        await go(dut, lengths, lasts, True, *rates)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def runs_with_and_without_take_turns(dut):
    """Nothing of a run is left for the next, even of one that was broken off."""
    rng = generator()
    put(dut, **QUIET)
    await start(dut)
    for turn in range(20):
        lengths, lasts = some_run(rng)
        await go(dut, lengths, lasts, turn % 2, 0.6, 0.6)
        put(dut, lengths=lengths, vanilla=1)
        await pulse(dut, "start")
        put(dut, seen=1)
        for _ in range(rng.integers(0, len(lasts))):
            await RisingEdge(dut.clk)
        put(dut, seen=0)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_over_every_bit(dut):
    """Presets are of what a mini-batch has gathered and of what may be delivered."""
    rng = generator()
    put(dut, **QUIET, lengths={"batch_micro_batches": 1, "epoch_micro_batches": (1 << 32) - 1})
    await start(dut)
    put(dut, vanilla=1)
    await pulse(dut, "start")
    for _ in range(400):
        gathering, complete = (int(rng.integers(2 << rng.integers(1, COUNT_BITS))) for _ in "gc")
        seen, delivered, ends = (int(rng.integers(2)) for _ in "sde")
        put(
            dut,
            lengths={"batch_micro_batches": 1 if ends else 7, "epoch_micro_batches": 1 << 31},
            seen=seen,
            delivered=delivered,
        )
        # The next one is a mini-batch's first, which is its last where it has but one.
        dut.gathering.value, dut.complete.value = gathering, complete
        dut.mini_batches.in_batch.value = 0
        await RisingEdge(dut.clk)
        put(dut, seen=0, delivered=0)
        await RisingEdge(dut.clk)
        whole = seen and ends
        assert int(dut.gathering.value) == (0 if whole else gathering + seen)
        now = complete - delivered + (gathering + 1 if whole else 0)
        assert int(dut.complete.value) == now % (1 << COUNT_BITS)
        assert bool(dut.allowed.value) == (now != 0)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def counts_a_mini_batch_of_many(dut):
    """It counts all of the largest that a job of 4096 slots can hold."""
    lengths, lasts = some_run(generator(), batch_micro_batches=4096, epoch_micro_batches=5000)
    put(dut, **QUIET, lengths=lengths)
    await start(dut)
    put(dut, vanilla=1)
    await pulse(dut, "start")
    shown = []
    put(dut, seen=1)
    for _ in range(len(lasts) + 1):
        await RisingEdge(dut.clk)
        shown.append(bool(dut.allowed.value))
    assert shown == [j >= 4096 for j in range(len(lasts) + 1)]
    put(dut, seen=0, delivered=1)
    for _ in range(len(lasts)):
        await RisingEdge(dut.clk)
        assert dut.allowed.value
    put(dut, delivered=0)
    await RisingEdge(dut.clk)
    assert not dut.allowed.value


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(counter=["in_batch", "in_epoch"])
async def a_mini_batch_of_any_size_is_complete(dut, counter):
    """The preset is before its end, by either length."""
    rng = generator()
    put(dut, **QUIET)
    await start(dut)
    for _ in range(100):
        batch, epoch = (int(rng.integers(8, 1 << bits)) for bits in (16, 32))
        put(dut, lengths={"batch_micro_batches": batch, "epoch_micro_batches": epoch}, vanilla=1)
        await pulse(dut, "start")
        before = {"in_batch": batch, "in_epoch": epoch}[counter] - int(rng.integers(2, 5))
        getattr(dut.mini_batches, counter).value = before
        await RisingEdge(dut.clk)
        put(dut, seen=1)
        await ClockCycles(dut.clk, 4)
        put(dut, seen=0)
        await RisingEdge(dut.clk)
        assert dut.allowed.value


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def waits_for_a_mini_batch_of_any_size(dut):
    """One ends far beyond what is simulated, with any bits set in its limits."""
    rng = generator()
    put(dut, **QUIET)
    await start(dut)
    for _ in range(30):
        lengths = {
            "batch_micro_batches": int(rng.integers(1 << 16)) | 16,
            "epoch_micro_batches": int(rng.integers(1 << 32)) | 16,
        }
        put(dut, lengths=lengths, vanilla=1)
        await pulse(dut, "start")
        put(dut, seen=1)
        for _ in range(10):
            await RisingEdge(dut.clk)
            assert not dut.allowed.value
        put(dut, seen=0)
