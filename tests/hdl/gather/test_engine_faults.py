"""Lets things go wrong while an engine gathers: each is told, harms nothing else, and passes."""

import random
from dataclasses import replace

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ClockCycles, Event

from hdl.gather.engine_params import Outcome
from hdl.gather.registers import IDENTITY
from sim.gather.golden.engine import carry_out
from sim.golden.pcie_requester import Cause
from sim.harness.records import Recorder
from sim.harness.streams import crossed
from sim.surroundings.axi_ram import Fault
from tests.hdl.gather.engine_bench import (
    DEVICE_BYTES,
    ROW,
    SIZES,
    TABLE_OF_ROWS,
    TIMEOUT,
    Bench,
    Completions,
    aborted,
    ended_early,
    lost,
    many_rows,
    poisoned,
    reset,
    run_tests,
    some_idxs,
    some_table,
    unsupported,
)

SOON = 20  #: cycles that are left of a time that is too long for a simulation


@pytest.mark.parametrize("params", SIZES[:1], ids=lambda params: params.suffix)
def test_engine_faults(params, tmp_path):
    run_tests(params, __name__, tmp_path)


def longer(tlp):
    tlp.byte_count += 64
    return True


async def reported(bench, request):
    """Submit a request; return its outcome, its rows that have failed, and the cause."""
    await bench.card.submit(request)
    result = await bench.card.completed(request)
    return (
        Outcome(int(result["outcome"].value)),
        result["failed"],
        Cause(int(result["cause"].value)),
    )


