"""Stands in for a card in a cocotb test: the program that runs on the card runs on the RTL.

The program is ordinary Python that waits for its registers. ``await bridge(program)(device)``
(:func:`cocotb.task.bridge`) runs it in a thread, and each access of ``device`` lets simulated time
go on until the hardware has answered.
"""

from typing import Any

import cocotb
from cocotb import start_soon
from cocotb.clock import Clock
from cocotb.task import resume
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiMaster, AxiResp

from sim.host.device import DeviceError
from sim.host.quiet import quiet

CLOCK_NS = 4
RESET_CYCLES = 32  #: without the argument +reset
PAUSE_CYCLES = 64


class SimulatedRegisters:
    """Reaches the registers of a simulated design at its bus ``s_axil``, or at another one."""

    def __init__(self, dut: Any, bus: str = "s_axil") -> None:
        self.dut = dut
        quiet(dut, bus)
        self.axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, bus), dut.clk, dut.rst)

    async def start(self) -> None:
        """Start the clock and reset the design; the caller has set the inputs that matter.

        The simulation's argument ``+reset=N`` sets the number of cycles of the reset.
        """
        cycles = int(cocotb.plusargs.get("reset", RESET_CYCLES))
        start_soon(Clock(self.dut.clk, CLOCK_NS, unit="ns").start())
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, cycles)
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 1)

    @resume
    async def _read(self, address: int) -> bytes:
        answer: Any = await self.axil.read(address, 4)
        checked(answer, f"reading register {address:#x}")
        return answer.data

    def read(self, address: int) -> int:
        """Return a register."""
        return int.from_bytes(self._read(address), "little")

    @resume
    async def write(self, address: int, word: int) -> None:
        """Write a register."""
        answer: Any = await self.axil.write(address, word.to_bytes(4, "little"))
        checked(answer, f"writing register {address:#x}")

    @resume
    async def pause(self) -> None:
        """Let clock cycles pass."""
        await ClockCycles(self.dut.clk, PAUSE_CYCLES)


@resume
async def read_bus(bus: AxiMaster, address: int, size: int) -> bytes:
    """Return ``size`` bytes behind an AXI port of the design."""
    answer: Any = await bus.read(address, size)
    checked(answer, f"reading {address:#x}")
    return bytes(answer.data)


@resume
async def write_bus(bus: AxiMaster, address: int, data: bytes) -> None:
    """Write ``data`` behind an AXI port of the design."""
    checked(await bus.write(address, data), f"writing {address:#x}")


def checked(answer: Any, what: str) -> None:
    """Raise DeviceError unless the hardware answered OKAY."""
    if answer.resp != AxiResp.OKAY:
        raise DeviceError(f"{what} was answered by {answer.resp.name}")
