"""Answers reads in any order and in parts, late, wrongly, or not at all."""

import random
from collections import deque
from dataclasses import replace
from itertools import chain

import cocotb
import pytest

from hdl.pcie import descriptors
from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.read_requester import ReadRequester
from sim.golden import pcie_requester
from sim.golden.pcie_link import LINK_BYTES, bytes_of_share, completion_bytes
from sim.golden.pcie_requester import Cause, Code, Completion, Status, cut
from sim.harness.coincidences import reset
from sim.harness.streams import STALLS, crossed, cycle, never
from tests.hdl.pcie.read_bench import ReadBench, whole
from tests.simulated import simulated

SIZES = [
    ReadRequesterParams(tags=16, max_read=256),
    ReadRequesterParams(data_bits=256, tags=16, max_read=128),
    ReadRequesterParams(tags=16, max_read=256, in_order=False),
]

test_read_requester = simulated(ReadRequester, SIZES, __name__, each=True, registers=["placed"])


@pytest.mark.parametrize(
    ("own", "golden"),
    [
        (descriptors.Cause, pcie_requester.Cause),
        (descriptors.ErrorCode, pcie_requester.Code),
        (descriptors.Status, pcie_requester.Status),
    ],
)
def test_codes_are_the_golden_model_s(own, golden):
    assert {item.name: item.value for item in own} == {item.name: item.value for item in golden}


def request_some(bench, count):
    """Ask at all places of a line, for sizes near those of lines, reads and pages."""
    most = bench.params.max_read
    for _ in range(count):
        size = random.choice(
            [random.randrange(1, 9), random.randrange(1, 3 * most), 64, 128, most, most + 4]
        )
        near = random.choice([4096, most, 64, 4])
        address = near * random.randrange(1, 1 << 20) + random.choice([0, -4, 4, -128, 60])
        bench.issue(address + (random.getrandbits(32) << 32), size)


@crossed(stalls=STALLS, straddle=[1, 2, 4])
async def every_byte_in_its_order(dut, stalls, straddle):
    bench = await ReadBench(dut, stalls.value, straddle).begin()
    payload, boundary = random.choice([128, 256, 512]), random.choice([64, 128])
    cocotb.start_soon(bench.host(payload, boundary, delay=random.choice([0, 2, 6])))
    bench.issue(0x1000, 4096)
    request_some(bench, 50)
    await bench.finish()
    await bench.owes_nothing()
    await bench.is_idle(20)
    assert not dut.owes.value
    assert bench.events["stranger"] == bench.events["failed"] == bench.events["abandoned"] == 0


