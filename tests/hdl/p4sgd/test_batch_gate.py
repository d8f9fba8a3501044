import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.p4sgd.batch_gate import COUNT_BITS, BatchGate
from hdl.p4sgd.params import EngineParams
from sim.streams import start
from sim.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import generator, micro_batches, pulse, put

SIZES = [EngineParams(), EngineParams(banks=2, lanes=128)]
QUIET = {"start": 0, "vanilla": 0, "seen": 0, "delivered": 0}


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_batch_gate(params):
    simulate(BatchGate(params), __name__, registers=["gathering", "complete", "in_batch"])


def some_run(rng, banks, **sizes):
    """Settings, often with an incomplete last mini-batch, and whether each micro-batch is last."""
    settings = {
        "batch_micro_batches": int(rng.integers(1, 6)),
        "epoch_micro_batches": int(rng.integers(1, 14)),
        "tail_samples": int(rng.integers(1, banks, endpoint=True)),
        "epochs": int(rng.integers(1, 4, endpoint=True)),
    } | sizes
    return settings, [mark["last"] for mark in micro_batches(settings, banks)]


def allowed_after(lasts, seen):
    """How many may be delivered: all of the mini-batches that were seen to their ends."""
    return max((j + 1 for j in range(seen) if lasts[j]), default=0)


async def go(dut, settings, lasts, vanilla, see, take):
    """A run with random arrivals, watched in every cycle."""
    edge = RisingEdge(dut.clk)
    put(dut, settings=settings, vanilla=vanilla)
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
    """Run after run, with any sizes."""
    rng = generator()
    put(dut, **QUIET)
    await start(dut)
    for _ in range(25):
        settings, lasts = some_run(rng, params_in_simulator(EngineParams).banks)
        await go(dut, settings, lasts, vanilla, *rates)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(epoch=[1, 3, 4, 7, 8, 9])
async def the_end_of_an_epoch_ends_a_mini_batch(dut, epoch):
    """With four micro-batches a mini-batch; the next epoch begins with a whole one."""
    rng = generator()
    sizes = {"batch_micro_batches": 4, "epoch_micro_batches": epoch, "epochs": 3}
    settings, lasts = some_run(rng, params_in_simulator(EngineParams).banks, **sizes)
    put(dut, **QUIET)
    await start(dut)
    for rates in RATES:
        await go(dut, settings, lasts, True, *rates)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def runs_with_and_without_take_turns(dut):
    """Nothing of a run is left for the next, even of one that was broken off."""
    rng = generator()
    banks = params_in_simulator(EngineParams).banks
    put(dut, **QUIET)
    await start(dut)
    for turn in range(20):
        settings, lasts = some_run(rng, banks)
        await go(dut, settings, lasts, turn % 2, 0.6, 0.6)
        put(dut, settings=settings, vanilla=1)
        await pulse(dut, "start")
        put(dut, seen=1)
        for _ in range(rng.integers(0, len(lasts))):
            await RisingEdge(dut.clk)
        put(dut, seen=0)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_over_every_bit(dut):
    """From presets: of what is gathered when a mini-batch ends, of what may be delivered."""
    edge = RisingEdge(dut.clk)
    batch = (1 << 16) - 1
    sizes = {"epoch_micro_batches": (1 << 32) - 1, "tail_samples": 1, "epochs": (1 << 32) - 1}
    put(dut, **QUIET, settings={"batch_micro_batches": batch} | sizes)
    await start(dut)
    put(dut, vanilla=1)
    await pulse(dut, "start")
    for bit in range(2, COUNT_BITS):
        for gathered in (1 << bit, (1 << bit) - 2):
            dut.gathering.value, dut.complete.value = gathered, 0
            dut.schedule.in_batch.value = batch - 3
            put(dut, seen=1)
            for _ in range(3):
                await edge
            put(dut, seen=0)
            await edge
            await edge
            assert int(dut.complete.value) == gathered + 3
            assert dut.allowed.value
            assert int(dut.gathering.value) == 0
            for seen in (0, 1):  # beside one that is seen, and alone
                before = int(dut.complete.value)
                put(dut, delivered=1, seen=seen)
                await edge
                put(dut, delivered=0, seen=0)
                await edge
                await edge
                assert int(dut.complete.value) == before - 1
            dut.complete.value = 1 << bit
            put(dut, delivered=1)
            await edge
            put(dut, delivered=0)
            await edge
            await edge
            assert int(dut.complete.value) == (1 << bit) - 1


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def counts_a_mini_batch_of_many(dut):
    """The whole of the largest that a job of 4096 slots can hold."""
    sizes = {"batch_micro_batches": 4096, "epoch_micro_batches": 5000, "epochs": 2}
    settings, lasts = some_run(generator(), params_in_simulator(EngineParams).banks, **sizes)
    put(dut, **QUIET, settings=settings)
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
async def waits_for_a_mini_batch_of_any_size(dut):
    """One that ends far behind what is simulated, and whose limits have any bits set."""
    params, rng = params_in_simulator(EngineParams), generator()
    put(dut, **QUIET)
    await start(dut)
    for _ in range(30):
        sizes = {
            "batch_micro_batches": int(rng.integers(1 << 16)) | 16,
            "epoch_micro_batches": int(rng.integers(1 << 32)) | 16,
            "epochs": int(rng.integers(1 << 32)) | 1,
            "chunks": int(rng.integers(1, params.chunks, endpoint=True)),
            "bits": int(rng.integers(1, params.max_bits, endpoint=True)),
        }
        put(dut, settings=sizes | {"tail_samples": 1}, vanilla=1)
        await pulse(dut, "start")
        put(dut, seen=1)
        for _ in range(10):
            await RisingEdge(dut.clk)
            assert not dut.allowed.value
        put(dut, seen=0)
