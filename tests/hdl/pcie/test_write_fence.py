"""Sends packets of writes; a block tells their numbers late, in pairs, or wrongly."""

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.pcie.write_fence import LAST, MOST, WriteFence, WriteFenceParams
from sim.harness.bench import Bench
from sim.harness.streams import crossed, until
from sim.harness.verilator import simulate
from tests.hdl.pcie.number_reporter import NumberReporter

PACKETS = 300


def test_write_fence():
    simulate(WriteFence(WriteFenceParams()), __name__)


class FenceBench(Bench):
    """Sends packets, some the last of a write, and notes what becomes visible, and when."""

    def __init__(self, dut):
        super().__init__(dut)
        self.required = []  # users and numbers
        self.reported = self.reports("visible")

    @property
    def visible(self):
        """Return the users of what has become visible, and when."""
        return [(reported["user"], at) for reported, at in self.reported.result]

    async def send(self, final):
        """Let RQ take a packet as soon as there is room; return its number."""
        packet = {"final": final, "user": random.getrandbits(self.params.user_bits)}
        self.set(packet=packet)
        while True:
            if room := int(self.dut.room.value):
                self.dut.taken.value = 1
            await self.wait()
            self.dut.taken.value = 0
            if room:
                break
        number = int(self.dut.number.value)
        if final:
            self.required.append((packet["user"], number))
        return number

    async def say(self, *numbers):
        """Have the block tell numbers in this cycle."""
        said = [{"valid": 1, "number": number} for number in numbers]
        said += [{"valid": 0, "number": 0}] * (2 - len(said))
        await self.strobe(numbers=said)


@crossed(delay=[0, 8, 200], us=100)
async def each_write_once_its_last_number_is_reported(dut, delay):
    """Writes are told in order, never early, and at most as late as stated when alone."""
    bench = await FenceBench(dut).begin()
    reporter = NumberReporter(dut, delay=delay)
    for _ in range(PACKETS):
        reporter.put(await bench.send(random.random() < 0.4))
        await bench.wait(random.choice([0, 0, 0, 1, 5]))
    while len(reporter.reported) < PACKETS:
        await RisingEdge(dut.clk)
    await bench.wait(PACKETS)
    assert [user for user, _ in bench.visible] == [user for user, _ in bench.required]
    heard, reported = iter(reporter.reported), []
    for _, number in bench.required:
        reported.append(next(when for heard_number, when in heard if heard_number == number))
    waits = [now - when for (_, now), when in zip(bench.visible, reported, strict=True)]
    assert min(waits) == WriteFence.latency
    assert not dut.owes.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def numbers_in_twos_from_any_number_on(dut):
    """All pairs of successive numbers come twice, those across the highest number too."""
    bench = await FenceBench(dut).begin()
    for single in (0, 1):
        for number in [await bench.send(1) for _ in range(single)]:
            await bench.say(number)
        for _ in range(LAST):
            await bench.say(await bench.send(1), await bench.send(1))
        await bench.wait(12)
        assert [user for user, _ in bench.visible] == [user for user, _ in bench.required]
    assert not dut.owes.value


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_block_that_reports_nothing_ends_the_room(dut):
    """No more are under way than there are numbers; each one that is told makes room for one."""
    bench = await FenceBench(dut).begin()
    numbers = []
    while dut.room.value or len(numbers) < MOST:
        numbers.append(await bench.send(1))
        await ClockCycles(dut.clk, 2)
    assert len(numbers) == len(set(numbers)) == MOST
    assert dut.owes.value
    assert not bench.visible
    await bench.say(numbers[0])
    await bench.wait(12)
    assert dut.room.value
    assert len(bench.visible) == 1


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_number_that_is_not_the_next_counts_nothing(dut):
    bench = await FenceBench(dut).begin()
    first = 1  # number of a write
    await bench.say(first, first + 1)  # of packets that nobody has sent
    numbers = [await bench.send(1) for _ in range(3)]
    assert numbers == [first, first + 1, first + 2]
    for strange in ((0, 0), (first + 1,), (first + 2, first + 1), (first + 7, first + 62)):
        await bench.say(*strange)
    await bench.wait(12)
    assert not bench.visible
    await bench.say(first + 2, first)  # the second is the next one
    await bench.wait(12)
    assert [user for user, _ in bench.visible] == [user for user, _ in bench.required[:1]]
    await bench.say(first + 1, first + 2)
    await bench.say(first + 3, first + 4)
    await bench.wait(12)
    assert [user for user, _ in bench.visible] == [user for user, _ in bench.required]


@crossed(count=[1, 3, MOST], following=[None, LAST - 1, LAST, 1], us=100)
async def what_is_forgotten_is_never_reported(dut, count, following):
    """Numbers of packets from before come late, before and between those of new ones.

    The first of the new ones has number ``following``, if that is given.
    """
    bench = await FenceBench(dut).begin()
    while following and (int(dut.number.value) + count - following) % LAST:
        await bench.say(await bench.send(0))
    await bench.wait(12)
    old = [await bench.send(1) for _ in range(count)]
    reported = count - 1 if count > 3 else 1
    for number in old[:reported:2]:
        await bench.say(*old[old.index(number) :][: min(2, reported)])
    dut.clear.value = 1
    await bench.wait(2)
    shown = len(bench.visible)
    await until(dut.clk, dut.owes, 0)
    dut.clear.value = 0
    seen = len(bench.visible)  # what was told in time
    assert seen == shown <= reported
    bench.required.clear()
    new = [await bench.send(1) for _ in range(4)]
    for number in old[reported:]:
        await bench.say(number)
    await bench.wait(12)
    assert len(bench.visible) == seen
    await bench.say(new[0])
    await bench.say(*new[1:3])
    await bench.say(new[3])
    await bench.wait(12)
    assert [user for user, _ in bench.visible[seen:]] == [user for user, _ in bench.required]
