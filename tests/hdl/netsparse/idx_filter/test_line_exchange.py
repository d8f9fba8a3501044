import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.idx_filter.line_exchange import DRAIN, LineExchange
from hdl.netsparse.idx_filter.params import LINE_BYTES, LINE_IDXS, LINE_WORDS, FilterCacheParams
from sim.harness.bench import Bench
from sim.harness.pulses import Pulses
from sim.harness.streams import benched, crossed, cycle, mostly, never
from sim.harness.verilator import params_in_simulator
from tests.hdl.netsparse.idx_filter.bench import SMALL
from tests.simulated import simulated

BASE = 0x800
MASK = (1 << 64) - 1

test_line_exchange = simulated(LineExchange, [SMALL], __name__)


class ExchangeBench(Bench):
    """Has the words of a bank's victim, a memory, and all that happens."""

    def __init__(self, dut, stall=never, delay=lambda: 20, base=BASE):
        super().__init__(dut, (never, stall), base=base)
        self.delay, self.base = delay, base
        self.words = []  # of the victim, as they are read
        self.new = []  # (cycle, word, data) that were written
        self.reads, self.ends = [], []  # (cycle, word); (cycle, "install" or "drop")
        self.fill = (0, 0)  # data and error
        self.filled, self.written = Pulses(dut, "filled", "data", "error"), Pulses(dut, "written")
        self.acknowledged = self.record("written", "busy")
        self.fills.add_callback(self.issue)
        self.write_backs.add_callback(self.back)
        cocotb.start_soon(self.run())

    def issue(self, _):
        self.filled.later(dict(zip(("data", "error"), self.fill, strict=True)), self.delay())

    def back(self, _):
        self.written.later({}, self.delay())

    async def run(self):
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        pipeline = [0] * LineExchange.read_latency
        while True:
            await edge
            if dut.rst.value:
                continue
            word = int(dut.word.value)
            pipeline.append(self.words[word] if dut.reading.value else random.getrandbits(64))
            dut.read_data.value = pipeline.pop(1)
            if dut.reading.value:
                self.reads.append((cycle(), word))
            if dut.write.value:
                self.new.append((cycle(), word, int(dut.write_data.value)))
            for name in ("install", "drop"):
                if getattr(dut, name).value:
                    self.ends.append((cycle(), name))

    async def exchange(self, *, dirty, blank=False, error=False, line=None, victim=None):
        """Check one miss; return its cycles from ``start`` on. What is ``blank`` is zeros."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        for seen in (self.new, self.reads, self.ends, self.fills.beats, self.write_backs.beats):
            seen.clear()
        line = random.randrange(1 << 7) if line is None else line
        victim = line ^ random.randrange(1, 1 << 7) if victim is None else victim
        self.words = [random.getrandbits(64) for _ in range(LINE_WORDS)]
        self.fill = 0 if blank else random.getrandbits(LINE_IDXS), error
        dut.start.value, dut.victim_dirty.value, dut.blank.value = 1, dirty, blank
        dut.line.value, dut.victim_line.value = line, victim
        await edge
        begun = cycle()
        dut.start.value = 0
        dut.blank.value = random.getrandbits(1)
        dut.line.value = dut.victim_line.value = random.randrange(1 << 7)
        dut.victim_dirty.value = random.getrandbits(1)
        await self.until("busy", 0)
        assert not dut.waiting.value
        assert all(item["busy"] for item in self.acknowledged.beats), "the victim comes only now"
        assert self.fills.beats == ([] if blank else [self.base + LINE_BYTES * line])
        content = sum(word << 64 * k for k, word in enumerate(self.words))
        back = {"address": self.base + LINE_BYTES * victim, "data": content}
        assert self.write_backs.beats == ([back] if dirty else [])
        assert [word for _, word in self.reads] == (list(range(LINE_WORDS)) if dirty else [])
        assert not dirty or self.reads[0][0] == begun + DRAIN + 1, "sets are under way until then"
        ((ended, how),) = self.ends
        if error:
            assert (how, self.new) == ("drop", [])
        else:
            new = [(k, self.fill[0] >> 64 * k & MASK) for k in range(LINE_WORDS)]
            assert [item[1:] for item in self.new] == new
            assert how == "install"
            assert ended == self.new[-2][0]
            assert self.new[0][0] > begun + DRAIN, "requests ahead write their words until then"
            assert not self.reads or self.reads[-1][0] < self.new[0][0], "the victim is lost"
        return ended - begun


@crossed((("stall", "base"), [(never, 0), (never, 0x5A40), (mostly, 0xE000)]), us=100)
async def lines_change_places(dut, stall, base):
    bench = await ExchangeBench(dut, stall, lambda: random.randrange(1, 25), base).begin()
    first, last = 0, (1 << 7) - 1
    await bench.exchange(dirty=True, line=first, victim=last)
    await bench.exchange(dirty=True, line=last, victim=first)
    for k in range(60):
        await bench.exchange(dirty=random.random() < 0.6, error=k % 7 == 3)
        if k % 3 == 0:
            await bench.exchange(dirty=False, blank=True)
    assert params_in_simulator(FilterCacheParams).ways == 2


@benched(ExchangeBench, us=50)
async def latency(bench):
    for dirty in (False, True, False):
        took = await bench.exchange(dirty=dirty)
        memory = bench.filled.cycles[-1] - bench.fills.cycles[-1]
        assert took == memory + LineExchange.latency
    assert await bench.exchange(dirty=False, blank=True) == LineExchange.blank_latency
