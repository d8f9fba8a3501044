"""Runs a requester on a simulated host: what share of the link reads use, in either order."""

import random
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import cocotb
import pytest
from cocotb.triggers import ClockCycles

from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.requester import RequesterParams
from hdl.pcie.write_params import WriteRequesterParams
from sim.golden.pcie_link import completion_bytes
from sim.golden.pcie_requester import Cause
from sim.harness.records import Recorder, Reports
from sim.harness.streams import crossed, until
from sim.harness.verilator import simulate
from sim.surroundings.pcie.params import HOST_ARRAY, host_file
from tests.hdl.pcie.requester_on_host import Card, RequesterOnHost, RequesterOnHostParams

MEMORY = 1 << 18  #: bytes
IN_ORDER = ReadRequesterParams(user_bits=12)
SIZES = [
    RequesterOnHostParams(requester=RequesterParams(reads=reads))
    for reads in (IN_ORDER, replace(IN_ORDER, in_order=False))
] + [
    RequesterOnHostParams(
        requester=RequesterParams(
            reads=replace(IN_ORDER, data_bits=256), writes=WriteRequesterParams(data_bits=256)
        )
    )
]


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_on_host(params, tmp_path, rng):
    content = tmp_path / "content.bin"
    content.write_bytes(rng.bytes(MEMORY))
    simulate(
        RequesterOnHost(params),
        __name__,
        extra_sources=[HOST_ARRAY],
        plusargs=[host_file(0, content)],
    )


def link_cycles(card, sizes):
    """Return the cycles in which the link carries completions of this many bytes each."""
    rate = card.settings["rate"] / 256
    return sum(completion_bytes(size) for size in sizes) / rate


MARK = 0.98  #: of what headers and tags leave
INSIDE = 22  #: cycles for which a tag is taken beside the host's time
LATE = 1500  #: cycles
SEED = 1  #: of the host, so that slow ones are always the same
MARKS = {  # of the link in steady state; cycles of the quickest 15 of 16 reads at 40 % of it
    True: ((0.0, 0.9), (600, 2000)),
    False: ((0.98, 1.01), (375, 410)),
}


