"""Stands in for a card with a gather engine, in a slot of cocotbext-pcie's root complex."""

import time
from typing import Any

from cocotb import start_soon
from cocotb.task import resume
from cocotb.triggers import ClockCycles, RisingEdge

from sim.gather.host.build import Build
from sim.host.host_memory import PAYLOAD, READ_SIZE, HostMemory
from sim.host.memory_port import memory_behind

BAR, BAR_BYTES = 0, 4096
PAUSE_CYCLES = 64
INTERRUPT_CYCLES = 4  #: until the block says that it has sent one


class SimulatedEngine:
    """Drives a simulated engine: registers, host memory from address 0 on, device memory.

    ``packets`` are rows that have come by the stream, each with its ``tuser``, if it has one.
    """

    def __init__(self, dut: Any, build: Build, memory_bytes: int) -> None:
        self.dut, self.build = dut, build
        on_card = build.fixed["to_memory"] or build.fixed["card_idxs"]
        if on_card:
            self.read_card = memory_behind(dut, "m_axi").read
        self.packets: list[tuple[bytes, bool]] = []
        self.interrupts = 0
        dut.msix_sent.value = dut.msix_failed.value = 0
        dut.msix_enable.value, dut.limit.value = 1, READ_SIZE
        if build.fixed["to_host"]:
            dut.payload_limit.value = PAYLOAD
        bars = [(BAR, BAR_BYTES)]
        self.host = HostMemory(dut, ("rq", "rc", "cq", "cc"), memory_bytes, bars=bars)
        self.read_memory, self.write_memory = self.host.read, self.host.write
        self.window: Any = None

    async def start(self) -> None:
        """Let the host find the card, with a consumer of its rows."""
        if self.build.fixed["to_stream"]:
            start_soon(self.consume())
        start_soon(self.answer_interrupts())
        self.window = (await self.host.start()).bar_window[BAR]

    async def answer_interrupts(self) -> None:
        """Say of each interrupt, some cycles later, that the block has sent it."""
        while True:
            await RisingEdge(self.dut.msix_send)
            self.interrupts += 1
            await ClockCycles(self.dut.clk, INTERRUPT_CYCLES)
            self.dut.msix_sent.value = 1
            await RisingEdge(self.dut.clk)
            self.dut.msix_sent.value = 0

    async def consume(self) -> None:
        """Take all rows of the stream."""
        dut, row = self.dut, b""
        dut.m_axis_tready.value = 1
        size = len(dut.m_axis_tkeep)
        while True:
            await RisingEdge(dut.clk)
            if dut.rst.value or not dut.m_axis_tvalid.value:
                continue
            stored = int(dut.m_axis_tkeep.value).bit_count()
            row += int(dut.m_axis_tdata.value).to_bytes(size, "little")[:stored]
            if dut.m_axis_tlast.value:
                self.packets.append((row, bool(dut.m_axis_tuser.value)))
                row = b""

    @resume
    async def read(self, address: int) -> int:
        """Return a register."""
        return int.from_bytes(await self.window.read(address, 4), "little")

    @resume
    async def write(self, address: int, word: int) -> None:
        """Write a register."""
        await self.window.write(address, word.to_bytes(4, "little"))

    @resume
    async def pause(self) -> None:
        """Let clock cycles pass."""
        await ClockCycles(self.dut.clk, PAUSE_CYCLES)

    def wait_interrupt(self, seconds: float) -> bool:
        """Wait for an interrupt, also one since the last wait; return whether one has come."""
        end = time.monotonic() + seconds
        while not self.interrupts and time.monotonic() < end:
            self.pause()
        came, self.interrupts = bool(self.interrupts), 0
        return came
