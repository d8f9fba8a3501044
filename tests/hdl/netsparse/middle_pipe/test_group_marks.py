"""Tests where groups end among those PRs of packets that go one way."""

import random
from collections import deque

import cocotb
from cocotb.triggers import FallingEdge

from hdl.netsparse.middle_pipe.group_marks import GroupMarks, GroupMarksParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, benched, crossed, cycle, never, often
from tests.simulated import simulated

DEPTH = 8

test_group_marks = simulated(GroupMarks, [GroupMarksParams(depth=DEPTH)], __name__)


class MarksBench(Bench):
    """Has PRs of packets, some of which go this way, and the marks of those."""

    def __init__(self, dut, sink=never):
        super().__init__(dut, (never, sink))
        self.expected, self.known = [], []  # marks, and the cycles that tell them

    async def cycle(self, taken=None, ends=False, cut=False):
        """Play a cycle with a PR that goes this way, with another one, or with none."""
        dut = self.dut
        dut.comes.value, dut.cut.value = taken is not None, cut
        dut.takes.value = random.getrandbits(1) if taken is None else taken
        dut.ends.value = random.getrandbits(1) if taken is None else ends
        await self.wait()
        if taken or ends:
            for _ in range(len(self.known), len(self.expected)):
                self.known.append(cycle())
        if taken:
            self.expected.append(ends)
            if ends:
                self.known.append(cycle())
        elif ends and self.open:
            self.expected[-1] = True
        self.open = (bool(taken) or self.open) and not ends
        await FallingEdge(dut.clk)

    async def begin(self):
        self.open = False  # a PR of the packet under way goes this way
        await super().begin()
        await FallingEdge(self.dut.clk)
        return self

    async def run(self, packets, source=never, cuts=never):
        prs = deque(
            (taken, k == len(packet) - 1) for packet in packets for k, taken in enumerate(packet)
        )
        while prs or len(self.o.beats) < len(self.expected):
            full = len(self.expected) - len(self.o.beats) >= DEPTH
            goes = prs and not source() and not (full and prs[0][0])
            await self.cycle(*(prs.popleft() if goes else (None,)), cut=cuts())


def some_packets():
    """Draw packets of many PRs or few, of which none goes this way, or any share."""
    for _ in range(300):
        share = random.choice([0, 0.1, 0.5, 0.9, 1])
        yield [random.random() < share for _ in range(random.choice([1, 1, 2, 12]))]


@crossed(stalls=STALLS, us=100)
async def the_last_one_of_each_packet_is_marked(dut, stalls):
    """The mark comes as late as stated, and a cycle later after another mark."""
    source, sink = stalls
    bench = await MarksBench(dut, sink).begin()
    await bench.run(some_packets(), source)
    assert bench.o.beats == bench.expected
    assert 50 < sum(bench.expected) < len(bench.expected) - 50
    if stalls.absent:
        late = {at - reported for at, reported in zip(bench.o.cycles, bench.known, strict=True)}
        assert late == {(latency := bench.component.latency), latency + 1}


@benched(MarksBench, us=100)
async def packets_of_one_are_marked_every_cycle(bench):
    await bench.run([[True]] * 50)
    first = bench.known[0] + bench.component.latency
    assert bench.o.cycles == [*range(first, first + 50)]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_cut_ends_groups_and_nothing_else(dut):
    """No end is lost, and nothing waits for its mark once it is cut."""
    bench = await MarksBench(dut, often).begin()
    await bench.run(some_packets(), often, cuts=lambda: random.random() < 0.1)
    more = [mark - end for mark, end in zip(bench.o.beats, bench.expected, strict=True)]
    assert {*more} == {0, 1}
    assert more.count(1) > 20
    for _ in range(3):
        await bench.cycle(True)
    for _ in range(40):
        await bench.cycle()
    assert len(bench.o.beats) == len(bench.expected) - 1
    await bench.cycle(cut=True)
    for _ in range(40):
        await bench.cycle()
    assert bench.o.beats[-3:] == [0, 0, 1]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def says_what_waits_for_nothing(dut):
    """These are marks up to the end of a group, or as many as there can be."""
    stopped = True
    bench = await MarksBench(dut, lambda: stopped).begin()
    for _ in range(3):
        await bench.cycle(True)
        assert not dut.whole.value
    await bench.cycle(False)
    assert not dut.whole.value
    await bench.cycle(False, ends=True)
    assert dut.whole.value
    stopped = False
    while len(bench.o.beats) < 3:
        assert dut.whole.value
        await bench.cycle()
    assert not dut.whole.value
    stopped = True
    for _ in range(DEPTH - 2):  # groups of one each, fewer than there can be
        await bench.cycle(True, ends=True)
        assert dut.whole.value
    stopped = False
    while len(bench.o.beats) < len(bench.expected):
        assert dut.whole.value
        await bench.cycle()
    assert not dut.whole.value
    stopped = True
    for number in range(DEPTH):
        assert bool(dut.whole.value) == (number > DEPTH - 1), number
        await bench.cycle(True)
    assert dut.whole.value
