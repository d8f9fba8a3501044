"""Tests rows that are posted to the host's bus: every packet, its order, faults, stops, resets."""

import random
from dataclasses import replace
from types import SimpleNamespace

import cocotb
import numpy as np
from cocotbext.axi import MemoryRegion

from hdl.gather.engine_params import Outcome
from sim.gather.golden.engine import carry_out, written_until_stopped
from sim.gather.golden.rows import Table
from sim.harness.streams import benched, crossed
from tests.hdl.gather import draw
from tests.hdl.gather.completions import aborted, changed, lost, poisoned
from tests.hdl.gather.draw import COMPLETIONS, DEVICE_BYTES
from tests.hdl.gather.engine_bench import QUIET, ROW, SIZES, TABLE_OF_ROWS, Bench, Posts, on_card

POSTED = 1 << 17  #: from here to the completions rows are posted into the host's memory
PEER = 3 << 40  #: address of another card's memory on the bus

test_engine_posts = on_card(SIZES[:1], __name__)


def place(size):
    """Draw any place in the host's memory for rows of ``size`` bytes in all."""
    return random.randrange(POSTED, COMPLETIONS - size + 1)


def some_request(bench, size, count, **others):
    """Draw a request of rows of one size for host memory, with idxs that are not in the table."""
    table = draw.table(size, POSTED)
    to = {"posted": True, "destination": place(size * count)}
    return bench.request(table, draw.idxs(table, count), **to | others)


async def trembling(bench):
    """Let the block's RQ take packets at random times."""
    sink = bench.card.model.device.rq_sink
    while True:
        sink.pause = not sink.pause
        await bench.wait(random.randrange(1, random.choice([30, 400])))


@crossed(payload=[0, 1, 2], stalls=[False, True], us=800)
async def every_byte_and_every_packet(dut, payload, stalls):
    """Rows of all sizes go to any byte, in packets of the host's largest payload, or 512 bytes."""
    bench = await Bench(dut).begin()
    posts = Posts(bench)
    bench.card.dut.payload_limit.value = payload
    if stalls:
        cocotb.start_soon(trembling(bench))
    for size in [1, 3, 64, 133, random.randrange(1, 1200), *draw.borders()]:
        count = draw.count(size)
        some = {"order": random.randrange(3)}
        both = [
            some_request(bench, size, count, **some),
            some_request(bench, 5, 1, offset=60, completion=1, **some),
        ]
        await posts.gather(*both, most=128 << payload)
        await bench.gather(bench.drawn(size, 1))


@cocotb.test(timeout_time=500, timeout_unit="us")
async def rows_for_a_peer(dut):
    """An address of 64 bits is that of another card's memory: the completion comes to the host."""
    bench = Bench(dut)
    peer = MemoryRegion(1 << 14)
    bench.card.model.root.mem_address_space.register_region(peer, PEER)
    await bench.begin()
    request = some_request(bench, 299, 30, destination=PEER + 5 - bench.card.base)
    host = bench.card.host().copy()
    assert not carry_out(host, host, replace(request, destination=POSTED)).outcome
    assert await bench.outcome(request) == Outcome.DONE
    expected = host[POSTED : POSTED + 30 * 299].tobytes()
    assert bytes(peer.mem[:9000]) == bytes(5) + expected + bytes(25)


@benched(Bench, us=500)
async def what_is_illegal_is_refused(bench):
    """Rows go to the stream or to the bus, not to both; the last byte of the bus is one of it."""
    good = some_request(bench, 60, 5)
    assert await bench.outcome(replace(good, streamed=True)) == Outcome.ILLEGAL
    await bench.registers.write(clear_counters=1)
    await Posts(bench).gather(good)
    beats, result = -(-5 * 60 // bench.params.engine.beat_bytes), await bench.card.counters()
    assert (result["posted_beats"], result["write_beats"]) == (beats, 0)


@benched(Bench, us=500)
async def an_interrupt_waits_for_its_completion(bench):
    """That nothing can pass the rows any more says nothing of the completion behind them."""
    numbers = bench.card.model.numbers
    port, numbers.port = numbers.port, SimpleNamespace()  # so that the engine hears of none
    await bench.result(some_request(bench, 4, 1, destination=POSTED))
    for number in (1, 2):  # of the row's packet, and of the completion's
        await bench.wait(QUIET)
        assert not bench.card.interrupts
        port.value = 1 | number << 1
        await bench.wait(1)
        port.value = 0
    await bench.wait(QUIET)
    assert bench.card.interrupts == 1


@benched(Bench, change=[poisoned, aborted, lost], us=500)
async def one_completion_fails(bench, change):
    """Its row is zero in host memory from there on and counted, the others are right."""
    posts, card = Posts(bench), bench.card
    table = replace(TABLE_OF_ROWS, rows=30)
    request = bench.request(table, [3, 9, 14, 9, 5], posted=True, destination=POSTED + 77)
    hit = 2 + 2 * random.randrange(5)
    hits = (hit, hit + 1)
    completions = await changed(bench, lambda tlp, n: change(tlp) if n in hits else True)
    host = card.host().copy()
    result = await bench.result(request)
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
    bench = await Bench(dut).begin()
    posts, card = Posts(bench), bench.card
    if stalls:
        cocotb.start_soon(trembling(bench))
    halved = 0
    for wait in [0, 30, 130, 250, 350, 500, 650, *random.sample(range(1, 800), 4)]:
        request = many_rows(bench)
        before = card.host().copy()
        whole = before.copy()
        carry_out(whole, whole, request)
        if resets:
            await bench.submit(request)
            await bench.wait(wait)
            await bench.reset()
            assert not await bench.registers.read("busy")
            dut.function_master.value = 1
        else:
            assert await bench.stopped(request, wait) in (Outcome.STOPPED, Outcome.DONE)
        result, whole, before = (item[:COMPLETIONS] for item in (card.host(), whole, before))
        assert written_until_stopped(before, whole, result)
        halved += not np.array_equal(result, whole) and not np.array_equal(result, before)
        await posts.gather(some_request(bench, 68, 9))
    assert halved > 1
    table = Table(base=1 << 13, rows=20, row_bytes=64, stride=64)
    await bench.gather(bench.request(table, draw.idxs(table, 9), destination=DEVICE_BYTES - 640))
