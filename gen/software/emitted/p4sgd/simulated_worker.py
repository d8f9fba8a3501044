"""Stands in for a card with a worker: registers, model port and memories of a simulated one."""

from typing import Any

from cocotb import start_soon
from cocotbext.axi import AxiBus, AxiMaster

from gen.software.emitted.memory_port import serve_reads
from gen.software.emitted.p4sgd.build import Build
from gen.software.emitted.simulated import SimulatedRegisters, quiet, read_bus, write_bus
from gen.software.emitted.sparse_memory import SparseMemory


class SimulatedWorker(SimulatedRegisters):
    """Drives a simulated worker whose memories lie at the addresses of ``build``.

    Nothing is behind its network ports: the worker trains alone.
    """

    def __init__(self, dut: Any, build: Build) -> None:
        super().__init__(dut)
        self.build = build
        self.model = AxiMaster(AxiBus.from_prefix(dut, "s_axi_model"), dut.clk, dut.rst)
        quiet(dut, "s_axi_model")
        ports = [f"m_axi_words_{k}" for k in range(len(build.words))] + ["m_axi_labels"]
        self.memories = {port: SparseMemory() for port in ports}
        self.places = dict(zip((*build.words, build.labels), ports, strict=True))

    async def start(self) -> None:
        """Reset the worker, with memory behind its ports and silence on its network."""
        self.dut.s_axis_tvalid.value = 0
        self.dut.m_axis_tready.value = 0
        for port, memory in self.memories.items():
            start_soon(serve_reads(self.dut, port, memory))
        await super().start()

    def _memory(self, address: int) -> tuple[SparseMemory, int]:
        """Return the memory that ``address`` lies in, and where in it."""
        base = max(place for place in self.places if place <= address)
        return self.memories[self.places[base]], address - base

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