@crossed(straddle=[1, 4])
async def from_every_lane_to_every_lane(dut, straddle):
    """Completions begin in each lane, and go on for every length in one beat, and in the next.

    With several in a beat each lane of the buffer takes each dword of it.
    """
    bench = await ReadBench(dut, straddle=straddle).begin()
    lanes, boundary = bench.params.lanes, bench.params.max_read // 2
    cocotb.start_soon(bench.host(boundary, boundary, delay=random.choice([0, 4])))
    for first in range(lanes):  # of a read's second completion
        for count in range(1, 2 * lanes - 2):
            start = boundary - 4 * (first or lanes)
            bench.issue(4096 * first + start, boundary - start + 4 * count)
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reads_keep_to_a_share(dut):
    """Of what RC could carry, within a read at either end."""
    bench = ReadBench(dut)
    cocotb.start_soon(bench.host())
    share, most = 24, bench.params.max_read
    dut.share.value = share
    await bench.begin()
    for k in range(30):
        bench.issue(most * k, most)
    await bench.finish()
    cycles = bench.sent_cycles[-1] - bench.sent_cycles[9]  # what was saved up before is used up
    allowed = bytes_of_share(share, cycles, bench.params.data_bits // 8)
    assert abs(20 * most - allowed) <= most


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_host_may_allow_smaller_reads(dut):
    """Limits that the hardware has no room for, or reserved codes, mean smaller reads."""
    bench = await ReadBench(dut).begin()
    cocotb.start_soon(bench.host())
    for code, bench.limit in ((0, 128), (1, 256), (5, 4096), (7, 128)):
        dut.limit.value = code
        await bench.wait(2)
        request_some(bench, 4)
        await bench.finish()


CHANGES = [
    {"poisoned": True},
    {"code": Code.POISONED},
    {"code": Code.BAD_STATUS, "status": Status.UNSUPPORTED, "dwords": 0, "completed": True},
    {"code": Code.BAD_STATUS, "status": Status.ABORTED, "dwords": 0, "completed": True},
    {"code": Code.LENGTH, "dwords": 0, "completed": True},
    {"dwords": 0, "completed": False},
    {"code": Code.BAD_STATUS, "status": Status.RETRY, "dwords": 0, "completed": True},
    {"code": Code.MISMATCH},
    {"code": 7},  # reserved
    {"code": Code.ADDRESS},
    {"code": Code.FLR, "dwords": 0, "completed": True},
    {"discontinued": True},
    {"poisoned": True, "discontinued": True},
    "address",
    "remaining",
    "longer",
    "too long",
    "early end",
    "no end",
]


def spoil(parts, kind, at):
    """Change a completion of a read; what comes after it comes as the block would send it."""
    at %= len(parts)
    good = parts[at]
    changed = {
        "address": {"address": good.address ^ 4 * random.choice([1, 16, 512])},
        "remaining": {"remaining": good.remaining ^ random.choice([1, 4, 64, 2048])},
        "longer": {"dwords": good.dwords + 1},
        "too long": {"dwords": -(-good.remaining // 4) + 1, "completed": False},
        "early end": {"completed": True},
        "no end": {"completed": False},
    }
    bad = replace(good, **(changed[kind] if isinstance(kind, str) else kind))
    if bad == good:  # an early end of the last, or none of another
        bad = replace(good, poisoned=True)
    rest = [bad, *parts[at + 1 :]]
    if not rest[-1].completed:  # a reset of the function ends it; what was found before counts
        rest.append(replace(good, dwords=0, completed=True, code=Code.FLR))
    done = next(k for k, item in enumerate(rest) if item.completed)
    return [*parts[:at], *rest[: done + 1]]


@crossed(stalls=STALLS)
async def errors_end_the_request_that_they_belong_to(dut, stalls):
    """This holds whether the first of several completions is wrong, or the last."""
    bench = await ReadBench(dut, stalls.value).begin()
    kinds = deque(
        random.sample([(kind, at) for kind in CHANGES for at in (0, -1)], 2 * len(CHANGES))
    )

    def change(parts):
        if not kinds or random.random() < 0.5 or (kinds[0][1] == 0 and len(parts) == 1):
            return parts
        return spoil(parts, *kinds.popleft())

    cocotb.start_soon(bench.host(128, change=change))
    while kinds:
        request_some(bench, 10)
        await bench.finish()
    failed = [outstanding for _, outstanding in bench.sent if outstanding.cause]
    assert bench.events["failed"] == len(failed) == 2 * len(CHANGES)
    causes = {outstanding.cause for outstanding in failed}
    assert causes == set(Cause) - {Cause.NONE, Cause.TIMEOUT, Cause.STOPPED}
    await bench.owes_nothing()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_read_fails_at_its_end_and_the_next_at_its_begin(dut):
    """The two come in one beat, or in beats that follow each other."""
    bench = await ReadBench(dut).begin()
    for _ in range(16):
        await bench.fill(lambda k: (4096 * k, 4 * random.randrange(1, 32)))
        # No tag may be free when the newest read fails.
        for k, tag in enumerate(list(bench.under_way)[:: random.choice([1, -1])]):
            kind = random.choice(CHANGES) if k % 2 else {"discontinued": True}
            bench.answer(tag, *spoil(whole(bench.under_way[tag].read), kind, 0))
        await bench.finish()
        await bench.tick(2)  # some tags rest


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def strangers_change_nothing(dut):
    """Completions of tags that are free, missing or unknown to the block change nothing."""
    bench = await ReadBench(dut).begin()
    tags, count = bench.params.tags, 0
    for _ in range(3):
        bench.issue(0x1000, 128)
        bench.issue(0x2004, 60)
        await bench.happened(lambda: len(bench.under_way) == 2)
        busy = list(bench.under_way)
        free = [tag for tag in range(tags) if tag not in busy]
        good = Completion(0x1000, 64, 16, completed=True)
        strangers = [(tag, good) for tag in (*free, tags, 255)]
        strangers += [(tag, replace(good, code=Code.INVALID_TAG)) for tag in busy]
        for tag, completion in strangers:
            bench.put(tag, completion)
        await bench.happened(lambda: not bench.packets)
        for tag in busy:
            bench.answer(tag, *whole(bench.under_way[tag].read))
        await bench.finish()
        count += len(strangers)
        assert bench.events["stranger"] == count
    assert bench.events["failed"] == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_does_not_come_is_abandoned(dut):
    """One of two reads is silent, or stops in the middle; its tag is not given again."""
    bench = await ReadBench(dut).begin()
    most = bench.params.max_read
    silent = {}
    for _ in range(bench.params.tags - 1):
        await bench.tick(random.randrange(4))  # reads are sent in any epoch
        bench.issue(most, most)
        bench.issue(2 * most, 4)
        await bench.happened(lambda: len(bench.under_way) == len(silent) + 2)
        lost, good = [tag for tag in bench.under_way if tag not in silent]
        parts = whole(bench.under_way[lost].read, 128)
        if len(parts) > 1 and len(silent) % 2:
            bench.answer(lost, parts.pop(0))
        silent[lost] = parts
        bench.answer(good, *whole(bench.under_way[good].read))
        await bench.tick()
        await bench.wait(50)
        assert bench.events["abandoned"] == len(silent) - 1
        bench.under_way[lost].abandon(Cause.TIMEOUT)
        await bench.tick()
        await bench.finish()
        assert bench.events["abandoned"] == len(silent)
        assert dut.owes.value
        if len(silent) == bench.params.tags - 2:
            break
    # They come after all, and wrong: nobody gets them, and their tags are free again.
    for tag, parts in silent.items():
        bench.answer(tag, *(replace(part, poisoned=True) for part in parts))
    await bench.owes_nothing()
    await bench.wait(bench.params.tags)  # until the scan has freed all tags
    assert bench.events["failed"] == 0
    at = len(bench.sent)
    cocotb.start_soon(answer_new(bench))
    for _ in range(2 * bench.params.tags):
        bench.issue(4 * most, 4)
    await bench.finish()
    assert {tag for tag, _ in bench.sent[at:]} == set(range(bench.params.tags))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_tag_rests_when_the_block_has_provided_its_read_up(dut):
    """It is given again from the second tick on: by then a whole time-out has passed.

    The third tick leaves it to the read that has it then.
    """
    bench = await ReadBench(dut).begin()
    bench.issue(0x40, 16)
    await bench.happened(lambda: bench.under_way)
    (tag,) = bench.under_way
    bench.answer(tag, Completion(0x40, 16, 0, completed=True, code=Code.TIMEOUT))
    await bench.finish()
    assert bench.received()[-1][3] == Cause.TIMEOUT
    await bench.tick()
    assert dut.owes.value
    answers = cocotb.start_soon(answer_new(bench))
    for _ in range(3 * bench.params.tags):
        bench.issue(0x80, 4)
    await bench.finish()
    answers.cancel()
    assert tag not in [used for used, _ in bench.sent[1:]]
    await bench.tick()
    await bench.owes_nothing()
    await bench.fill(lambda _: (0x80, 4))
    assert tag in bench.under_way
    await bench.tick()
    await bench.wait(bench.params.tags)
    for used, outstanding in list(bench.under_way.items()):
        bench.answer(used, *whole(outstanding.read))
    await bench.finish()


@crossed(ticks=[0, 1, 2])
async def all_tags_rest_at_once(dut, ticks):
    """The block gives up every read; two ticks free their tags, and so does a reset before.

    The ticks that come then leave a new read its tag until its answer.
    """
    bench = await ReadBench(dut).begin()
    for _ in range(2):
        await bench.fill(lambda _: (0x40, 16))
        for tag in list(bench.under_way):
            bench.answer(tag, Completion(0x40, 16, 0, completed=True, code=Code.TIMEOUT))
        await bench.finish()
        await bench.tick(ticks)
        assert dut.owes.value == (ticks < 2)
        if ticks < 2:
            await reset(dut, bench.forget, bench.requests, bench.rc)
        if ticks != 1:
            await bench.tick()
        await bench.fill(lambda _: (0x80, 4))
        await bench.tick()
        assert dut.owes.value
        for tag, outstanding in list(bench.under_way.items()):
            bench.answer(tag, *whole(outstanding.read))
        await bench.finish()
        assert not dut.owes.value


async def answer_new(bench):
    """Answer what is sent from now on, in order."""
    at = len(bench.sent)
    while True:
        await bench.happened(lambda at=at: len(bench.sent) > at)
        for tag, outstanding in bench.sent[at:]:
            bench.answer(tag, *whole(outstanding.read))
            at += 1


async def stopped_when(bench, happens):
    """Stop as soon as that happens, until nothing is under way; return what the host owes."""
    dut = bench.dut
    await bench.happened(happens)
    dut.stop.value = 1
    await bench.is_idle(200)
    await bench.wait(10)
    for outstanding in bench.under_way.values():
        outstanding.abandon(Cause.STOPPED)
    assert dut.owes.value
    return [(tag, whole(outstanding.read)) for tag, outstanding in bench.under_way.items()]


async def pay(bench, owed):
    """Answer what the host owes, as :func:`stopped_when` returns it."""
    for tag, parts in owed:
        bench.answer(tag, *parts)
    await bench.owes_nothing()


@crossed(stalls=STALLS)
async def stopped_under_traffic(dut, stalls):
    """Everything under way is given up at once; what still comes is nobody's; then as before."""
    bench = await ReadBench(dut, stalls.value).begin()
    for _ in range(3):
        request_some(bench, 6)
        owed = await stopped_when(bench, lambda: len(bench.under_way) >= 3)
        sent = len(bench.sent)
        await pay(bench, owed)
        assert len(bench.sent) == sent
        answers = cocotb.start_soon(answer_new(bench))
        dut.stop.value = 0
        await bench.finish()
        answers.cancel()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def goes_on_with_tags_that_are_free(dut):
    """While the host owes answers for others, which are nobody's when they come."""
    bench = await ReadBench(dut).begin()
    for count in (4, bench.params.tags - 1, bench.params.tags):
        for k in range(count):
            bench.issue(4096 * k, 64)
        owed = await stopped_when(bench, lambda count=count: len(bench.under_way) == count)
        answers, sent = cocotb.start_soon(answer_new(bench)), len(bench.sent)
        dut.stop.value = 0
        for k in range(2 * bench.params.tags):
            bench.issue(64 * k, 64)
        if count < bench.params.tags:
            await bench.finish()
        else:
            await bench.wait(2 * count)
            assert len(bench.sent) == sent
        assert dut.owes.value
        await pay(bench, owed)
        await bench.finish()
        answers.cancel()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_was_taken_may_be_forgotten(dut):
    """A request that was sent in part has no last beat, and the next one begins anew."""
    bench = await ReadBench(dut).begin()
    most, beat_bytes = bench.params.max_read, bench.params.data_bits // 8
    for _ in range(3):
        bench.issue(most, 8 * most)
        await bench.happened(lambda: bench.under_way)
        bench.takes = False
        await bench.wait(4)
        dut.forget.value = bench.takes = True
        owed = await stopped_when(bench, lambda: True)
        assert 0 < len(owed) < 8
        beats = bench.received()
        assert len(beats) == len(owed) * most // beat_bytes
        assert {beat[3] for beat in beats} == {Cause.STOPPED}
        assert sum(beat[1] for beat in beats) == (0 if bench.params.in_order else len(owed))
        await pay(bench, owed)
        bench.forget()
        dut.stop.value = dut.forget.value = 0
        answers = cocotb.start_soon(answer_new(bench))
        request_some(bench, 6)
        await bench.finish()
        bench.forget()
        answers.cancel()


@crossed(stalls=STALLS)
async def stopped_while_answers_come(dut, stalls):
    """Each read is handed on once: with its data if that was in time, else as stopped."""
    bench = await ReadBench(dut, stalls.value).begin()
    cocotb.start_soon(bench.host(64, delay=2))
    for _ in range(20):
        request_some(bench, 4)
        await bench.happened(lambda: bench.under_way)
        await bench.wait(random.randrange(40))
        dut.stop.value = 1
        await bench.is_idle(300)
        await bench.owes_nothing()
        dut.stop.value = 0
    await bench.all_have_come()
    stopped = bench.stopped()
    assert 0 < bench.events["abandoned"] <= stopped < len(bench.sent)
    bench.check()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_forgets_what_was_under_way(dut):
    """The block is reset, too, and knows no tag: reads are answered as if they were the first."""
    bench = await ReadBench(dut).begin()
    most = bench.params.max_read
    for _ in range(6):
        await bench.fill(lambda k: (k * most, most))
        late = []
        for tag, outstanding in bench.under_way.items():
            parts = whole(outstanding.read, 64)
            late += [(tag, parts.pop())] if tag % 2 else []  # others are being handed on
            bench.put(tag, *parts)
        await bench.wait(random.randrange(4 * len(late)))
        await reset(dut, bench.forget, bench.requests, bench.rc)
        for item in late:
            bench.put(*item)
        await bench.happened(lambda: not bench.packets)
        await bench.wait(10)
        assert bench.events["stranger"] == len(late)
        for k in range(bench.params.tags):
            bench.issue(k * most + 4, most)
        answers = cocotb.start_soon(answer_new(bench))
        await bench.finish()
        answers.cancel()
        await bench.owes_nothing()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_beat_a_cycle_and_no_longer_than_stated(dut):
    """The first beat comes as stated, full beats without a gap, and a read per cycle."""
    waits = [False]
    bench = ReadBench(dut, (never, lambda: waits[0]))
    component = bench.component
    await bench.begin()
    await bench.wait(bench.params.tags + 2)
    most = bench.params.max_read
    for _ in range(3):
        bench.issue(most, most)
        await bench.happened(lambda: bench.under_way)
        await bench.wait(1)
        assert not dut.idle.value
        assert bench.sent_cycles[-1] - bench.requests.cycles[-1] == component.request_latency
        ((tag, outstanding),) = bench.under_way.items()
        before = len(bench.beats.beats)
        bench.answer(tag, *whole(outstanding.read))
        await bench.finish()
        assert bench.beats.cycles[before] - bench.rc.cycles[-1] == component.latency <= 10
    # Small reads and large ones, all answered before any is handed on: no gap between beats,
    # nor between reads of a beat that wait for the first one.
    for size in (4, 64, most):
        bench.takes, waits[0] = False, size > 4 or not bench.params.in_order
        for k in range(bench.params.tags):
            bench.issue(most * (k + 1), size)
        await bench.wait(bench.params.tags + 10)
        bench.takes = True
        await bench.happened(lambda: len(bench.under_way) == bench.params.tags)
        cycles = bench.sent_cycles[-bench.params.tags :]
        assert cycles[-1] - cycles[0] == bench.params.tags - 1
        before = len(bench.beats.beats)
        tags = list(bench.under_way)
        for tag in [*tags[1:], tags[0]]:
            bench.answer(tag, *whole(bench.under_way[tag].read))
        await bench.happened(lambda: not bench.packets)
        await bench.wait(component.latency + 10)
        waits[0] = False
        await bench.finish()
        cycles = bench.beats.cycles[before:]
        assert cycles[-1] - cycles[0] == len(cycles) - 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def completions_never_wait_for_who_takes_the_beats(dut):
    """There is room for all that is under way: RC is taken even while no beat is."""
    waits = [True]
    bench = await ReadBench(dut, (never, lambda: waits[0])).begin()
    most, tags = bench.params.max_read, bench.params.tags
    for k in range(tags + 4):
        bench.issue(most * k, most)
    await bench.happened(lambda: len(bench.under_way) == tags)
    answers = cocotb.start_soon(answer_new(bench))
    for tag in list(bench.under_way):
        bench.answer(tag, *whole(bench.under_way[tag].read))
    await bench.happened(lambda: not (bench.packets or bench.packer.rest or bench.rc.missing))
    assert not bench.beats.beats
    waits[0] = False
    await bench.finish()
    answers.cancel()


@crossed(row=[64, 128, 1028])
async def rc_keeps_up_with_the_link(dut, row):
    """Rows of a table at random places come packed, back to back, in the largest completions."""
    bench = ReadBench(dut)
    params = bench.params
    await bench.begin()
    cycles = wire = 0
    for _ in range(8):
        reads = 0
        while reads + row // params.max_read + 2 <= params.tags:
            address = row * random.randrange(1 << 20)
            reads += len(cut(address, row, params.max_read))
            bench.issue(address, row)
        await bench.happened(lambda reads=reads: len(bench.under_way) == reads)
        begin = cycle() + 1
        for tag in list(bench.under_way):
            for part in whole(bench.under_way[tag].read):
                wire += completion_bytes(4 * part.dwords)
                bench.answer(tag, part)
        await bench.finish()
        cycles += bench.rc.cycles[-1] - begin
    link = wire / (LINK_BYTES * params.data_bits / 512 / 250e6)  # x16 for 512 bits, else x8
    dut._log.info("RC: %d cycles, link: %.0f", cycles, link)
    assert cycles <= link + 2 * 8


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(
    kind=["of_64_bytes", "in_a_beat", "in_other_lanes", "in_another_bank", "lost", "long_and_lost"]
)
async def rc_takes_completions_in_their_own_time(dut, kind):
    """Each begins at a segment, and none waits for the one before it in another lane."""
    bench = await ReadBench(dut).begin()
    await bench.wait(bench.params.tags + 2)
    tags, lanes = bench.params.tags, bench.params.lanes
    sizes = {  # dwords of one, and of the next
        "of_64_bytes": (16, 16),
        "in_a_beat": (lanes - 6, lanes - 3),
        "in_other_lanes": (lanes - 1, lanes - 7),
        "in_another_bank": (lanes + 1, lanes - 7),
        "lost": (lanes - 3, lanes - 3),
        "long_and_lost": (2 * lanes - 3, 2 * lanes - 3),
    }[kind]
    await bench.fill(lambda k: (4096 * k, 4 * sizes[2 * k // tags]))
    # Tags are given in order, and their lowest bit is that of the bank.
    half, other = tags // 2, kind == "in_another_bank"
    begin, segments = cycle() + 1, 0
    for tag in chain.from_iterable((k, half + (k + other) % half) for k in range(half)):
        (item,) = whole(bench.under_way[tag].read)
        bench.answer(tag, replace(item, discontinued="lost" in kind))
        segments += -(-(3 + item.dwords) // 4)
    await bench.finish()
    assert bench.rc.cycles[-1] - begin <= -(-segments // bench.params.packets) + 1