@cocotb.test(timeout_time=500, timeout_unit="us")
@cocotb.parametrize(
    (
        ("change", "causes"),
        [
            (poisoned, {Cause.POISONED}),
            (unsupported, {Cause.UNSUPPORTED}),
            (aborted, {Cause.ABORTED}),
            (longer, {Cause.LENGTH, Cause.ADDRESS}),
            (lost, {Cause.TIMEOUT}),
        ],
    )
)
async def one_completion_fails(dut, change, causes):
    """Its row is zero from there on and counted, the others are right; so are later requests."""
    bench = await Bench(dut).begin()
    card, completions = bench.card, Completions(bench)
    await card.registers.write(memory_timeout=TIMEOUT)
    request = bench.request(TABLE_OF_ROWS, [3, 9, 14, 9, 5])
    hit = 2 + 2 * random.randrange(5)  # first of a row: idxs come in one, rows in two
    hits = (hit, hit + 1) if change is lost else (hit,)
    completions.change = lambda tlp, count: change(tlp) if count in hits else True
    outcome, failed, cause = await reported(bench, request)
    assert (outcome, failed) == (Outcome.ROWS, 1)
    assert cause in causes
    expected = np.zeros(DEVICE_BYTES, np.uint8)
    carry_out(card.host(), expected, request)
    rows = np.frombuffer(await card.device(0, 5 * ROW), np.uint8).reshape(5, ROW)
    right = (rows == expected[: 5 * ROW].reshape(5, ROW)).all(axis=1)
    assert [k for k in range(5) if not right[k]] == [(hit - 2) // 2]
    counters = await card.counters()
    assert counters["rows_failed"] == 1
    assert counters["reads_failed"] + counters["reads_abandoned"] >= 1
    assert bool(counters["reads_abandoned"]) == (change is lost)
    completions.change = None
    for k in range(2):
        await bench.gather(bench.request(TABLE_OF_ROWS, [1, 2, 3, 60, 4], destination=4 * k))


@crossed(change=[poisoned, unsupported, lost], us=500)
async def idxs_fail(dut, change):
    """All rows count as beyond the table then, even if row 0, read instead, fails as well."""
    bench = await Bench(dut).begin()
    card, completions = bench.card, Completions(bench)
    await card.registers.write(memory_timeout=TIMEOUT)
    completions.change = lambda tlp, count: change(tlp) if count < 4 else True
    request = bench.request(TABLE_OF_ROWS, [3, 9, 14])
    outcome, failed, cause = await reported(bench, request)
    assert (outcome, failed) == (Outcome.IDXS, 0)
    assert cause is {poisoned: Cause.POISONED, unsupported: Cause.UNSUPPORTED}.get(
        change, Cause.TIMEOUT
    )
    assert not any(await card.device(0, 3 * ROW))
    completions.change = None
    await bench.gather(request)


@cocotb.test(timeout_time=500, timeout_unit="us")
async def completions_come_late(dut):
    """What comes when its read was given up is of no later row."""
    bench = await Bench(dut).begin()
    card, completions = bench.card, Completions(bench)
    await card.registers.write(memory_timeout=TIMEOUT)
    stored = []
    completions.change = lambda tlp, count: count == 1 or bool(stored.append(tlp))
    tags = bench.params.engine.tags
    rows = min(tags - 1, 31)  # all tags but that of the idxs
    table = replace(TABLE_OF_ROWS, row_bytes=64)
    request = bench.request(table, list(range(rows)))
    assert await reported(bench, request) == (Outcome.ROWS, rows, Cause.TIMEOUT)
    assert await card.registers.read("reads_owed")
    completions.change = None
    later = cocotb.start_soon(bench.gather(bench.request(table, [59, 58, 57, 56] * 8)))
    for tlp in stored:
        await completions.device.upstream_recv(tlp)
        await ClockCycles(dut.clk, 5)
    await later
    assert not await card.registers.read("reads_owed")


@crossed(stalls=[False, True], ms=2)
async def stop_under_traffic(dut, stalls):
    """The host is told of all requests; the engine is as before, whenever it is stopped."""
    bench = Bench(dut)
    card, stall = bench.card, 128 * stalls
    await bench.begin(aw_stall=stall, w_stall=stall, b_stall=stall, write_latency=100 * stalls)
    halved = 0
    for wait in random.sample(range(1000), 9) if stalls else [0, 60, 130, 200, 250, 299]:
        before = np.frombuffer(await card.device(0, DEVICE_BYTES), np.uint8)
        requested = many_rows(bench, 2)
        for request in requested:
            await card.submit(request)
        await ClockCycles(dut.clk, wait)
        await card.registers.write(stop=1)
        for request in reversed(requested):
            result = await card.completed(request)
            assert (result["tag"], result["outcome"]) == (request.tag, Outcome.STOPPED)
        while await card.registers.read("stopping"):
            pass
        halved += await ended_early(bench, before, requested[:1])
        await bench.gather(*many_rows(bench, 2))
    assert halved > 2
    assert (await card.counters())["work_requests"] == 4 * (9 if stalls else 6)
    await card.registers.write(stop=1)  # nothing
    assert not await card.registers.read("stopping")
    await bench.gather(*many_rows(bench, 1))


@cocotb.test(timeout_time=1000, timeout_unit="us")
async def the_function_is_reset_under_traffic(dut):
    """Nothing is written to the host any more; all requests are forgotten, new ones as always."""
    bench = await Bench(dut).begin()
    card = bench.card
    forgotten = 0
    for wait in [0, 80, 200, random.randrange(300), random.randrange(1500)]:
        before = np.frombuffer(await card.device(0, DEVICE_BYTES), np.uint8)
        requested = many_rows(bench, 2)
        for request in requested:
            await card.submit(request)
        await ClockCycles(dut.clk, wait)
        host, interrupts = card.host(), card.interrupts
        await reset(dut)
        gone = not np.array_equal(host, card.host())  # a completion that was on its way
        assert card.interrupts - interrupts <= gone
        assert await card.registers.read("was_reset")
        assert not await card.registers.read("busy")
        forgotten += len(requested)
        await ended_early(bench, before, requested)
        dut.function_master.value = 1
        await bench.gather(*many_rows(bench, 2))
        assert not await card.registers.read("was_reset")
    result = await card.counters()
    assert forgotten - 2 <= result["work_forgotten"] <= forgotten
    assert result["work_requests"] + result["work_forgotten"] == 4 * 5


@crossed(resets=[False, True])
async def nothing_is_sent_by_what_is_no_master(dut, resets):
    """After a reset, or when the host lets the function send no more, until it lets it again."""
    bench = await Bench(dut).begin()
    card = bench.card
    for wait in [200, random.randrange(1500)]:
        for request in many_rows(bench, 2):
            await card.submit(request)
        await ClockCycles(dut.clk, wait)
        dut.function_master.value = 0
        if resets:
            await reset(dut)
        await ClockCycles(dut.clk, 1500)
        assert not await card.registers.read("busy")
        assert await card.registers.read("was_reset")
        (late,) = many_rows(bench, 1)
        before = await card.counters()
        await card.submit(late)
        sent = [Recorder(dut, name, {}) for name in ("rq_tvalid", "msix_send")]
        await ClockCycles(dut.clk, 500)
        assert not any(item.beats for item in sent)
        after = await card.counters()
        assert after["reads"] == before["reads"]
        assert after["work_forgotten"] == before["work_forgotten"] + 1
        dut.function_master.value = 1
        await bench.gather(*many_rows(bench, 2))
        assert not await card.registers.read("was_reset")


@cocotb.test(timeout_time=1000, timeout_unit="us")
async def stop_where_nothing_answers(dut):
    """Neither host nor device memory answers: both are given up, and later all is well again."""
    bench = await Bench(dut).begin(fail_write=1, fault=Fault.MUTE.value)
    card, completions = bench.card, Completions(bench)
    await card.registers.write(memory_timeout=TIMEOUT)
    stored = []
    completions.change = lambda tlp, count: count < 20 or bool(stored.append(tlp))
    (request,) = many_rows(bench, 1)
    await card.submit(request)
    await ClockCycles(dut.clk, 400)
    await card.registers.write(stop=1)
    assert (await card.completed(request))["outcome"] == Outcome.STOPPED
    completions.change = None
    for tlp in stored:
        await completions.device.upstream_recv(tlp)
    bench.set(fail_write=0, fault=0)
    await card.registers.revive()
    await bench.gather(*many_rows(bench, 2))


@cocotb.test(timeout_time=500, timeout_unit="us")
async def accesses_without_end(dut):
    """While rows are gathered, registers are read and written back to back, rightly."""
    bench = await Bench(dut).begin()
    card = bench.card
    busy = Event()

    async def storm():
        number = 0
        while not busy.is_set():
            number += 1
            await card.registers.write(base_low=number)
            assert await card.registers.read("base_low") == number
            assert await card.registers.read("identity") == IDENTITY
        return number

    requests = many_rows(bench, 1)
    before = np.frombuffer(await card.device(0, DEVICE_BYTES), np.uint8)
    expected = before.copy()
    await card.submit(requests[0])
    task = cocotb.start_soon(storm())
    result = await card.completed(requests[0])
    busy.set()
    assert await task > 2
    assert carry_out(card.host(), expected, requests[0]).outcome == result["outcome"].value
    assert await card.device(0, DEVICE_BYTES) == expected.tobytes()
    counters = await card.counters()
    assert not counters["accesses_refused"] + counters["accesses_malformed"]


@cocotb.test(timeout_time=500, timeout_unit="us")
async def more_than_the_queue_holds(dut):
    """What is refused is not carried out, and what waits is, in its order."""
    bench = await Bench(dut).begin()
    card = bench.card
    expected = np.frombuffer(await card.device(0, DEVICE_BYTES), np.uint8).copy()
    table = some_table(64)
    await card.registers.write(most_reads=1)
    room = bench.params.engine.requests + 1
    requested = [
        bench.request(table, some_idxs(table, 40), offset=40 * k, completion=k, destination=4 * k)
        for k in range(room + 1)
    ]
    refused = []
    for request in requested:
        await card.submit(request)
        refused.append(await card.registers.read("refused"))
    assert refused == [0] * room + [1]
    for request in requested[:-1]:
        result = await card.completed(request)
        assert carry_out(card.host(), expected, request).outcome == result["outcome"].value
    assert await card.device(0, DEVICE_BYTES) == expected.tobytes()
    await bench.gather(requested[-1])


@cocotb.test(timeout_time=500, timeout_unit="us")
async def a_block_that_sends_no_interrupt(dut):
    """Requests go on, and the host is told; when an interrupt comes late, the rest follows."""
    bench = await Bench(dut).begin()
    card = bench.card
    card.sends_interrupts = False
    await bench.gather(*many_rows(bench, 1))
    assert not await card.registers.read("interrupts_silent")
    dut.engine.interrupts.patience.value = SOON
    for request in many_rows(bench, 2):
        await card.submit(request)
        assert (await card.completed(request))["outcome"] == Outcome.DONE
    assert await card.registers.read("interrupts_silent")
    assert card.interrupts == 1
    card.sends_interrupts = True
    await ClockCycles(dut.clk, 50)
    assert card.interrupts == 2  # one for all that have ended meanwhile
    assert not await card.registers.read("interrupts_silent")
    assert (await card.counters())["interrupts_late"] == 1
