"""Tests which turns are loaded, begun and over, by a count of what may be."""

import random

import cocotb
from amaranth.hdl import Module
from amaranth.lib.wiring import connect, flipped
from cocotb.triggers import RisingEdge

from hdl.common.component import Component
from hdl.switchgnn.endpoint.bundles import SLOTS
from hdl.switchgnn.endpoint.params import PRESETS
from hdl.switchgnn.endpoint.progress import Progress
from sim.harness.streams import start, started
from sim.harness.verilator import simulate

TURNS = 30


class ProgressBench(Component):
    """Wraps the turns in a module, so that a test can set their numbers, some of them ports."""

    def __init__(self, params):
        super().__init__(params, dict(Progress(params).signature.members))

    def elaborate(self, platform):
        m = Module()
        m.submodules.progress = progress = Progress(self.params)
        connect(m, flipped(self), progress)
        return m


def test_progress():
    numbers = ["loading", "beginning", "lo", "next"]
    simulate(ProgressBench(PRESETS["tiny"]), __name__, registers=numbers)


class Bench:
    """Loads, sends and ends turns at random, as far as it may."""

    def __init__(self, dut, open_turns, ready=TURNS, *, first=0, turns=TURNS):
        self.dut, self.edge, self.open_turns = dut, RisingEdge(dut.clk), open_turns
        self.lo = self.loaded = self.begun = first
        self.turns = turns
        self.begins, self.ends = [], []
        dut.turns.value, dut.ready.value = turns, ready
        self.ready = ready
        self.opened = []  # what is open, of the cycle before and of this one
        dut.two_open.value = open_turns == 2
        for name in ("free", "loaded", "advance"):
            getattr(dut, name).value = 0

    async def step(self, *, load=0.3, free=0.3, advance=0.3, may_skip=False):
        """Play a cycle."""
        dut = self.dut
        await self.edge
        if len(self.opened) > 1:
            assert int(dut.is_open.value) == self.opened.pop(0)
        ahead, begun = self.loaded - self.lo, self.begun - self.lo
        assert int(dut.is_loaded.value) == (1 << min(2, ahead)) - 1
        assert int(dut.has_begun.value) == (1 << min(2, begun)) - 1
        assert (int(dut.lo.value), int(dut.next.value)) == (self.lo, self.lo + 1)
        assert int(dut.beginning.value) == self.begun
        was = {name: int(getattr(dut, name).value) for name in ("loaded", "advance", "begin")}
        if was["begin"]:
            turn = int(dut.beginning.value)
            assert turn == self.begun
            assert turn < min(self.lo + self.open_turns, self.loaded, self.ready, self.turns)
            self.begun += 1
            self.begins.append(turn)
        self.loaded += was["loaded"]
        if was["advance"]:
            assert int(dut.end.value) == (self.begun == self.lo + 1)
            self.lo += 1
            self.begun = max(self.begun, self.lo)
        self.opened.append((1 << min(self.open_turns, self.turns - self.lo)) - 1)
        dut.loaded.value = dut.advance.value = 0
        loading = dut.load.value and not was["loaded"] and random.random() < load
        if loading:
            assert int(dut.loading.value) == self.loaded < min(self.lo + SLOTS, self.turns)
            dut.loaded.value = 1
        dut.free.value = random.random() < free
        may = self.loaded > self.lo and (may_skip or self.begun > self.lo)
        may = may and not was["begin"] and not was["advance"]
        dut.advance.value = may and random.random() < advance


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(open_turns=[1, 2], may_skip=[False, True])
async def turns_follow_each_other(dut, open_turns, may_skip):
    """All turns are loaded and end; without skips each begins once, in order."""
    bench = await started(Bench(dut, open_turns))
    while bench.lo < TURNS:
        await bench.step(may_skip=may_skip, advance=0.1)
        assert not (dut.finished.value and bench.lo < TURNS)
        assert not dut.waits.value
    for _ in range(5):
        await bench.edge
    assert dut.finished.value
    assert not dut.load.value
    assert not dut.is_open.value
    assert int(dut.lo.value) == TURNS
    if not may_skip:
        assert bench.begins == list(range(TURNS))
    assert bench.begins == sorted(set(bench.begins))


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(open_turns=[1, 2])
async def what_may_be_is(dut, open_turns):
    """Slots fill ahead, but no more turns begin than are open, and none that is not ready."""
    bench = await started(Bench(dut, open_turns, ready=3))
    for _ in range(100):
        await bench.step(advance=0)
    assert bench.loaded == SLOTS
    assert bench.begun == open_turns
    assert int(dut.is_loaded.value) == 3
    assert int(dut.has_begun.value) == (1 << open_turns) - 1
    for lo in range(1, 4):
        while bench.lo < lo:
            await bench.step(advance=1)
        for _ in range(50):
            await bench.step(advance=0, free=1)
        assert bench.begun == min(3, lo + open_turns)
        assert int(dut.lo.value) == lo
        assert int(dut.next.value) == lo + 1
    assert dut.waits.value
    dut.ready.value = bench.ready = 4
    for _ in range(10):
        await bench.step(advance=0, free=1)
    assert bench.begun == 4


@cocotb.test(timeout_time=100, timeout_unit="us")
async def no_turns_at_all(dut):
    bench = Bench(dut, 1)
    dut.turns.value = 0
    await start(dut)
    for _ in range(10):
        await bench.edge
        assert not dut.load.value
        assert not dut.begin.value
    assert dut.finished.value


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(open_turns=[1, 2])
async def turns_are_counted_in_every_bit(dut, open_turns):
    """Runs the last few turns of jobs of any length, often near a power of two."""
    ends = [(1 << bit) + past for bit in range(3, 32) for past in (1, random.randrange(5))]
    ends += [random.randrange(5, 1 << 32) for _ in range(5)] + [(1 << 32) - 1]
    await start(dut)
    for end in ends:
        first = end - 5
        bench = Bench(dut, open_turns, end - 1, first=first, turns=end)
        dut.rst.value = 1
        await bench.edge
        dut.rst.value = 0
        await bench.edge
        for name in ("lo", "loading", "beginning"):
            getattr(dut.progress, name).value = first
        dut.progress.next.value = first + 1
        await bench.edge
        while bench.lo < end - 1:
            await bench.step(load=0.9, free=0.9)
        for _ in range(20):
            await bench.step(load=1, free=1, advance=0)
        assert bench.begun == end - 1
        assert dut.waits.value
        dut.ready.value = bench.ready = end
        while bench.lo < end:
            await bench.step()
            assert not dut.finished.value
        for _ in range(10):
            await bench.edge
        assert dut.finished.value
        assert not int(dut.is_open.value) | int(dut.load.value) | int(dut.begin.value)
        assert bench.begins == list(range(first, end))
