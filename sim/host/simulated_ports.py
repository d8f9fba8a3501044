"""Stands in for a card whose design sends and takes packets: its registers, and its streams."""

import random
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from cocotb import start_soon
from cocotb.task import resume
from cocotb.triggers import ClockCycles, RisingEdge

from sim.host.packet_ports import send, take
from sim.host.simulated import SimulatedRegisters

QUIET_CYCLES = 64  #: after which a few answers that waited for a port have left


class Arrival(NamedTuple):
    """Describes a packet that comes at the port ``name``; a corrupt one has a wrong checksum."""

    name: str
    data: bytes
    corrupt: bool = False


class SimulatedPorts(SimulatedRegisters):
    """Drives a simulated design with a stream in and one out for each of ``names``.

    They are ``s_axis_NAME`` and ``m_axis_NAME``. ``came`` are the packets that have left each;
    whatever a packet is answered with has left ``answer_cycles`` after it.
    """

    def __init__(self, dut: Any, names: Iterable[str], answer_cycles: int) -> None:
        super().__init__(dut)
        self.answer_cycles = answer_cycles
        self.came: dict[str, deque[bytes]] = {name: deque() for name in names}

    async def start(self) -> None:
        """Reset the design, with silence at its ports."""
        for name in self.came:
            getattr(self.dut, f"s_axis_{name}_tvalid").value = 0
            getattr(self.dut, f"s_axis_{name}_tuser").value = 0
            getattr(self.dut, f"m_axis_{name}_tready").value = 1
            start_soon(self._watch(name))
        await super().start()

    async def _watch(self, name: str) -> None:
        while True:
            self.came[name].append(await take(self.dut, f"m_axis_{name}"))

    @resume
    async def send(self, name: str, packet: bytes) -> None:
        """Send a packet into a stream, and wait for what it is answered with."""
        await send(self.dut, f"s_axis_{name}", packet)
        await ClockCycles(self.dut.clk, self.answer_cycles)

    @resume
    async def play(self, arrivals: Iterable[Arrival]) -> None:
        """Send packets, of which no two end in one cycle, and wait for what they are answered with.

        Until the last is sent, each port takes what leaves in all, some or none of the cycles.
        """
        stalling = start_soon(self._stall())
        for name, data, corrupt in arrivals:
            await send(self.dut, f"s_axis_{name}", data, corrupt=corrupt)
            if not random.randrange(4):
                await ClockCycles(self.dut.clk, random.randint(1, 7))
        stalling.cancel()
        for name in self.came:
            getattr(self.dut, f"m_axis_{name}_tready").value = 1
        await ClockCycles(self.dut.clk, QUIET_CYCLES)

    async def _stall(self) -> None:
        shares = {name: random.choice((0, 0.5, 1)) for name in self.came}
        while True:
            for name, share in shares.items():
                getattr(self.dut, f"m_axis_{name}_tready").value = int(random.random() < share)
            await RisingEdge(self.dut.clk)