def with_slow_ones():
    """Return settings of a host that answers one read in 256 late, and holds up no other."""
    return {"window": 8, "slow": 1, "late": LATE, "seed": SEED}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def slow_answers_to_reads_back_to_back(dut):
    """In order of completion, others fill the link; in order of request, they wait."""
    count, size = 1600, 256
    card = await Card(dut, **with_slow_ones()).begin()
    for _ in range(count):
        card.issue(size * random.randrange(MEMORY // size), size)
    begin = await card.come(count // 8 * size)
    end = await card.come(count * 7 // 8 * size)
    share = link_cycles(card, [size] * (count * 3 // 4)) / (end - begin)
    dut._log.info("%.3f of the link", share)
    low, high = MARKS[card.reads.in_order][0]
    assert low <= share <= high or card.reads.data_bits == 256  # whose link has tags to spare
    await card.come(count * size)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def slow_answers_to_reads_now_and_then(dut):
    """In order of completion, the other reads take the host's time and a few cycles."""
    count, size = 400, 256
    card = await Card(dut, **with_slow_ones()).begin()
    for _ in range(count):
        card.issue(size * random.randrange(MEMORY // size), size)
        await ClockCycles(dut.clk, 11)
    await card.come(count * size)
    took = sorted(
        at - card.requests.cycles[beat["user"]]
        for beat, at in zip(card.beats.beats, card.beats.cycles, strict=True)
        if beat["last"]
    )
    mean = fmean(took[: count * 15 // 16])
    dut._log.info("%.0f cycles a read, %.0f with the slowest", mean, fmean(took))
    low, high = MARKS[card.reads.in_order][1]
    assert low <= mean <= high
    assert took[-1] >= LATE  # there was one


@crossed(row=[64, 128, 1028])
async def rows_at_random(dut, row):
    """Rows of a packed table, back to back, fill the link as far as headers and tags allow."""
    card = await Card(dut).begin()
    count = 2400 * 64 // max(row, 160)
    for _ in range(count):
        card.issue(row * random.randrange((MEMORY - row) // row), row)
    begin = await card.come(count // 6 * row)
    before = card.counts()
    end = await card.come(count * 5 // 6 * row)
    after = card.counts()
    rate = card.settings["rate"] / 256
    share = (after["down"] - before["down"]) / (end - begin) / rate
    tags = (
        card.reads.tags
        * (after["down"] / after["reads"])
        / rate
        / (card.settings["latency"] + INSIDE)
    )
    dut._log.info("%.4f of the link, tags allow %.3f", share, tags)
    assert share >= MARK * min(1, tags)


@crossed((("share", "size"), [(16, 500), (64, 128), (200, 500)]))
async def a_share_of_the_bus(dut, share, size):
    """Reads keep to their share, of which only data counts, within 2 percent; then there is no
    limit.
    """
    card = Card(dut)
    dut.share.value = share
    await card.begin()
    rate = share / 256 * card.reads.data_bits / 8  # bytes a cycle
    count = max(60, int(rate * 2400 / size))
    for _ in range(count):
        card.issue(512 * random.randrange(MEMORY // 512), size)
    begin = await card.come(count // 3 * size)
    end = await card.come(count // 3 * 3 * size)
    result = count // 3 * 2 * size / (end - begin)
    dut._log.info("%.2f bytes a cycle, of %.2f", result, rate)
    assert abs(result / rate - 1) < 0.02
    await card.come(count * size)


RESETS, WRITES = 5, 50  #: stops, and writes to places of their own before each


@crossed(by=["host", "user"])
async def stopped_in_the_middle(dut, by):
    """Reads and writes are stopped by a function reset that the host asks for, or by the user.

    Reads bring their data or a cause, writes are at the host if they were sent, and nothing goes
    meanwhile, nor before the function is a master of the bus again. Then all is as before.
    """
    card = await Card(dut, window=8).begin()
    content = Path(cocotb.plusargs["pcie_host_0"]).read_bytes()
    written, lost = {}, Recorder(dut, "writes_lost", {})
    reports = Reports(dut, "sent", card.params.requester.writes.sent)
    for k in range(RESETS):
        for _ in range(250):
            size = random.choice([4, 60, 128, 512])
            card.issue(512 * random.randrange(MEMORY // 1024), size)
        for user in range(WRITES * k, WRITES * (k + 1)):
            payload = random.randbytes(random.randrange(1, 500))
            written[user] = MEMORY // 2 + 500 * user, payload
            card.write(*written[user], user)
        await card.wait(random.randrange(30, 250))
        host = dut.function_in_process, dut.function_done
        stop, answer = host if by == "host" else (dut.stop, dut.idle)
        stop.value = 1
        await card.wait(5)
        await until(dut.clk, answer, 1)
        await card.wait(3)
        before = card.counts()
        await card.wait(300)
        if by == "host":
            assert dut.function_done.value
            dut.function_master.value = 0
        stop.value = 0
        if by == "host":
            await card.wait(100)
            assert not dut.function_done.value
            after = card.counts()
            assert (after["reads"], after["writes"]) == (before["reads"], before["writes"])
            dut.function_master.value = 1
    await card.come(sum(size for _, size in card.requested))
    await until(dut.clk, dut.owes, 0)
    await until(dut.clk, dut.idle, 1)
    assert not dut.owes.value
    causes = check_reads(card, content)
    assert causes == {Cause.NONE, Cause.STOPPED}
    assert lost.beats
    sent = {reported["user"] for reported, _ in reports.result}
    assert 0 < len(sent) < len(written)
    for user in sent:
        place, payload = written[user]
        assert await card.memory.read_memory(place, len(payload)) == payload


def check_reads(card, content):
    """Each read has its bytes or a cause; return the causes."""
    octets, result, causes = card.reads.data_bits // 8, {}, set()
    for beat in card.beats.beats:
        result.setdefault(beat["user"], []).append(beat)
    for user, (address, size) in enumerate(card.requested):
        beats = result.pop(user)
        assert sum(beat["bytes"] for beat in beats) == size
        assert [bool(beat["last"]) for beat in beats] == [False] * (len(beats) - 1) + [True]
        cause = Cause(int(beats[-1]["cause"].value))
        causes.add(cause)
        if not cause:
            data = b"".join(
                beat["data"].to_bytes(octets, "little")[: beat["bytes"]] for beat in beats
            )
            assert data == content[address : address + size]
    assert not result
    return causes
