"""Tests work requests by a ring: results as by registers, order, faults, stops and resets."""

import random
from dataclasses import replace

import numpy as np
from cocotb.triggers import RisingEdge

from hdl.common.rings import Fault
from hdl.gather.engine_params import COMPLETION_BYTES, Outcome
from sim.gather.golden.ring import pack
from sim.golden.pcie_requester import Cause
from sim.harness.streams import benched
from tests.hdl.gather import draw
from tests.hdl.gather.completions import Completions, aborted, changed, lost, poisoned, unsupported
from tests.hdl.gather.engine_bench import RING, SIZES, Bench, on_card

test_engine_ring = on_card(SIZES, __name__)


def some_requests(bench, count):
    """Draw short requests of any kind for rows in device memory; their places do not overlap."""
    return [
        bench.drawn(
            4 * random.randrange(1, 40),
            random.randrange(1, 8),
            idx_bytes=random.choice([4, 8]),
            offset=20 * k,
            completion=k,
            order=random.randrange(3),
            coalesce=random.choice([False, True]),
            tag=random.randrange(1 << 16),
        )
        for k in range(count)
    ]


async def submitted(bench, request):
    """Submit a request by registers; repeat this until the queue takes it."""
    await bench.submit(request)
    while await bench.registers.read("refused"):
        await bench.registers.write(submit=1)


@benched(Bench, places=[1, 4, 16])
async def every_byte_of_rows(bench, places):
    """All bytes are right over several rounds of the ring, with doorbells for one or more."""
    ring = await bench.ring(places)
    count = 0
    for _ in range(3 if places < 16 else 2):
        built = some_requests(bench, random.randrange(5, 12))
        await bench.gather(*built, ring=ring)
        count += len(built)
    assert await ring.read() == count
    result = await bench.card.counters()
    assert (result["descriptors"], result["work_requests"]) == (count, count)
    for name in ("descriptors_malformed", "descriptors_unread", "ring_faults"):
        assert not result[name]
    await ring.open()
    await bench.gather(*some_requests(bench, 3), ring=ring)


@benched(Bench)
async def in_both_directions_take_turns(bench):
    """Ring and registers keep their orders; neither waits for more than one of the other's."""
    card = bench.card
    table = draw.table(64)
    built = [bench.request(table, [k % table.rows], completion=k, tag=k) for k in range(16)]
    by_ring, by_registers = built[:12], built[12:14]
    await bench.registers.write(most_reads=1)
    await bench.submit(bench.request(draw.table(4), [0] * 400, completion=15, tag=15, offset=50))
    ring = await bench.ring(16)
    await ring.submit(*by_ring)
    for request in by_registers:
        await submitted(bench, request)
    ended = []
    while len(ended) < 14:
        await RisingEdge(bench.dut.clk)
        for request in built[:14]:
            place = request.completion_address
            if card.memory.mem[place + 15] >> 7 and request.tag not in ended:
                ended.append(request.tag)
    turns = [ended.index(request.tag) for request in by_registers]
    assert [tag for tag in ended if tag < 12] == list(range(12))
    assert turns == sorted(turns)
    assert turns[-1] <= 4, ended


@benched(Bench, us=500)
async def what_is_malformed_is_reported(bench):
    """A descriptor with a meaningless bit ends as ILLEGAL, as an illegal one; others do not."""
    card = bench.card
    ring = await bench.ring(8)
    first, bad, wrong, last = some_requests(bench, 4)
    wrong = replace(wrong, order=3)
    before = await bench.device()
    assert not card.base
    octets = bytearray(pack(bad))
    octets[random.choice([43, 46, 47, *range(50, 64)])] |= 0x80
    for request in (bad, wrong):
        place = request.completion_address
        card.memory.mem[place : place + COMPLETION_BYTES] = bytes(COMPLETION_BYTES)
    await ring.put(bytes(octets), pack(wrong))
    for request in (bad, wrong):
        result = await card.completed(request)
        assert (result["tag"], result["outcome"]) == (request.tag, Outcome.ILLEGAL)
    assert np.array_equal(await bench.device(), before)
    await bench.gather(first, last, ring=ring)
    result = await card.counters()
    assert (result["descriptors"], result["descriptors_malformed"]) == (4, 1)


CAUSES = [
    (poisoned, Cause.POISONED),
    (unsupported, Cause.UNSUPPORTED),
    (aborted, Cause.ABORTED),
    (lost, Cause.TIMEOUT),
]


@benched(Bench, (("change", "cause"), CAUSES))
async def a_descriptor_that_cannot_be_read(bench, change, cause):
    """The ring stops with the cause, and registers go on; once opened again, the ring works."""
    card, completions = bench.card, await changed(bench)
    ring = await bench.ring(4)
    await bench.gather(*some_requests(bench, 3), ring=ring)
    interrupts = card.interrupts
    completions.change = lambda tlp, count: change(tlp) if count == 1 else True
    await ring.submit(*some_requests(bench, 2))
    while not await bench.registers.read("request_ring_cause"):
        pass
    completions.change = None
    assert Cause(await bench.registers.read("request_ring_cause")) is cause
    assert await ring.read() == 3
    assert card.interrupts - interrupts == 1
    await bench.gather(*some_requests(bench, 2))
    result = await card.counters()
    assert (result["descriptors"], result["descriptors_unread"]) == (3, 1)
    assert result["work_requests"] == 5
    await ring.close()
    assert not await bench.registers.read("request_ring_cause")
    await ring.open()
    await bench.gather(*some_requests(bench, 5), ring=ring)


