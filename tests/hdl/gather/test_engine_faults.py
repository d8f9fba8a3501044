"""Lets things go wrong while an engine gathers: each is told, harms nothing else, and passes."""

import random
from dataclasses import replace

import cocotb
import numpy as np
from cocotb.triggers import Event

from hdl.gather.engine_params import Outcome
from hdl.gather.registers import IDENTITY
from sim.gather.golden.engine import carry_out
from sim.golden.pcie_requester import Cause
from sim.harness.records import Recorder
from sim.harness.streams import benched, crossed
from sim.surroundings.axi_ram import Fault
from tests.hdl.gather.completions import aborted, changed, longer, lost, poisoned, unsupported
from tests.hdl.gather.engine_bench import ROW, SIZES, TABLE_OF_ROWS, Bench, on_card

SOON = 20  #: cycles that are left of a time that is too long for a simulation

test_engine_faults = on_card(SIZES[:1], __name__)


async def reported(bench, request):
    """Submit a request; return its outcome, its rows that have failed, and the cause."""
    result = await bench.result(request)
    cause = Cause(int(result["cause"].value))
    return Outcome(int(result["outcome"].value)), result["failed"], cause


CAUSES = [
    (poisoned, {Cause.POISONED}),
    (unsupported, {Cause.UNSUPPORTED}),
    (aborted, {Cause.ABORTED}),
    (longer, {Cause.LENGTH, Cause.ADDRESS}),
    (lost, {Cause.TIMEOUT}),
]


