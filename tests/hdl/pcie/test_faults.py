"""Tests faults of each kind on each channel of a card, with good traffic on all channels.

The tests of a part check what the part does with a fault. Here a card has all parts, on a block and
a root complex that others wrote. Each fault must be reported with its cause and counted, must not
disturb any other traffic, and must be over when the next requests come.
"""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpType
from cocotbext.pcie.core.utils import PcieId

from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.requester import RequesterParams
from hdl.pcie.write_fence import NUMBERS
from sim.golden.pcie_requester import Cause
from sim.harness.payloads import unpack
from sim.harness.streams import crossed, cycle
from sim.harness.verilator import simulate
from tests.hdl.pcie.card_on_model import MEMORY
from tests.hdl.pcie.parts_bench import ACCESSES, LONG, ODD, Bench, Parts

OUTLIVES_RESET = "the host, and what it has been asked for, are outside"

READS, SIZE = 240, 512
ANSWER = 1000  #: cycles to a register's answer at most, after up to three writes


def test_faults():
    simulate(Parts(RequesterParams(reads=ReadRequesterParams(tags=64))), __name__)


@cocotb.test(timeout_time=300, timeout_unit="us")
async def reads_and_registers_at_once(dut):
    """All registers and reads are right; reads lose 2 % of their rate at most to registers."""
    bench, answers, goes_on, took = Bench(dut), [], [True], []
    await bench.begin()
    for storms in (False, True):
        task = cocotb.start_soon(storm(bench, answers, goes_on)) if storms else None
        begin = cycle()
        for _ in range(READS):
            bench.read(bench.card.base + SIZE * random.randrange(MEMORY // SIZE), SIZE)
        assert await bench.card.finish() == bench.causes
        took.append(cycle() - begin)
        if task:
            goes_on.clear()
            await task
    await bench.finish()
    dut._log.info("cycles: %s, answers: %d, of %d at most", took, len(answers), max(answers))
    assert len(answers) >= 5
    assert max(answers) <= ANSWER
    assert took[1] <= 1.02 * took[0]


async def storm(bench, answers, goes_on):
    """Write random words of four or eight bytes to registers; read every second one back."""
    number = 0
    while goes_on:
        number += 1
        size = random.choice([4, 8])
        start = size * random.randrange(ODD // size)
        payload = random.randbytes(size)
        bench.content[start : start + size] = payload
        await bench.window.write(start, payload)
        if number % 2 == 0:
            begin = cycle()
            assert await bench.window.read(start, size) == payload
            answers.append(cycle() - begin)


# RC: completions of the host.


def without_data(tlp, status):
    """Return a completion with this status and without data."""
    bad = Tlp(tlp)
    bad.fmt_type, bad.status, bad.length, bad.data = TlpType.CPL, status, 0, bytearray()
    return bad


def changed(tlp, **fields):
    bad = Tlp(tlp)
    for name, value in fields.items():
        setattr(bad, name, value)
    return bad


#: by name: changes to a read's only completion, the read's cause, strangers that are counted
COMPLETIONS: dict[str, tuple[Callable[[Any], list], Cause, int]] = {
    "poisoned": (lambda tlp: [changed(tlp, ep=True)], Cause.POISONED, 0),
    "unsupported": (lambda tlp: [without_data(tlp, CplStatus.UR)], Cause.UNSUPPORTED, 0),
    "aborted": (lambda tlp: [without_data(tlp, CplStatus.CA)], Cause.ABORTED, 0),
    "a retry, which memory knows not": (
        lambda tlp: [without_data(tlp, CplStatus.CRS)],
        Cause.UNSUPPORTED,
        0,
    ),
    "no data": (lambda tlp: [without_data(tlp, CplStatus.SC)], Cause.LENGTH, 0),
    "another place": (
        lambda tlp: [changed(tlp, lower_address=tlp.lower_address ^ 4)],
        Cause.ADDRESS,
        0,
    ),
    "twice": (lambda tlp: [tlp, Tlp(tlp)], Cause.NONE, 1),
    "three times": (lambda tlp: [tlp, Tlp(tlp), Tlp(tlp)], Cause.NONE, 2),
    "unexpected tag": (lambda tlp: [changed(tlp, tag=tlp.tag ^ 16), tlp], Cause.NONE, 1),
    "another class, not counted": (lambda tlp: [changed(tlp, tc=1), tlp], Cause.MISMATCH, 0),
    "of another function": (
        lambda tlp: [changed(tlp, requester_id=PcieId(tlp.requester_id.bus, 0, 5)), tlp],
        Cause.NONE,
        0,
    ),
    "lost": (lambda _: [], Cause.TIMEOUT, 0),
    "late": (lambda _: [], Cause.TIMEOUT, 0),
}


@cocotb.test(timeout_time=300, timeout_unit="us")
async def completions_of_every_kind(dut):
    """Each kind of fault comes alone, on a read among others."""
    bench, stored = Bench(dut), []
    await bench.begin()
    for name, (spoil, cause, strangers) in COMPLETIONS.items():
        before = bench.events

        def keeps(tlp, spoil=spoil):
            stored.append(Tlp(tlp))
            return spoil(tlp)

        bench.spoil = keeps
        bench.read(bench.card.base, 700)
        bench.read(bench.odd, 60, cause)
        await bench.traffic(1)
        assert not bench.spoil, name
        if cause == Cause.TIMEOUT:
            await bench.ticks()
        await bench.finish()
        result = bench.events - before
        gone = cause == Cause.TIMEOUT
        assert result["stranger"] == strangers, name
        assert result["failed"] == (cause != Cause.NONE and not gone), name
        assert result["abandoned"] == gone, name
        assert dut.owes.value == gone, name
        if gone:  # the late completion is dropped, and its tag is free again
            await bench.send(stored[-1])
            await bench.traffic(1)
            await bench.finish()
            assert not dut.owes.value
            assert (bench.events - before)["stranger"] == 0


# CQ: requests of the host.


async def access(bench, requested):
    """Access a register as ``requested`` says; check the result."""
    at = ODD + LONG * ACCESSES.index(requested)
    if requested.writes:
        await bench.window.write(at, random.randbytes(requested.size))
    elif requested.counted:
        with pytest.raises(Exception, match="Unsuccessful completion"):
            await bench.window.read(at, requested.size)
    else:
        result = await bench.window.read(at, requested.size)
        assert (result[0], result[3]) == (bench.content[at], bench.content[at + 3])


def check_accesses(bench, before, requested):
    """Check that the accesses ``requested`` are counted right, and that no read has failed."""
    result, expected = bench.events - before, Counter(item.counted for item in requested)
    for name in ("unsupported", "malformed", "refused"):
        assert result[name] == expected[name], requested
    assert not result["stranger"] + result["failed"] + result["abandoned"]


@cocotb.test(timeout_time=300, timeout_unit="us")
async def requests_of_every_kind(dut):
    """Each kind of request comes alone, with good traffic at the same time and afterwards."""
    bench = await Bench(dut).begin()
    for requested in ACCESSES:
        before = bench.events
        beside = cocotb.start_soon(bench.traffic(1))
        await access(bench, requested)
        await beside
        await bench.finish()
        check_accesses(bench, before, [requested])


@crossed(waits=[0, 300], us=300)
async def requests_in_a_storm(dut, waits):
    """All kinds come in any order, among good ones, while the block pauses answers at times."""
    bench, requested = Bench(dut), 2 * ACCESSES
    await bench.begin()
    random.shuffle(requested)
    before, cc = bench.events, bench.card.model.device.cc_sink
    tasks = []
    for k, item in enumerate(requested):
        tasks.append(cocotb.start_soon(access(bench, item)))
        if k % 8 == 3:
            tasks.append(cocotb.start_soon(bench.traffic(2)))
        if waits and k % 8 == 7:
            cc.pause = not cc.pause
            await bench.cycles(waits)
    cc.pause = False
    for task in tasks:
        await task
    await bench.finish()
    check_accesses(bench, before, requested)


# CC and RQ: the block takes nothing, or reports nothing.


@cocotb.test(timeout_time=300, timeout_unit="us")
async def the_block_takes_no_answers(dut):
    """Reads and interrupts go on; when the block takes answers again, all of them come."""
    bench = await Bench(dut).begin()
    cc = bench.card.model.device.cc_sink
    cc.pause = True
    beside = [cocotb.start_soon(bench.traffic(3)) for _ in range(3)]
    await bench.cycles(1500)
    assert not any(task.done() for task in beside)
    assert await bench.card.finish() == bench.causes
    assert len(bench.block.sent) == len(bench.requested)
    cc.pause = False
    for task in beside:
        await task
    await bench.finish()


@cocotb.test(timeout_time=300, timeout_unit="us")
async def the_block_takes_no_requests(dut):
    """Registers and interrupts go on; when the block takes requests again, each is sent once."""
    bench = await Bench(dut).begin()
    rq = bench.card.model.device.rq_sink
    rq.pause = True
    await bench.traffic(6)
    await bench.cycles(600)
    assert not bench.card.beats.beats
    rq.pause = False
    await bench.finish()
    assert not bench.events["failed"] + bench.events["abandoned"]


@cocotb.test(timeout_time=300, timeout_unit="us")
async def the_host_has_no_room_for_reads(dut):
    """Without credits writes, registers and interrupts go on; with new credits the reads follow."""
    bench = await Bench(dut).begin()
    dut.credits.value = 0
    await bench.cycles(20)
    await bench.traffic(6)
    await bench.cycles(600)
    assert bench.card.sent == bench.card.written
    assert not bench.card.beats.beats
    dut.credits.value = 15
    await bench.finish()
    assert not bench.events["failed"] + bench.events["abandoned"]


class HeldNumbers:
    """Keeps back the numbers by which the block reports packets, until told to let them out."""

    def __init__(self, dut, device):
        self.dut, self.wires = dut, device.pcie_rq_seq_num0.numbers
        self.port, self.stored = self.wires.port, {}
        self.wires.port = self

    @property
    def value(self):
        return 0

    @value.setter
    def value(self, bits):
        self.stored[cycle()] = bits

    async def let_out(self):
        """Report all numbers that were kept, one per cycle; later ones are not kept any more."""
        while self.stored:
            bits = self.stored.pop(next(iter(self.stored)))
            if any(result["valid"] for result in unpack(NUMBERS, bits)):
                self.port.value = bits
                await RisingEdge(self.dut.clk)
        self.port.value = 0
        self.wires.port = self.port

    def forget(self):
        self.wires.port = self.port


@crossed(missing=[False, True], us=300)
async def the_block_reports_no_numbers(dut, missing):
    """No write counts as visible without its number; if none comes, a reset clears the writes."""
    bench = await Bench(dut).begin()
    card = bench.card
    numbers = HeldNumbers(dut, card.model.device)
    await bench.traffic(6)
    assert await card.finish() == bench.causes
    await bench.cycles(600)
    assert card.sent == card.written
    assert not card.visible
    assert dut.writes_owe.value
    if missing:
        numbers.forget()
        dut.stop.value = 1
        await bench.cycles(20)
        assert dut.idle.value
        dut.clear_writes.value = 1
        await bench.cycles(20)
        dut.clear_writes.value = dut.stop.value = 0
    else:
        await numbers.let_out()
    await bench.traffic()
    await bench.finish()
    assert len(card.visible) == (2 if missing else 4)


# MSI-X: the block fails, does not answer, or may not send.


@cocotb.test(timeout_time=300, timeout_unit="us")
@cocotb.parametrize(
    (
        ("failing", "delay", "enable"),
        [
            (1, 3, 1),  # a vector whose entry in the table is not set
            (0, 400, 1),  # one that the host has masked: the block sends it later
            (0, 3, 0),  # the host has switched interrupts off
        ],
    )
)
async def the_block_sends_no_interrupts(dut, failing, delay, enable):
    """All other traffic goes on; when the block sends again, each interrupt comes once."""
    bench = await Bench(dut).begin()
    block = bench.block
    block.failing, block.delays = failing, (delay, delay)
    bench.block.dut.enable.value = enable
    await bench.cycles(2)
    await bench.traffic(6)
    assert await bench.card.finish() == bench.causes
    assert len(block.sent) < len(bench.requested)
    assert bool(block.failures) == bool(failing)
    block.failing, block.delays = 0, (0, 5)
    bench.block.dut.enable.value = 1
    await bench.traffic(1)
    await bench.finish()
