"""Stands in for a card whose design sends and takes packets: its registers, and its streams."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from cocotb import start_soon
from cocotb.task import resume
from cocotb.triggers import ClockCycles

from sim.host.packet_ports import send, take
from sim.host.simulated import SimulatedRegisters


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
