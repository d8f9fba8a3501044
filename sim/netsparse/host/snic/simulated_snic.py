"""Stands in for a card with a SNIC: registers, host memory, SNIC memory and one other node."""

from collections.abc import Callable
from typing import Any

from cocotb import start_soon

from sim.host.memory_port import memory_behind
from sim.host.simulated import SimulatedRegisters
from sim.netsparse.host.snic.build import Build
from sim.netsparse.host.snic.peer import answer_reads

STREAMS = ("reads", "responses")  #: classes of packets


class SimulatedSnic(SimulatedRegisters):
    """Drives a simulated SNIC; node ``peer`` answers its reads with ``row_of`` an idx.

    ``host`` is its host's memory where that is behind PCI Express (:mod:`host_memory`).
    """

    def __init__(
        self, dut: Any, build: Build, peer: int, row_of: Callable[[int], bytes], host: Any = None
    ) -> None:
        super().__init__(dut)
        self.build, self.peer, self.row_of = build, peer, row_of
        self.host = host or memory_behind(dut, "m_axi_host")
        self.own = memory_behind(dut, "m_axi_dram")

    async def start(self) -> None:
        """Reset the SNIC, with the other node on its network."""
        for name in STREAMS:
            getattr(self.dut, f"s_axis_{name}_tvalid").value = 0
            getattr(self.dut, f"s_axis_{name}_tuser").value = 0
            getattr(self.dut, f"m_axis_{name}_tready").value = 1
        start_soon(answer_reads(self.dut, self.peer, self.build.fixed["mtu"], self.row_of))
        await getattr(self.host, "start", super().start)()  # a root complex gives the clock

    def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of host memory."""
        return self.host.read(address, size)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of host memory."""
        self.host.write(address, data)