@benched(Bench, (("change", "causes"), CAUSES), us=500)
async def one_completion_fails(bench, change, causes):
    """Its row is zero from there on and counted, the others are right; so are later requests."""
    request = bench.request(TABLE_OF_ROWS, [3, 9, 14, 9, 5])
    hit = 2 + 2 * random.randrange(5)  # first of a row: idxs come in one, rows in two
    hits = (hit, hit + 1) if change is lost else (hit,)
    completions = await changed(bench, lambda tlp, n: change(tlp) if n in hits else True)
    outcome, failed, cause = await reported(bench, request)
    assert (outcome, failed) == (Outcome.ROWS, 1)
    assert cause in causes
    result = await bench.device()
    expected = result.copy()
    carry_out(bench.card.host(), expected, request)
    wrong = (result != expected)[: 5 * ROW].reshape(5, ROW).any(axis=1)
    assert np.flatnonzero(wrong) == [(hit - 2) // 2]
    counters = await bench.card.counters()
    assert counters["rows_failed"] == 1
    assert counters["reads_failed"] + counters["reads_abandoned"] >= 1
    assert bool(counters["reads_abandoned"]) == (change is lost)
    completions.change = None
    for k in range(2):
        await bench.gather(bench.request(TABLE_OF_ROWS, [1, 2, 3, 60, 4], destination=4 * k))


@benched(Bench, change=[poisoned, unsupported, lost], us=500)
async def idxs_fail(bench, change):
    """All rows count as beyond the table then, even if row 0, read instead, fails as well."""
    completions = await changed(bench, lambda tlp, count: change(tlp) if count < 4 else True)
    request = bench.request(TABLE_OF_ROWS, [3, 9, 14])
    outcome, failed, cause = await reported(bench, request)
    assert (outcome, failed) == (Outcome.IDXS, 0)
    assert {cause} == dict(CAUSES)[change]
    assert not any(await bench.card.device(0, 3 * ROW))
    completions.change = None
    await bench.gather(request)


@benched(Bench, us=500)
async def completions_come_late(bench):
    """What comes when its read was given up is of no later row."""
    completions = await changed(bench)
    completions.keep(after=1)
    rows = min(bench.params.engine.tags - 1, 31)  # all tags but that of the idxs
    table = replace(TABLE_OF_ROWS, row_bytes=64)
    request = bench.request(table, list(range(rows)))
    assert await reported(bench, request) == (Outcome.ROWS, rows, Cause.TIMEOUT)
    assert await bench.registers.read("reads_owed")
    later = cocotb.start_soon(bench.gather(bench.request(table, [59, 58, 57, 56] * 8)))
    await completions.release()
    await later
    assert not await bench.registers.read("reads_owed")


@crossed(stalls=[False, True], ms=2)
async def stop_under_traffic(dut, stalls):
    """The host is told of all requests; the engine is as before, whenever it is stopped."""
    bench = await Bench(dut, stalls).begin()
    card, halved = bench.card, 0
    for wait in random.sample(range(1000), 9) if stalls else [0, 60, 130, 200, 250, 299]:
        before, requested = await bench.device(), bench.many_rows(2)
        await bench.submit(*requested)
        await bench.wait(wait)
        await bench.registers.write(stop=1)
        for request in reversed(requested):
            result = await card.completed(request)
            assert (result["tag"], result["outcome"]) == (request.tag, Outcome.STOPPED)
        while await bench.registers.read("stopping"):
            pass
        halved += await bench.ended_early(before, requested[:1])
        await bench.gather(*bench.many_rows(2))
    assert halved > 2
    assert (await card.counters())["work_requests"] == 4 * (9 if stalls else 6)
    await bench.registers.write(stop=1)  # nothing
    assert not await bench.registers.read("stopping")
    await bench.gather(*bench.many_rows(1))


@benched(Bench)
async def the_function_is_reset_under_traffic(bench):
    """Nothing is written to the host any more; all requests are forgotten, new ones as always."""
    card, forgotten = bench.card, 0
    for wait in [0, 80, 200, random.randrange(300), random.randrange(1500)]:
        before, requested = await bench.device(), bench.many_rows(2)
        await bench.submit(*requested)
        await bench.wait(wait)
        host, interrupts = card.host(), card.interrupts
        await bench.reset()
        gone = not np.array_equal(host, card.host())  # a completion that was on its way
        assert card.interrupts - interrupts <= gone
        assert await bench.registers.read("was_reset")
        assert not await bench.registers.read("busy")
        forgotten += len(requested)
        await bench.ended_early(before, requested)
        bench.dut.function_master.value = 1
        await bench.gather(*bench.many_rows(2))
        assert not await bench.registers.read("was_reset")
    result = await card.counters()
    assert forgotten - 2 <= result["work_forgotten"] <= forgotten
    assert result["work_requests"] + result["work_forgotten"] == 4 * 5


@benched(Bench, resets=[False, True])
async def nothing_is_sent_by_what_is_no_master(bench, resets):
    """After a reset, or when the host lets the function send no more, until it lets it again."""
    card = bench.card
    for wait in [200, random.randrange(1500)]:
        await bench.submit(*bench.many_rows(2))
        await bench.wait(wait)
        bench.dut.function_master.value = 0
        if resets:
            await bench.reset()
        await bench.wait(1500)
        assert not await bench.registers.read("busy")
        assert await bench.registers.read("was_reset")
        before = await card.counters()
        await bench.submit(*bench.many_rows(1))
        sent = [Recorder(bench.dut, name, {}) for name in ("rq_tvalid", "msix_send")]
        await bench.wait(500)
        assert not any(item.beats for item in sent)
        after = await card.counters()
        assert after["reads"] == before["reads"]
        assert after["work_forgotten"] == before["work_forgotten"] + 1
        bench.dut.function_master.value = 1
        await bench.gather(*bench.many_rows(2))
        assert not await bench.registers.read("was_reset")


@cocotb.test(timeout_time=1000, timeout_unit="us")
async def stop_where_nothing_answers(dut):
    """Neither host nor device memory answers: both are given up, and later all is well again."""
    bench = await Bench(dut).begin(fail_write=1, fault=Fault.MUTE.value)
    completions = await changed(bench)
    completions.keep(after=19)
    (request,) = bench.many_rows(1)
    assert await bench.stopped(request, 400) == Outcome.STOPPED
    await completions.release()
    bench.set(fail_write=0, fault=0)
    await bench.registers.revive()
    await bench.gather(*bench.many_rows(2))


@benched(Bench, us=500)
async def accesses_without_end(bench):
    """While rows are gathered, registers are read and written back to back, rightly."""
    card, busy = bench.card, Event()

    async def storm():
        number = 0
        while not busy.is_set():
            number += 1
            await bench.registers.write(base_low=number)
            assert await bench.registers.read("base_low") == number
            assert await bench.registers.read("identity") == IDENTITY
        return number

    (request,), expected = bench.many_rows(1), await bench.device()
    await bench.submit(request)
    task = cocotb.start_soon(storm())
    result = await card.completed(request)
    busy.set()
    assert await task > 2
    assert carry_out(card.host(), expected, request).outcome == result["outcome"].value
    assert np.array_equal(await bench.device(), expected)
    counters = await card.counters()
    assert not counters["accesses_refused"] + counters["accesses_malformed"]


@benched(Bench, us=500)
async def more_than_the_queue_holds(bench):
    """What is refused is not carried out, and what waits is, in its order."""
    card, expected = bench.card, await bench.device()
    await bench.registers.write(most_reads=1)
    room = bench.params.engine.requests + 1
    requested = [bench.drawn(64, 40, offset=40 * k, completion=k) for k in range(room + 1)]
    refused = []
    for request in requested:
        await bench.submit(request)
        refused.append(await bench.registers.read("refused"))
    assert refused == [0] * room + [1]
    for request in requested[:-1]:
        result = await card.completed(request)
        assert carry_out(card.host(), expected, request).outcome == result["outcome"].value
    assert np.array_equal(await bench.device(), expected)
    await bench.gather(requested[-1])


@benched(Bench, us=500)
async def a_block_that_sends_no_interrupt(bench):
    """Requests go on, and the host is told; when an interrupt comes late, the rest follows."""
    card = bench.card
    card.sends_interrupts = False
    await bench.gather(*bench.many_rows(1))
    assert not await bench.registers.read("interrupts_silent")
    bench.dut.engine.interrupts.patience.value = SOON
    for request in bench.many_rows(2):
        assert await bench.outcome(request) == Outcome.DONE
    assert await bench.registers.read("interrupts_silent")
    assert card.interrupts == 1
    card.sends_interrupts = True
    await bench.wait(50)
    assert card.interrupts == 2  # one for all that have ended meanwhile
    assert not await bench.registers.read("interrupts_silent")
    assert (await card.counters())["interrupts_late"] == 1
