"""Tests idxs in device memory, and rows for a consumer on the card that takes them at will."""

import random
from dataclasses import replace

import cocotb
import pytest
from cocotb.triggers import ClockCycles

from hdl.gather.engine_params import Outcome
from sim.gather.golden.engine import rows_of
from sim.harness.streams import crossed, never, often
from sim.surroundings.axi_ram import Fault
from tests.hdl.gather.engine_bench import (
    CARD,
    DEVICE_BYTES,
    SIZES,
    Bench,
    Consumer,
    borders,
    destination,
    put,
    run_tests,
    some_count,
    some_idxs,
    some_table,
)

TIMEOUT = 1000  #: cycles


@pytest.mark.parametrize("params", SIZES[:1], ids=lambda params: params.suffix)
def test_engine_ends(params, tmp_path):
    run_tests(params, __name__, tmp_path)


@crossed(stall=[never, often], us=500)
async def rows_for_a_consumer(dut, stall):
    """Rows have sizes near those of beats and reads, and each begins with a beat."""
    bench = Bench(dut)
    consumer, beats = Consumer(bench, stall), 0
    await bench.begin()
    before = await bench.card.device(0, DEVICE_BYTES)
    for size in [1, 3, 31, 32, 36, 64, 517, random.randrange(1, 1200), *borders()]:
        table = some_table(size)
        count = some_count(size)
        beats += 2 * count * -(-size // bench.params.engine.beat_bytes)
        some = {"streamed": True, "order": random.randrange(3), "destination": 2}
        await consumer.gather(
            bench.request(table, some_idxs(table, count), **some),
            bench.request(table, some_idxs(table, count), offset=100, completion=1, **some),
        )
    assert await bench.card.device(0, DEVICE_BYTES) == before
    await bench.gather(bench.request(table, [0], destination=destination(4096)))
    assert (await bench.card.counters())["stream_beats"] == beats


@cocotb.test(timeout_time=500, timeout_unit="us")
async def a_consumer_that_takes_nothing(dut):
    """It is given up and told; what waits stays, and once it is taken all is as before."""
    bench, waits = Bench(dut), [True]
    consumer, card = Consumer(bench, lambda: waits[0]), bench.card
    await bench.begin()
    await card.registers.write(memory_timeout=TIMEOUT)
    table = some_table(100)
    request = bench.request(table, some_idxs(table, 12), streamed=True)
    for again in range(2):
        await card.submit(request)
        assert (await card.completed(request))["outcome"] == Outcome.WRITE, again
        assert await card.registers.read("stream_silent")
    await bench.gather(bench.request(table, some_idxs(table, 12), destination=4))
    waits[0] = False
    await ClockCycles(dut.clk, 20)
    (cut,) = consumer.rows()
    assert cut[1]
    assert len(cut[0]) < 100
    await consumer.gather(bench.request(table, some_idxs(table, 12), streamed=True))
    assert not await card.registers.read("stream_silent")


@cocotb.test(timeout_time=500, timeout_unit="us")
async def stop_within_a_row(dut):
    """The row that has begun ends, and says that it is none; the others are whole."""
    bench = Bench(dut)
    consumer, card = Consumer(bench, often), bench.card
    await bench.begin()
    table = some_table(900)
    cuts = 0
    for wait in [0, 50, 100, 150, 200, 250, 400, 600, 800]:
        request = bench.request(table, some_idxs(table, 200), streamed=True)
        await card.submit(request)
        await ClockCycles(dut.clk, wait + random.randrange(50))
        await card.registers.write(stop=1)
        assert (await card.completed(request))["outcome"] == Outcome.STOPPED
        await ClockCycles(dut.clk, 10)
        result = consumer.rows()
        expected = rows_of(card.host(), card.host(), request)
        if result and result[-1] != expected[len(result) - 1]:
            cuts += 1
            part, cut = result.pop()
            assert cut
            assert expected[len(result)][0].startswith(part)
        assert result == expected[: len(result)]
        assert len(result) < 200
        await consumer.gather(bench.request(table, some_idxs(table, 3), streamed=True))
    assert cuts


@crossed(idx_bytes=[4, 8], stall=[0, 128], us=500)
async def idxs_on_the_card(dut, idx_bytes, stall):
    """They begin anywhere in a beat, more than are read ahead, in turn with the host's."""
    bench = await Bench(dut).begin(ar_stall=stall, r_stall=stall, read_latency=stall)
    for count in [1, 7, random.randrange(2, 60), 400]:
        table = some_table(8)
        far = [random.getrandbits(8 * idx_bytes) for _ in range(count // 8)]  # beyond any table
        idxs = some_idxs(table, count - len(far)) + far
        place = CARD + idx_bytes * random.randrange(200)
        await put(bench, idxs, place, idx_bytes)
        await bench.gather(
            replace(
                bench.request(table, [0]),
                idx_address=place,
                count=count,
                idx_bytes=idx_bytes,
                on_card=True,
                destination=4 * random.randrange(100),
            ),
            bench.request(table, some_idxs(table, 3), destination=4096, completion=1),
        )


@crossed(fault=[Fault.ERROR, Fault.MUTE], us=500)
async def idxs_that_device_memory_does_not_give(dut, fault):
    """Their rows are in no table, and the request says why; later ones are as always."""
    bench = await Bench(dut).begin()
    card = bench.card
    await card.registers.write(memory_timeout=TIMEOUT)
    table = some_table(64)
    await put(bench, [3, 4, 5, 6] * 8, CARD, 4)
    requested = replace(bench.request(table, [0]), idx_address=CARD, count=32, on_card=True)
    beat = CARD // bench.params.engine.beat_bytes + 1
    bench.set(fail_read=1, fail_read_beat=beat, fault=fault.value, fail_response=2)
    await card.submit(requested)
    result = await card.completed(requested)
    assert result["outcome"] == Outcome.IDXS
    assert result["beyond"] >= 8
    bench.set(fail_read=0)
    await card.registers.revive()
    await bench.gather(requested)


@cocotb.test(timeout_time=500, timeout_unit="us")
async def stop_while_idxs_come_from_the_card(dut):
    """What device memory still gives is of no later request."""
    bench = await Bench(dut).begin(read_latency=300)
    card = bench.card
    table = some_table(64)
    await put(bench, [3, 4, 5, 6] * 100, CARD, 4)
    requested = replace(bench.request(table, [0]), idx_address=CARD, count=400, on_card=True)
    for wait in [0, 100, 200, 300]:
        await card.submit(requested)
        await ClockCycles(dut.clk, wait)
        await card.registers.write(stop=1)
        assert (await card.completed(requested))["outcome"] == Outcome.STOPPED
        await bench.gather(replace(requested, count=20))
