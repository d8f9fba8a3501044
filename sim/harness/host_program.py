"""Runs the host software that users get with a design on a simulated bus."""

from collections.abc import Callable
from functools import partial
from typing import Any

from sim.harness.axi_master import CompiledMaster
from sim.harness.host_device import HostDevice
from sim.harness.host_side import HostSide
from sim.harness.register_driver import RegisterDriver
from sim.harness.threads import bridge

PATIENCE = 3600.0  #: seconds that a wait may take: a simulation has its own limit, of its own time


class HostProgram(RegisterDriver):
    """Awaits each method of a design's host software, and reads and writes fields beside it.

    The program is made at the first call. A method runs in a thread, in which each access lets
    simulated time go on until the hardware has answered. ``bus`` is an AXI4-Lite bus of ``dut``'s
    by its name, or a master; ``memory`` reads and writes what the program calls memory.
    """

    def __init__(self, dut: Any, bus: Any, side: HostSide, memory: Any = None) -> None:
        super().__init__(dut, CompiledMaster(dut, bus) if isinstance(bus, str) else bus, side.map)
        self.side, self.device = side, HostDevice(self.axil, memory, posts=True)
        self.registers.bus = self.device
        self.program: Any = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self.run, name)

    async def run(self, name: str, *args: Any, **named: Any) -> Any:
        """Await a method of the program."""
        return await self.do(lambda _: self.call(name, *args, **named))

    async def do(self, function: Callable[[Any], Any]) -> Any:
        """Await ``function`` of the program, which calls its methods, or what works on it."""
        result = await bridge(lambda: function(self.built()))()
        await self.device.settle()
        return result

    def call(self, name: str, *args: Any, **named: Any) -> Any:
        """Return what a method of the program returns; only for a thread that is bridged."""
        return getattr(self.built(), name)(*args, **named)

    def built(self) -> Any:
        """Return the program; only for a thread that is bridged."""
        if self.program is None:
            self.program = self.side.program(self.device, self.registers)
            self.program.seconds = PATIENCE
        return self.program
