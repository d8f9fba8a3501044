"""Tests which sums and copies are asked for, when, and how fast."""

import itertools
import random
from dataclasses import replace

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switchgnn.endpoint.bundles import SLOTS
from hdl.switchgnn.endpoint.fetcher import Fetcher
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.protocol import Kind
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed, cycle, never
from tests.simulated import simulated

TIMEOUT, GAP = 200, 13
#: The words of a turn are no power of two in the one, and one in the other.
SIZES = {"tiny": PRESETS["tiny"], "small": replace(PRESETS["small"], depth=64)}

test_fetcher = simulated(Fetcher, SIZES, __name__, registers=["timer", "waited"])


class FetcherBench(Bench):
    """Has a table of what is missing, and takes what is asked."""

    def __init__(self, dut, *, scan=never, sink=never, timeout=TIMEOUT, gap=GAP):
        super().__init__(dut, (never, sink), timeout=timeout, gap=gap)
        self.table = {}  # words by place
        self.scan.stall = scan
        cocotb.start_soon(self.serve())

    async def serve(self):
        while True:
            await RisingEdge(self.dut.clk)
            if self.dut.scan_valid.value and self.dut.scan_ready.value:
                place = int(self.dut.scan_payload.value)
                self.dut.word.value = self.table.get(place, 0)

    def miss(self, turn, chance=0.1):
        """Let some of a turn's sums and copies be missing, the first and last among them."""
        params, slot = self.params, turn % SLOTS
        sums = {0, params.aggregators - 1}
        sums |= {k for k in range(params.aggregators) if random.random() < chance}
        copies = {0, params.copies - 1}
        copies |= {k for k in range(params.copies) if random.random() < chance}
        for item in [*sums, *(32 * params.sum_words + k for k in copies)]:
            place = item // 32 | slot << params.word_bits
            self.table[place] = self.table.get(place, 0) | 1 << item % 32
        self.dut.turn.value = turn
        self.dut.misses.value = 1
        return sums, copies

    @property
    def requested(self):
        return len(self.jobs.beats) + len(self.lookups.beats)


@crossed(stalls=STALLS)
async def requests_each_once_in_a_round(dut, stalls):
    scan, sink = stalls
    bench = await FetcherBench(dut, scan=scan, sink=sink).begin()
    turn = 0 if stalls.absent else random.getrandbits(32)
    sums, copies = bench.miss(turn)
    began = cycle()
    for round_ in range(1, 3):
        while bench.requested < round_ * (len(sums) + len(copies)):
            await bench.edge
        jobs, lookups = bench.jobs.beats, bench.lookups.beats
        assert sorted(job["list"] for job in jobs) == sorted([*sums] * round_)
        assert sorted(item["source"] for item in lookups) == sorted([*copies] * round_)
    assert all(job["kind"] is Kind.FETCH and job["turn"] == turn for job in jobs)
    assert all(not item["answer"] and item["turn"] == turn for item in lookups)
    cycles = sorted([*bench.jobs.cycles, *bench.lookups.cycles])
    assert cycles[0] >= began + TIMEOUT
    gaps = [b - a for a, b in itertools.pairwise(cycles)]
    assert min(gaps) >= GAP
    half = len(sums) + len(copies)
    assert gaps[half - 1] >= TIMEOUT
    if stalls.absent:
        assert min(gaps) == GAP + 2
        words = 3 * bench.params.words
        assert cycles[0] < began + TIMEOUT + 10
        assert cycles[half - 1] - cycles[0] < half * (GAP + 4) + words


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def news_put_it_off(dut):
    """An end of the turn, or a turn that misses nothing, puts it off, too."""
    bench = await FetcherBench(dut).begin()
    bench.miss(1)
    for name in ("news", "over"):
        for _ in range(10):
            await bench.wait(TIMEOUT - 5)
            await bench.strobe(**{name: 1})
    dut.misses.value = 0
    await bench.wait(3 * TIMEOUT)
    assert bench.requested == 0
    dut.misses.value = 1
    await bench.wait(TIMEOUT + 20)
    assert bench.requested > 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_round_ends_with_its_turn(dut):
    """What follows is asked for in a round of its own, with its own number."""
    bench = await FetcherBench(dut, gap=0).begin()
    missing = {}
    turns = [random.getrandbits(32) for _ in range(60)]
    for turn, following in itertools.pairwise([*turns, 0]):
        bench.table = {}
        missing[turn] = bench.miss(turn, 0.5)
        await bench.wait(TIMEOUT + random.randrange(100))
        await bench.strobe(over=1)
        dut.turn.value = following
    assert len({job["turn"] for job in bench.jobs.beats}) > 50
    for job in bench.jobs.beats:
        assert job["list"] in missing[job["turn"]][0]
    for lookup in bench.lookups.beats:
        assert lookup["source"] in missing[lookup["turn"]][1]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_empty_word_takes_3_cycles(dut):
    bench = await FetcherBench(dut).begin()
    dut.turn.value, dut.misses.value = (1 << 32) - 1, 1
    bench.scan.cycles.clear()
    await bench.wait(TIMEOUT + 3 * bench.params.words + 20)
    assert {b - a for a, b in itertools.pairwise(bench.scan.cycles)} <= {3}
    assert len(bench.scan.cycles) >= bench.params.words


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def waits_as_long_as_it_is_reported(dut):
    """It waits to the cycle, whatever the bits of the timeout and of the gap are."""
    bench = await FetcherBench(dut, gap=0).begin()
    delays = {"timeout": set(), "gap": set()}

    async def first():
        """Return the cycles until the next request."""
        began, requested = cycle(), bench.requested
        await bench.wait(20)
        cycles = sorted([*bench.jobs.cycles, *bench.lookups.cycles])
        return cycles[requested] - began

    bench.miss(random.getrandbits(32))
    for bit in range(6, 32):
        dut.misses.value = 0
        await bench.wait(10)
        dut.misses.value = 1
        timeout = random.getrandbits(32) & (1 << bit) - 1 | 1 << bit
        dut.timeout.value, dut.timer.value = timeout, timeout - (1 << bit)
        requested = bench.requested
        await bench.wait(20)
        assert bench.requested == requested
        dut.timer.value = timeout - 5
        delays["timeout"].add(await first())
    dut.misses.value, dut.timeout.value = 0, 0
    await bench.wait(10)
    dut.gap.value, dut.waited.value, dut.misses.value = (1 << 16) - 1, 0, 1
    bench.table = {k: (1 << 32) - 1 for k in range(SLOTS << bench.params.word_bits)}
    await bench.wait(10)
    for bit in range(6, 16):
        gap = random.getrandbits(16) & (1 << bit) - 1 | 1 << bit
        dut.gap.value, dut.waited.value = gap, gap - (1 << bit)
        requested = bench.requested
        await bench.wait(20)
        assert bench.requested == requested
        dut.waited.value = gap - 5
        delays["gap"].add(await first())
        assert bench.requested == requested + 1
    assert [len(result) for result in delays.values()] == [1, 1]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def any_two_of_a_word_are_requested(dut):
    """The lower one is asked for first."""
    bench = await FetcherBench(dut, gap=0, timeout=0).begin()
    bits = range(min(32, bench.params.aggregators))
    for low, high in random.sample([*itertools.combinations(bits, 2)], 100):
        bench.table = {0: 1 << low | 1 << high}
        bench.jobs.beats.clear()
        dut.misses.value = 1
        await bench.jobs.wait_for(2)
        dut.misses.value = 0
        await bench.wait(10)
        assert [job["list"] for job in bench.jobs.beats][:2] == [low, high]
