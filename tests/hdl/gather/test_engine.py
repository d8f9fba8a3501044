"""Runs the whole engine: work requests of a host that others wrote, device memory byte by byte."""

import random
from dataclasses import replace
from types import SimpleNamespace

import cocotb

from hdl.gather.engine_counters import COUNTED
from hdl.gather.engine_params import Outcome
from hdl.gather.params import ReadOrder
from sim.gather.golden.rows import Table
from sim.golden.pcie_link import bytes_of_share
from sim.harness.clock import cycle
from sim.harness.streams import benched, crossed
from sim.surroundings.axi_ram import Fault
from tests.hdl.gather import draw
from tests.hdl.gather.draw import DEVICE_BYTES, TABLE
from tests.hdl.gather.engine_bench import QUIET, SIZES, Bench, on_card

test_gather_engine = on_card(SIZES, __name__)


@benched(Bench, order=list(ReadOrder), stalls=[False, True], us=500)
async def every_byte_of_rows(bench, order):
    """Sizes are near those of dwords, sectors, lines, beats, reads; both kinds of idxs occur."""
    for size in [1, 3, 60, 64, 133, 1028, random.randrange(1, 1200), *draw.borders()]:
        table = draw.table(size)
        idxs = draw.idxs(table, draw.count(size))
        idx_bytes, idx_bits = random.choice([4, 8]), bench.params.engine.idx_bits
        if idx_bits < 8 * idx_bytes and size < draw.LARGE:  # in the table but for upper bits
            idxs.append(idxs[0] + (1 << random.randrange(idx_bits, 8 * idx_bytes)))
        request = bench.request(
            table,
            idxs,
            idx_bytes=idx_bytes,
            offset=random.randrange(100),
            order=order.value,
            destination=draw.place(size * len(idxs)),
            tag=random.randrange(1 << 16),
        )
        await bench.gather(request)


@crossed(read_size=[0, 2], idx_bytes=[4, 8], us=500)
async def many_idxs(dut, read_size, idx_bytes):
    """More idxs than are read ahead begin anywhere in a chunk, at each size of reads."""
    bench = await Bench(dut).begin(read_size)
    offset = random.randrange(200)
    await bench.gather(bench.drawn(8, 600, idx_bytes=idx_bytes, offset=offset))


@benched(Bench, us=500)
async def requests_that_wait(bench):
    """As many wait as the queue holds beside the one that runs; one more is refused."""
    built = [bench.drawn(256, 16, offset=20 * k, completion=k, tag=k) for k in range(2)]
    await bench.gather(*built)
    await bench.gather(replace(built[0], count=0))
    registers = bench.registers
    await registers.write(most_reads=1)
    await bench.card.submit(bench.drawn(256, 100, completion=3))
    taken = 1
    while not await registers.read("refused"):
        await registers.write(submit=1)
        taken += 1
    assert await registers.read("queue_full")
    assert taken - 1 == bench.params.engine.requests + 1
    while await registers.read("busy") or await registers.read("queue_full"):
        await bench.wait(100)


@benched(Bench, us=800)
async def what_is_illegal_is_refused(bench):
    """Each fault comes alone, beside its nearest legal neighbour; then a size of rows among others.

    All other bits of these last requests are random, so that each bit goes the way to where it is
    judged, from registers and from a ring.
    """
    table = Table(base=TABLE, rows=30, row_bytes=60, stride=64)
    good = bench.request(table, draw.idxs(table, 5), idx_bytes=8, offset=3)
    requests = [
        good,
        replace(good, destination=DEVICE_BYTES - 5 * 60),
        replace(good, idx_address=good.idx_address + 4),
        replace(good, idx_address=good.idx_address + 2, idx_bytes=4),
        replace(good, destination=DEVICE_BYTES - 5 * 60 + 1),
        replace(good, destination=1 << 60),
        replace(good, order=3),
        replace(good, table=replace(table, rows=0)),
        replace(good, table=replace(table, row_bytes=0)),
        replace(good, table=replace(table, row_bytes=65537)),
        replace(good, idx_address=DEVICE_BYTES - 32, on_card=True),
        replace(good, idx_address=1 << 60, on_card=True),
    ]
    for request in requests:
        await bench.gather(request)
    for ring in [None, None, *[await bench.ring(4)] * 2]:
        base, idxs, rows = (4 * random.getrandbits(61) for _ in range(3))
        odd = Table(base=base, rows=random.getrandbits(32), row_bytes=0, stride=base % 4096)
        some = replace(good, table=odd, count=random.getrandbits(32), destination=rows)
        await bench.gather(replace(some, idx_address=idxs), ring=ring)
        await bench.gather(good, ring=ring)


@benched(Bench, us=500)
async def a_place_of_completion_that_is_none(bench):
    """The lowest bits are not looked at to say so."""
    request = bench.drawn(64, 2, tag=77)
    await bench.card.submit(replace(request, completion_address=request.completion_address + 4))
    result = await bench.card.completed(request)
    assert (result["tag"], result["outcome"]) == (77, Outcome.ILLEGAL)


