"""Tests rows that are posted to the host's bus: every packet, its order, faults, stops, resets."""

import random
from dataclasses import replace
from types import SimpleNamespace

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ClockCycles
from cocotbext.axi import MemoryRegion

from hdl.gather.engine_params import Outcome
from sim.gather.golden.engine import carry_out, written_until_stopped
from sim.gather.golden.rows import Table
from sim.harness.streams import crossed
from tests.hdl.gather.engine_bench import (
    COMPLETIONS,
    DEVICE_BYTES,
    POSTED,
    QUIET,
    ROW,
    SIZES,
    TABLE_OF_ROWS,
    TIMEOUT,
    Bench,
    Completions,
    Posts,
    aborted,
    borders,
    destination,
    lost,
    poisoned,
    reset,
    run_tests,
    some_count,
    some_idxs,
    some_table,
)

PEER = 3 << 40  #: address of another card's memory on the bus


@pytest.mark.parametrize("params", SIZES[:1], ids=lambda params: params.suffix)
def test_engine_posts(params, tmp_path):
    run_tests(params, __name__, tmp_path)


def place(size):
    """Draw any place in the host's memory for rows of ``size`` bytes in all."""
    return random.randrange(POSTED, COMPLETIONS - size + 1)


def some_request(bench, size, count, **others):
    """Draw a request of rows of one size for host memory, with idxs that are not in the table."""
    table = some_table(size, POSTED)
    idxs = some_idxs(table, count)
    to = {"posted": True, "destination": place(size * len(idxs))}
    return bench.request(table, idxs, **to | others)


async def trembling(bench):
    """Let the block's RQ take packets at random times."""
    sink = bench.card.model.device.rq_sink
    while True:
        sink.pause = not sink.pause
        await ClockCycles(bench.dut.clk, random.randrange(1, random.choice([30, 400])))


@crossed(payload=[0, 1, 2], stalls=[False, True], us=800)
async def every_byte_and_every_packet(dut, payload, stalls):
    """Rows of all sizes go to any byte, in packets of the host's largest payload, or 512 bytes."""
    bench = Bench(dut)
    posts = Posts(bench)
    await bench.begin()
    bench.card.dut.payload_limit.value = payload
    if stalls:
        cocotb.start_soon(trembling(bench))
    for size in [1, 3, 64, 133, random.randrange(1, 1200), *borders()]:
        count = some_count(size)
        some = {"order": random.randrange(3)}
        both = [
            some_request(bench, size, count, **some),
            some_request(bench, 5, 1, offset=60, completion=1, **some),
        ]
        await posts.gather(*both, most=128 << payload)
        await bench.gather(bench.request(some_table(size), [0], destination=destination(size)))


@cocotb.test(timeout_time=500, timeout_unit="us")
async def rows_for_a_peer(dut):
    """An address of 64 bits is that of another card's memory: the completion comes to the host."""
    bench = Bench(dut)
    peer = MemoryRegion(1 << 14)
    bench.card.model.root.mem_address_space.register_region(peer, PEER)
    await bench.begin()
    table = some_table(299, POSTED)
    request = bench.request(table, some_idxs(table, 30), posted=True)
    host = bench.card.host().copy()
    assert not carry_out(host, host, replace(request, destination=POSTED)).outcome
    await bench.card.submit(replace(request, destination=PEER + 5 - bench.card.base))
    assert (await bench.card.completed(request))["outcome"] == Outcome.DONE
    expected = host[POSTED : POSTED + 30 * 299].tobytes()
    assert bytes(peer.mem[:9000]) == bytes(5) + expected + bytes(25)


