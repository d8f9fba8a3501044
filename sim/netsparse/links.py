"""Drives the ends of links: sends packets over a simulated AXI4-Stream, and takes them."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from sim.harness.streams import Stall, cycle, never
from sim.netsparse.wire import Beat

FIELDS = ("tdata", "tkeep", "tlast", "tuser")


class Sender:
    """Sends beats over an AXI4-Stream, pausing when ``stall`` says so."""

    def __init__(self, dut: Any, name: str, stall: Stall = never) -> None:
        self.dut, self.name, self.stall = dut, name, stall
        self.queue: deque[Beat] = deque()
        self.signals = {field: getattr(dut, f"{name}_{field}") for field in FIELDS}
        self.valid, self.ready = getattr(dut, f"{name}_tvalid"), getattr(dut, f"{name}_tready")
        self.valid.value = 0
        self.busy = False
        self.moved = 0  # cycle of the last beat
        cocotb.start_soon(self.run())

    async def run(self) -> None:
        """Send, at every edge of the clock, for ever."""
        edge = RisingEdge(self.dut.clk)
        while True:
            if not self.queue or self.stall():
                self.busy = bool(self.queue)
                await edge
                continue
            self.busy = True
            beat = self.queue.popleft()
            for signal, value in zip(self.signals.values(), beat, strict=True):
                signal.value = value
            self.valid.value = 1
            await edge
            while not self.ready.value:
                await edge
            self.moved = cycle()
            self.valid.value = 0
            self.busy = bool(self.queue)


class Receiver:
    """Takes packets from an AXI4-Stream, unless it is ``stopped``."""

    def __init__(
        self,
        dut: Any,
        name: str,
        take: Callable[[Sequence[Beat]], None],
        stall: Stall = never,
    ) -> None:
        self.dut, self.name, self.take, self.stall = dut, name, take, stall
        self.stopped = False
        self.beats: list[Beat] = []
        self.packets = 0
        self.octets = 0
        self.begun: list[int] = []  # cycles in which packets' first beats were there
        cocotb.start_soon(self.run())

    async def run(self) -> None:
        """Receive, at every edge of the clock, for ever."""
        edge = RisingEdge(self.dut.clk)
        valid, ready = (getattr(self.dut, f"{self.name}_{field}") for field in ("tvalid", "tready"))
        signals = [getattr(self.dut, f"{self.name}_{field}") for field in FIELDS]
        while True:
            ready.value = not (self.stopped or self.stall())
            await edge
            if valid.value and not self.beats and len(self.begun) == self.packets:
                self.begun.append(cycle())
            if not (valid.value and ready.value) or self.dut.rst.value:
                continue
            tdata, tkeep, tlast, tuser = (int(signal.value) for signal in signals)
            self.beats.append((tdata, tkeep, tlast, tuser))
            if self.beats[-1][2]:
                beats, self.beats = self.beats, []
                self.packets += 1
                self.octets += sum(beat[1].bit_count() for beat in beats)
                self.take(beats)
