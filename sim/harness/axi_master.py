"""Reads and writes over AXI4 and AXI4-Lite in compiled code: Python wakes when all has moved."""

from typing import Any, NamedTuple

from cocotb.triggers import Event, Lock
from cocotbext.axi import AxiResp

from sim.harness.stimulus.clocks import clock_number, engine, late, watched

__all__ = ["CompiledMaster"]


class Answer(NamedTuple):
    """Holds what came of a transfer, as cocotbext-axi's masters tell it."""

    resp: AxiResp  #: the worst of all beats
    data: bytes


class CompiledMaster:
    """Drives bus ``name`` of ``dut``, AXI4 or AXI4-Lite, as cocotbext-axi's masters do.

    Addresses and sizes are those of whole beats. Reads wait for each other, and so do writes.
    """

    def __init__(self, dut: Any, name: str) -> None:
        self.clock, bus = clock_number(dut.clk), f"{dut._path}.{name}_"
        self.sides = [(engine().master(self.clock, bus, writes), Lock()) for writes in (0, 1)]

    async def read(self, address: int, length: int) -> Answer:
        """Read ``length`` bytes."""
        return await self._transfer(0, address, bytes(length))

    async def write(self, address: int, data: bytes) -> Answer:
        """Write all of ``data``."""
        return await self._transfer(1, address, data)

    async def _transfer(self, side: int, address: int, data: bytes) -> Answer:
        agent, lock = self.sides[side]
        async with lock:
            came = Event()
            watched[agent] = lambda: late.append(came)
            engine().transfer(self.clock, agent, address, data)
            await came.wait()  # who is cancelled leaves the transfer to come to its end
            worst, result = engine().outcome(agent)
            return Answer(AxiResp(worst), result)
