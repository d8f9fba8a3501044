"""Runs the host software of a SNIC in a simulation."""

from typing import Any

from cocotb.triggers import ClockCycles

from hdl.netsparse.params import SnicParams
from sim.harness.host_program import HostProgram
from sim.harness.threads import resume
from sim.netsparse.snic_side import snic_side

LOOK_CYCLES = 8  #: cycles between two looks at the completion ring


class SnicProgram(HostProgram):
    """Drives a SNIC, whose interrupt is bit ``index`` of ``interrupts``.

    By registers the host sleeps until there is an interrupt; by rings, which are in ``memory``, it
    looks again and again.
    """

    def __init__(
        self,
        dut: Any,
        params: SnicParams,
        bus: Any = "s_axil",
        memory: Any = None,
        interrupts: Any = None,
        index: int = 0,
    ) -> None:
        super().__init__(dut, bus, snic_side(params), memory)
        self.params, self.interrupts, self.index = params, interrupts, index
        self.looks = False

    def built(self) -> Any:
        """Return the program, which lets simulated time pass while no request ends."""
        if self.program is None:
            super().built().idle = resume(self.idle)
        return self.program

    async def use_rings(self, address: int, *places: int) -> None:
        """Submit requests by rings from now on."""
        self.looks = True
        await self.run("use_rings", address, *places)

    async def use_registers(self) -> None:
        """Submit requests by registers again."""
        self.looks = False
        await self.run("use_registers")

    async def idle(self) -> None:
        """Let time pass until completions may have come."""
        await self.device.settle()
        if self.looks:
            await ClockCycles(self.dut.clk, LOOK_CYCLES)
        else:
            await self.interrupt()

    async def interrupt(self) -> None:
        """Wait until the SNIC's interrupt is there."""
        while not int(self.interrupts.value) >> self.index & 1:
            await self.interrupts.value_change