@benched(Bench, us=500)
async def an_interrupt_waits_for_its_completion(bench):
    """While the block does not tell the number of the completion's write, none may overtake it."""
    bench.card.model.numbers.port = SimpleNamespace()  # that the engine does not hear
    before = bench.card.interrupts
    await bench.result(bench.drawn(64, 2))
    await bench.wait(QUIET)
    assert bench.card.interrupts == before


@benched(Bench, us=500)
async def counters_say_what_was_done(bench):
    """They count two requests, and the golden model says what."""
    table = Table(base=TABLE + 512, rows=40, row_bytes=512, stride=512)
    built = [bench.request(table, [3, 40, 7], completion=k, destination=4096 * k) for k in range(2)]
    await bench.gather(*built)
    result = await bench.card.counters()
    expected = {
        "work_requests": 2,
        "rows": 6,
        "rows_beyond": 2,
        "rows_failed": 0,
        "reads": 8,
        "read_bytes": 2 * (12 + 3 * 512),
        "write_beats": 2 * 3 * 512 // bench.params.engine.beat_bytes,
        "write_errors": 0,
        "strangers": 0,
        "reads_failed": 0,
        "accesses_refused": 0,
        "completions": 2 * (1 + 3 * 2),
    }
    assert {name: result[name] for name in expected} == expected
    assert result["under_way"] <= result["cycles"] * 8
    await bench.registers.write(clear_counters=1)
    assert (await bench.card.counters())["rows"] == 0
    # Completions of small rows wait behind those of idxs, and then share beats.
    table = Table(base=TABLE, rows=60, row_bytes=4, stride=4)
    await bench.gather(bench.request(table, [k % 60 for k in range(600)]))
    result = await bench.card.counters()
    assert (result["reads"], result["completions"]) == (5 + 600, 10 + 600)


@benched(Bench, us=500)
async def where_the_host_has_no_memory(bench):
    """Rows and idxs that are not there are zero and counted; the request says why, others not."""
    card = bench.card
    table = Table(base=TABLE, rows=(1 << bench.params.engine.idx_bits) - 1, row_bytes=64, stride=64)
    request = bench.request(table, [5, table.rows - 1, 6], destination=64)
    result = await bench.result(request)
    assert (result["outcome"], result["beyond"], result["failed"]) == (Outcome.ROWS, 0, 1)
    rows = [card.memory.mem[TABLE + 64 * idx :][:64] for idx in (5, 6)]
    assert await card.device(64, 192) == bytes(rows[0]) + bytes(64) + bytes(rows[1])
    result = await bench.result(replace(request, idx_address=1 << 40))
    assert (result["outcome"], result["beyond"], result["failed"]) == (Outcome.IDXS, 3, 0)
    assert await card.device(64, 192) == bytes(192)
    assert (await card.counters())["reads_failed"] == 2
    await bench.gather(bench.drawn(64, 9))


@cocotb.test(timeout_time=500, timeout_unit="us")
async def where_device_memory_fails(dut):
    """A refused burst is told; without an answer the bus is broken until it is revived."""
    bench = await Bench(dut).begin(fail_write=1, fail_write_beat=3, fail_response=2)
    registers = bench.registers
    request = bench.drawn(64, 20, destination=0)
    assert await bench.outcome(request) == Outcome.WRITE
    bench.set(fault=Fault.MUTE.value)
    await registers.write(memory_timeout=2000)
    assert await bench.outcome(request) == Outcome.WRITE
    assert await registers.read("device_silent")
    assert await bench.outcome(request) == Outcome.WRITE
    bench.set(fail_write=0, fault=0)
    await registers.revive()
    assert not await registers.read("device_broken")
    await bench.gather(request)


@benched(Bench, us=500)
async def reads_are_limited(bench):
    """With two under way there are never more, and every byte is right."""
    request, cycles = bench.drawn(256, 60), []
    for most in (2, 16):
        await bench.registers.write(most_reads=most, clear_counters=1)
        await bench.gather(request)
        result = await bench.card.counters()
        assert result["under_way"] <= most * result["cycles"]
        cycles.append(result["cycles"])
    assert 2 * cycles[0] > 3 * cycles[1]


@benched(Bench, share=[20, 45], us=500)
async def reads_keep_to_a_share(bench, share):
    """In the middle of a request its data keeps the share, within 2 percent and a read."""
    card, beat_bytes = bench.card, bench.params.engine.beat_bytes
    table = draw.table(256)
    count = int(bytes_of_share(share, 5000, beat_bytes)) // 256
    request = bench.request(table, random.choices(range(table.rows), k=count))
    number = list(COUNTED).index("read_bytes")
    await bench.registers.write(share=share, engine_counter=number)
    await card.submit(request)
    seen = []
    for _ in range(2):
        await bench.wait(500 + 3500 * len(seen))
        seen.append((cycle(), await bench.registers.read("engine_count")))
    (begin, before), (end, after) = seen
    had, allowed = after - before, bytes_of_share(share, end - begin, beat_bytes)
    bench.dut._log.info("%.4f of what the share allows", had / allowed)
    assert abs(had - allowed) < 0.02 * allowed + 256
    assert (await card.completed(request))["outcome"] == Outcome.DONE
