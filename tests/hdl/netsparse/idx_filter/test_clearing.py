import random
from dataclasses import replace

from cocotb.triggers import ClockCycles, RisingEdge

from hdl.netsparse.idx_filter.clearing import FilterClearing
from hdl.netsparse.idx_filter.params import LINE_BYTES, LINE_IDXS, OPEN_ZEROS
from sim.harness.bench import Bench
from sim.harness.pulses import Pulses
from sim.harness.streams import benched, crossed, cycle, never, often, start, until
from tests.hdl.netsparse.idx_filter.bench import SMALL
from tests.simulated import simulated

TOP = (1 << 20) - 3 * OPEN_ZEROS * LINE_BYTES  #: the highest base: room for all that is cleared

PARAMS = replace(SMALL, banks=2, cache_bytes=2048, idx_bits=20, address_bits=20)
test_clearing = simulated(FilterClearing, [PARAMS], __name__)


class ClearingBench(Bench):
    """A memory that answers ``delay()`` cycles after a zero, and what the banks are told."""

    def __init__(self, dut, stall=never, delay=lambda: 5):
        super().__init__(dut, (never, stall))
        self.delay, self.bad, self.most = delay, (), 0
        self.base = random.randrange(TOP)
        self.count = max(self.params.sets, self.params.unit_rows)
        self.written, self.failed = Pulses(dut, "written"), Pulses(dut, "write_error")
        self.rows = self.record("invalidate", "row")
        self.zeros.add_callback(self.zero)

    @property
    def open(self):
        return len(self.zeros.cycles) - len(self.written.cycles)

    def zero(self, address):
        self.most = max(self.most, self.open)
        wait = self.written.later({}, self.delay())
        if address in self.bad:
            self.failed.later({}, wait)

    async def begin(self):
        """After a reset only the banks are emptied."""
        await super().begin()
        begun = cycle()
        await self.until("busy", 0)
        assert cycle() - begun == self.count + 2
        assert self.rows.beats == [{"row": row} for row in range(self.count)]
        assert self.zeros.beats == []
        assert not self.dut.broken.value
        return self

    async def clear(self, columns, wait=0):
        """Clear; return the cycles from the banks' being idle to the end of ``busy``."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        self.rows.beats.clear()
        self.zeros.beats.clear()
        requested = {"base": self.base, "columns": columns, "clear": 1}
        dut.idle.value = 0
        self.set(control=requested)
        await edge
        self.set(control=requested | {"clear": 0})
        for _ in range(wait):
            await edge
            assert dut.busy.value
            assert not dut.invalidate.value
            assert not dut.zeros_valid.value
        dut.idle.value = 1
        begun = cycle()
        await self.until("busy", 0)
        lines = -(-columns // LINE_IDXS)
        assert self.zeros.beats == [self.base + LINE_BYTES * k for k in range(lines)]
        assert self.rows.beats == [{"row": row} for row in range(self.count)]
        assert self.open == 0
        return cycle() - begun


@crossed(stall=[never, often], us=200)
async def every_line_once(dut, stall):
    bench = await ClearingBench(dut, stall, lambda: random.randrange(20)).begin()
    bases = {LINE_IDXS: 0, 1 << 17: TOP}
    for columns in (0, 1, LINE_IDXS, LINE_IDXS + 1, random.randrange(1 << 14), 1 << 17):
        bench.base = bases.get(columns, random.randrange(TOP))
        await bench.clear(columns, wait=random.randrange(3, 20))
        assert not dut.broken.value


@benched(ClearingBench, us=100)
async def bounded_time(bench):
    for lines in (0, 1, 100):
        took = await bench.clear(lines * LINE_IDXS, wait=3)
        assert took <= max(bench.count, lines) + 5 + 8


@crossed(delay=[OPEN_ZEROS, 2 * OPEN_ZEROS], us=200)
async def few_zeros_are_open(dut, delay):
    bench = await ClearingBench(dut, delay=lambda: delay).begin()
    await bench.clear(3 * OPEN_ZEROS * LINE_IDXS, wait=3)
    assert bench.most == OPEN_ZEROS


@crossed(after_reset=[True, False], us=400)
async def a_clear_while_busy_comes_next(dut, after_reset):
    """A clear comes in any cycle of an emptying or a clearing, and ``busy`` does not fall."""
    bench = ClearingBench(dut)
    requested = {"base": bench.base, "columns": 3 * LINE_IDXS, "clear": 0}
    zeros = [bench.base + LINE_BYTES * k for k in range(3)]

    async def clear():
        bench.set(control=requested | {"clear": 1})
        await bench.wait()
        bench.set(control=requested)

    await bench.begin()
    for wait in range(1, bench.count + 12):
        dut.idle.value = 1
        if after_reset:
            await start(dut)
        else:
            await clear()
        bench.zeros.beats.clear()
        await ClockCycles(dut.clk, wait)
        was_busy = bool(dut.busy.value)
        await clear()
        await until(dut.clk, dut.busy, 0)
        assert bench.zeros.beats == zeros * (1 if after_reset else 2), wait
    assert not was_busy


@crossed(line=[0, 1, 2], us=100)
async def broken_until_the_next_clearing(dut, line):
    """The first write that fails breaks it, one in the middle or the last."""
    bench = ClearingBench(dut)
    bench.bad = {bench.base + line * LINE_BYTES}
    await bench.begin()
    await bench.clear(3 * LINE_IDXS, wait=3)
    assert dut.broken.value
    bench.bad = ()
    await bench.clear(3 * LINE_IDXS, wait=3)
    assert not dut.broken.value
