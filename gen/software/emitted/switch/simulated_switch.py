"""Stands in for a card with a switch: its registers, and the workers at its ports."""

from collections import deque
from typing import Any

from cocotb import start_soon
from cocotb.task import resume
from cocotb.triggers import ClockCycles

from gen.software.emitted.packet_ports import send, take
from gen.software.emitted.simulated import SimulatedRegisters
from gen.software.emitted.switch.build import Build

ANSWER_CYCLES = 200  #: after which every answer to a frame has left


class SimulatedSwitch(SimulatedRegisters):
    """Drives a simulated switch; ``came`` are the frames that have left each port."""

    def __init__(self, dut: Any, build: Build) -> None:
        super().__init__(dut)
        self.ports = range(build.fixed["ports"])
        self.came: dict[int, deque[bytes]] = {port: deque() for port in self.ports}

    async def start(self) -> None:
        """Reset the switch, with silent workers at its ports."""
        for port in self.ports:
            getattr(self.dut, f"s_axis_{port}_tvalid").value = 0
            getattr(self.dut, f"s_axis_{port}_tuser").value = 0
            getattr(self.dut, f"m_axis_{port}_tready").value = 1
            start_soon(self._watch(port))
        await super().start()

    async def _watch(self, port: int) -> None:
        while True:
            self.came[port].append(await take(self.dut, f"m_axis_{port}"))

    @resume
    async def send(self, port: int, frame: bytes) -> None:
        """Send a frame to the switch as the worker at a port, and wait for what it answers."""
        await send(self.dut, f"s_axis_{port}", frame)
        await ClockCycles(self.dut.clk, ANSWER_CYCLES)
