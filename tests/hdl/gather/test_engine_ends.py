"""Tests idxs in device memory, and rows for a consumer on the card that takes them at will."""

import random
from dataclasses import replace

import cocotb
import numpy as np

from hdl.gather.engine_params import Outcome
from sim.gather.golden.engine import rows_of
from sim.harness.streams import benched, crossed, never, often
from sim.surroundings.axi_ram import Fault
from tests.hdl.gather import draw
from tests.hdl.gather.engine_bench import CARD, SIZES, Bench, Consumer, on_card

TIMEOUT = 1000  #: cycles

test_engine_ends = on_card(SIZES[:1], __name__)


@benched(Bench, stall=[never, often], us=500)
async def rows_for_a_consumer(bench, stall):
    """Rows have sizes near those of beats and reads, and each begins with a beat."""
    consumer, beats = Consumer(bench, stall), 0
    before = await bench.device()
    for size in [1, 3, 31, 32, 36, 64, 517, random.randrange(1, 1200), *draw.borders()]:
        table = draw.table(size)
        count = draw.count(size)
        beats += 2 * count * -(-size // bench.params.engine.beat_bytes)
        some = {"streamed": True, "order": random.randrange(3), "destination": 2}
        await consumer.gather(
            bench.request(table, draw.idxs(table, count), **some),
            bench.request(table, draw.idxs(table, count), offset=100, completion=1, **some),
        )
    assert np.array_equal(await bench.device(), before)
    await bench.gather(bench.drawn(4096, 1))
    assert (await bench.card.counters())["stream_beats"] == beats


@cocotb.test(timeout_time=500, timeout_unit="us")
async def a_consumer_that_takes_nothing(dut):
    """It is given up and told; what waits stays, and once it is taken all is as before."""
    bench, waits = await Bench(dut).begin(), [True]
    consumer = Consumer(bench, lambda: waits[0])
    await bench.registers.write(memory_timeout=TIMEOUT)
    request = bench.drawn(100, 12, streamed=True)
    for again in range(2):
        assert await bench.outcome(request) == Outcome.WRITE, again
        assert await bench.registers.read("stream_silent")
    await bench.gather(bench.drawn(100, 12))
    waits[0] = False
    await bench.wait(20)
    (cut,) = consumer.rows()
    assert cut[1]
    assert len(cut[0]) < 100
    await consumer.gather(bench.drawn(100, 12, streamed=True))
    assert not await bench.registers.read("stream_silent")


@benched(Bench, us=500)
async def stop_within_a_row(bench):
    """The row that has begun ends, and says that it is none; the others are whole."""
    consumer, card = Consumer(bench, often), bench.card
    cuts = 0
    for wait in [0, 50, 100, 150, 200, 250, 400, 600, 800]:
        request = bench.drawn(900, 200, streamed=True, destination=0)
        assert await bench.stopped(request, wait + random.randrange(50)) == Outcome.STOPPED
        await bench.wait(10)
        result = consumer.rows()
        expected = rows_of(card.host(), card.host(), request)
        if result and result[-1] != expected[len(result) - 1]:
            cuts += 1
            part, cut = result.pop()
            assert cut
            assert expected[len(result)][0].startswith(part)
        assert result == expected[: len(result)]
        assert len(result) < 200
        await consumer.gather(bench.drawn(900, 3, streamed=True))
    assert cuts


@crossed(idx_bytes=[4, 8], stall=[0, 128], us=500)
async def idxs_on_the_card(dut, idx_bytes, stall):
    """They begin anywhere in a beat, more than are read ahead, in turn with the host's."""
    bench = await Bench(dut).begin(ar_stall=stall, r_stall=stall, read_latency=stall)
    for count in [1, 7, random.randrange(2, 60), 400]:
        table = draw.table(8)
        far = [random.getrandbits(8 * idx_bytes) for _ in range(count // 8)]  # beyond any table
        idxs = draw.idxs(table, count - len(far)) + far
        place = CARD + idx_bytes * random.randrange(200)
        to = 4 * random.randrange(100)
        on_card = {"place": place, "idx_bytes": idx_bytes, "destination": to}
        await bench.gather(
            await bench.on_card(table, idxs, **on_card),
            bench.request(table, draw.idxs(table, 3), destination=4096, completion=1),
        )


@benched(Bench, fault=[Fault.ERROR, Fault.MUTE], us=500)
async def idxs_that_device_memory_does_not_give(bench, fault):
    """Their rows are in no table, and the request says why; later ones are as always."""
    await bench.registers.write(memory_timeout=TIMEOUT)
    requested = await bench.on_card(draw.table(64), [3, 4, 5, 6] * 8)
    beat = CARD // bench.params.engine.beat_bytes + 1
    bench.set(fail_read=1, fail_read_beat=beat, fault=fault.value, fail_response=2)
    result = await bench.result(requested)
    assert result["outcome"] == Outcome.IDXS
    assert result["beyond"] >= 8
    bench.set(fail_read=0)
    await bench.registers.revive()
    await bench.gather(requested)


@cocotb.test(timeout_time=500, timeout_unit="us")
async def stop_while_idxs_come_from_the_card(dut):
    """What device memory still gives is of no later request."""
    bench = await Bench(dut).begin(read_latency=300)
    requested = await bench.on_card(draw.table(64), [3, 4, 5, 6] * 100)
    for wait in [0, 100, 200, 300]:
        assert await bench.stopped(requested, wait) == Outcome.STOPPED
        await bench.gather(replace(requested, count=20))
