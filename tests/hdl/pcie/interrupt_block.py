"""Acts as the part of AMD's block that sends interrupts."""

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from sim.harness.records import Recorder
from sim.harness.streams import cycle

VECTORS, PATIENCE = 5, 40


class Block:
    """Answers each request ``least`` to ``most`` cycles later; a share of all fails."""

    def __init__(self, dut, least=0, most=5, failing=0.0):
        self.dut, self.delays, self.failing = dut, (least, most), failing
        self.sent, self.cycles, self.failures = [], [], 0
        dut.demands.value = dut.sent.value = dut.failed.value = 0
        dut.enable.value, dut.clear.value = 1, 0
        self.late, self.silent = (Recorder(dut, name, {}) for name in ("late", "silent"))
        cocotb.start_soon(self.answer())

    async def answer(self):
        dut, rest, vector = self.dut, 0, None
        while True:
            await RisingEdge(dut.clk)
            dut.sent.value = dut.failed.value = 0
            if dut.send.value and not dut.rst.value:
                assert vector is None, "asked before the last one was answered"
                bits = int(dut.vector.value)
                assert bits.bit_count() == 1
                assert dut.enable.value
                vector, rest = bits.bit_length() - 1, random.randint(*self.delays)
                self.cycles.append(cycle())
            elif rest:
                rest -= 1
            elif vector is not None:
                fails = random.random() < self.failing
                (dut.failed if fails else dut.sent).value = 1
                self.failures += fails
                if not fails:
                    self.sent.append(vector)
                vector = None

    async def issue(self, *vectors):
        self.dut.demands.value = sum(1 << vector for vector in vectors)
        await RisingEdge(self.dut.clk)
        self.dut.demands.value = 0

    async def until(self, count):
        for _ in range(2000):
            if len(self.sent) >= count:
                break
            await RisingEdge(self.dut.clk)
        await ClockCycles(self.dut.clk, 20)
        assert len(self.sent) == count
