"""Stands in for a card with a worker: registers, model port and memories of a simulated one."""

from typing import Any

from cocotbext.axi import AxiBus, AxiMaster

from sim.host.memory_port import memory_behind
from sim.host.quiet import quiet
from sim.host.simulated import SimulatedRegisters, read_bus, write_bus
from sim.p4sgd.host.build import Build


class SimulatedWorker(SimulatedRegisters):
    """Drives a simulated worker whose memories lie at the addresses of ``build``.

    Nothing is behind its network ports: the worker trains alone.
    """

    def __init__(self, dut: Any, build: Build) -> None:
        super().__init__(dut)
        self.build = build
        quiet(dut, "s_axi_model")
        self.model = AxiMaster(AxiBus.from_prefix(dut, "s_axi_model"), dut.clk, dut.rst)
        ports = [f"m_axi_words_{k}" for k in range(len(build.words))] + ["m_axi_labels"]
        memories = [memory_behind(dut, port) for port in ports]
        self.memories = dict(zip((*build.words, build.labels), memories, strict=True))

    async def start(self) -> None:
        """Reset the worker, with silence on its network."""
        self.dut.s_axis_tvalid.value = 0
        self.dut.m_axis_tready.value = 0
        await super().start()

    def _memory(self, address: int) -> tuple[Any, int]:
        """Return the memory that ``address`` lies in, and where in it."""
        base = max(place for place in self.memories if place <= address)
        return self.memories[base], address - base

    def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of the model, or of the memory at a port."""
        if address >= self.build.model:
            return read_bus(self.model, address - self.build.model, size)
        memory, offset = self._memory(address)
        return memory.read(offset, size)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of the model, or of the memory at a port."""
        if address >= self.build.model:
            write_bus(self.model, address - self.build.model, data)
        else:
            memory, offset = self._memory(address)
            memory.write(offset, data)