@benched(Bench, us=500)
async def a_descriptor_fails_while_rows_come(bench):
    """The request that is being carried out ends as DONE all the same."""
    ring = await bench.ring(2)
    await bench.registers.write_wide(request_ring_address=1 << 50)
    (request,) = bench.many_rows(1)
    await bench.submit(request)
    await bench.wait(100)
    await bench.registers.write(request_producer=1)
    result = await bench.card.completed(request)
    assert (result["outcome"], result["cause"].value) == (Outcome.DONE, Cause.NONE)
    assert await bench.registers.read("request_ring_cause") == Cause.UNSUPPORTED
    await ring.close()


@benched(Bench, fault=[Fault.OVERRUN, Fault.ADDRESS], us=500)
async def a_ring_that_cannot_be(bench, fault):
    """A doorbell too far or a misaligned ring is refused, causes an interrupt, and is counted."""
    card = bench.card
    ring = await bench.ring(4)
    await bench.gather(*some_requests(bench, 3), ring=ring)
    interrupts = card.interrupts
    if fault is Fault.OVERRUN:
        await bench.registers.write(request_producer=3 + 5)
    else:
        await ring.close()
        await bench.registers.write_wide(request_ring_address=card.base + RING + 64)
        await bench.registers.write(request_ring=1, request_producer=0)
    await bench.wait(50)
    assert Fault(await bench.registers.read("request_ring_fault")) is fault
    assert card.interrupts - interrupts == 1
    assert not await bench.registers.read("busy")
    await bench.gather(*some_requests(bench, 2))
    result = await card.counters()
    assert (result["ring_faults"], result["descriptors"]) == (1, 3)
    await ring.close()
    assert not await bench.registers.read("request_ring_fault")
    await ring.open()
    await bench.gather(*some_requests(bench, 5), ring=ring)


def more_like(request, count):
    """Return ``count`` requests like this one, with completions after the first eight places."""
    place = request.completion_address + 8 * COMPLETION_BYTES
    return [
        replace(request, completion_address=place + COMPLETION_BYTES * k, tag=100 + k)
        for k in range(count)
    ]


@benched(Bench, first=[True, False], ms=2)
async def stop_with_a_ring_that_is_full(bench, first):
    """A stop ends every request that was read with a completion, no other, and closes the ring.

    With ``first``, a request by registers comes before those of the ring.
    """
    card, reported, stopped = bench.card, 0, 0
    for wait in [0, 10, 20, 30, 60, 130, random.randrange(300), random.randrange(1000)]:
        ring = await bench.ring(8)
        before = await bench.device()
        (request,) = by_registers = bench.many_rows(1)
        by_ring = more_like(request, 6)
        if first:
            await submitted(bench, request)
        await ring.submit(*by_ring)
        await bench.wait(wait)
        await bench.registers.stop()
        read = await ring.read()
        outcomes = []
        for ended in [*by_registers[: int(first)], *by_ring[:read]]:
            result = await card.completed(ended)
            assert result["tag"] == ended.tag
            outcomes.append(Outcome(int(result["outcome"].value)))
        done = outcomes.count(Outcome.DONE)  # these ended before the stop
        assert outcomes == [Outcome.DONE] * done + [Outcome.STOPPED] * (len(outcomes) - done)
        stopped += len(outcomes) - done
        reported += len(outcomes)
        await bench.ended_early(before, [request])
        await bench.gather(*bench.many_rows(1))
        reported += 1
        assert not any(card.memory.mem[item.completion_address + 15] for item in by_ring[read:])
        assert not await bench.registers.read("request_ring_busy")
        assert await ring.read() == read
        await ring.close()
    assert (await card.counters())["work_requests"] == reported
    assert stopped > 4  # how many are under way depends on the rows that are drawn


@benched(Bench, runs=[True, False])
async def stop_where_no_descriptor_comes(bench, runs):
    """A stop gives an awaited descriptor up at once, even if rows that never come have all tags."""
    completions = Completions(bench)
    first, second = bench.many_rows(2)
    ring = await bench.ring(4)
    if runs:
        await bench.submit(first)
        await bench.wait(200)
    completions.keep()
    await ring.submit(second)
    await bench.wait(100)
    await bench.registers.write(stop=1)
    if runs:
        assert (await bench.card.completed(first))["outcome"] == Outcome.STOPPED
    while await bench.registers.read("stopping"):
        pass
    assert not await ring.read()
    assert not await bench.registers.read("request_ring_cause")
    await completions.release()
    await ring.open()
    await bench.gather(*bench.many_rows(2), ring=ring)
    assert not await bench.registers.read("reads_owed")


@benched(Bench, resets=[True, False], answers=[True, False], ms=2)
async def the_function_ends_while_descriptors_are_read(bench, resets, answers):
    """All requests are forgotten, and the ring is closed until the host opens it again."""
    card, completions = bench.card, Completions(bench)
    for wait in [0, 10, 20, 40, 80, random.randrange(100), random.randrange(1500)]:
        ring = await bench.ring(8)
        await bench.gather(*some_requests(bench, 2), ring=ring)
        completions.change = lambda tlp, count: answers
        await ring.submit(*bench.many_rows(3))
        await bench.wait(wait)
        if resets:
            await bench.reset()
        else:
            bench.dut.function_master.value = 0
            await bench.wait(1500)
        completions.change = None
        assert not await bench.registers.read("busy")
        assert not await bench.registers.read("request_ring_busy")
        assert not await bench.registers.read("request_ring_cause")
        assert await bench.registers.read("was_reset")
        before = await card.counters()
        bench.dut.function_master.value = 1
        await bench.wait(300)
        after = await card.counters()
        assert after["reads"] == before["reads"], "nothing is read of a ring that is closed"
        await bench.gather(*some_requests(bench, 2))
        await ring.close()
    assert not (await card.counters())["descriptors_unread"]
    ring = await bench.ring(8)
    await bench.gather(*some_requests(bench, 5), ring=ring)