@cocotb.test(timeout_time=500, timeout_unit="us")
async def what_is_illegal_is_refused(dut):
    """Rows go to the stream or to the bus, not to both; the last byte of the bus is one of it."""
    bench = Bench(dut)
    posts = Posts(bench)
    await bench.begin()
    good = some_request(bench, 60, 5)
    await bench.card.submit(replace(good, streamed=True))
    assert (await bench.card.completed(good))["outcome"] == Outcome.ILLEGAL
    await bench.card.registers.write(clear_counters=1)
    await posts.gather(good)
    beats = -(-5 * 60 // bench.params.engine.beat_bytes)
    assert (await bench.card.counters())["posted_beats"] == beats
    assert (await bench.card.counters())["write_beats"] == 0


@cocotb.test(timeout_time=500, timeout_unit="us")
async def an_interrupt_waits_for_its_completion(dut):
    """That nothing can pass the rows any more says nothing of the completion behind them."""
    bench = await Bench(dut).begin()
    numbers = bench.card.model.numbers
    port, numbers.port = numbers.port, SimpleNamespace()  # so that the engine hears of none
    request = replace(some_request(bench, 4, 1), destination=POSTED)
    await bench.card.submit(request)
    await bench.card.completed(request)
    for number in (1, 2):  # of the row's packet, and of the completion's
        await ClockCycles(dut.clk, QUIET)
        assert not bench.card.interrupts
        port.value = 1 | number << 1
        await ClockCycles(dut.clk, 1)
        port.value = 0
    await ClockCycles(dut.clk, QUIET)
    assert bench.card.interrupts == 1


@crossed(change=[poisoned, aborted, lost], us=500)
async def one_completion_fails(dut, change):
    """Its row is zero in host memory from there on and counted, the others are right."""
    bench = Bench(dut)
    posts = Posts(bench)
    await bench.begin()
    card, completions = bench.card, Completions(bench)
    await card.registers.write(memory_timeout=TIMEOUT)
    table = replace(TABLE_OF_ROWS, rows=30)
    request = bench.request(table, [3, 9, 14, 9, 5], posted=True, destination=POSTED + 77)
    hit = 2 + 2 * random.randrange(5)
    completions.change = lambda tlp, count: change(tlp) if count in (hit, hit + 1) else True
    host = card.host().copy()
    await card.submit(request)
    result = await card.completed(request)
    assert (result["outcome"], result["failed"]) == (Outcome.ROWS, 1)
    carry_out(host, host, request)
    failed = POSTED + 77 + (hit - 2) // 2 * ROW
    host[failed : failed + ROW] = 0
    assert np.array_equal(card.host()[:COMPLETIONS], host[:COMPLETIONS])
    completions.change = None
    await posts.gather(request)


def many_rows(bench):
    """Return a request whose rows take long."""
    table = replace(TABLE_OF_ROWS, rows=30, row_bytes=160)
    idxs = [random.randrange(30) for _ in range(100)]
    return bench.request(table, idxs, posted=True, destination=place(16000))


@crossed(resets=[False, True], stalls=[False, True], ms=2)
async def ended_in_the_middle(dut, resets, stalls):
    """Host memory has the first rows up to a byte, whenever a stop or a reset comes."""
    bench = Bench(dut)
    posts, card = Posts(bench), bench.card
    await bench.begin()
    if stalls:
        cocotb.start_soon(trembling(bench))
    halved = 0
    for wait in [0, 30, 130, 250, 350, 500, 650, *random.sample(range(1, 800), 4)]:
        request = many_rows(bench)
        before = card.host().copy()
        whole = before.copy()
        carry_out(whole, whole, request)
        await card.submit(request)
        await ClockCycles(dut.clk, wait)
        if resets:
            await reset(dut)
            assert not await card.registers.read("busy")
            dut.function_master.value = 1
        else:
            await card.registers.write(stop=1)
            outcome = (await card.completed(request))["outcome"]
            assert outcome in (Outcome.STOPPED, Outcome.DONE)
        result = card.host()
        result, whole, before = (item[:COMPLETIONS] for item in (result, whole, before))
        assert written_until_stopped(before, whole, result)
        halved += not np.array_equal(result, whole) and not np.array_equal(result, before)
        await posts.gather(some_request(bench, 68, 9))
    assert halved > 1
    table = Table(base=1 << 13, rows=20, row_bytes=64, stride=64)
    device = bench.request(table, some_idxs(table, 9), destination=DEVICE_BYTES - 640)
    await bench.gather(device)
