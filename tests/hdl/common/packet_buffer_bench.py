"""Drives a packet buffer."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.packet_buffer import PacketBufferParams
from sim.harness.streams import cycle, edges, never
from sim.harness.verilator import params_in_simulator

WIDTH = 20


class Bench:
    """Writes packets as ``room`` allows, and knows what comes out."""

    def __init__(self, dut, stall=never):
        self.dut, self.edge = dut, RisingEdge(dut.clk)
        self.params = params_in_simulator(PacketBufferParams)
        self.expected, self.kept_in = [], []  # words, and the cycle in which each packet was kept
        self.written = 0
        self.words, self.stall = [], stall  # to be written: word, last, keep
        dut.write.value, dut.ends.value = 0, 0
        cocotb.start_soon(self.write())

    def add(self, count, keep=True, alone=False):
        """Add a packet; if it is ``alone``, its end comes after its last word."""
        edges = (0, (1 << WIDTH) - 1)
        words = [random.choice((*edges, *[random.getrandbits(WIDTH)] * 8)) for _ in range(count)]
        self.words += [(word, k == count - 1 and not alone, keep) for k, word in enumerate(words)]
        if alone:
            self.words.append((None, True, keep))
        self.expected += words if keep else []

    async def write(self):
        """Write a word when there is room; it arrives as late as is allowed."""
        line = [None] * (self.params.behind - 1)
        while True:
            await self.edge
            go = self.words and self.dut.room.value and not self.stall()
            line.append(self.words.pop(0) if go and not self.dut.rst.value else None)
            word, ends, keep = line.pop(0) or (None, False, False)
            self.dut.write.value, self.dut.ends.value = word is not None, ends
            self.dut.word.value = random.getrandbits(WIDTH) if word is None else word
            self.dut.keep.value = keep if ends else random.getrandbits(1)
            self.written += word is not None
            if ends and keep:
                self.kept_in.append(cycle() + 1)  # the edge that sees it

    async def drain(self, sink):
        """Wait until everything that was kept has come out, and nothing else."""
        await sink.wait_for(len(self.expected))
        while self.words:  # of packets that are not kept
            await self.edge
        await edges(self.dut.clk, 30)
        assert sink.beats == self.expected
        assert self.dut.room.value
