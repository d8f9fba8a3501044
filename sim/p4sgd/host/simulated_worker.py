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
        self.memories: dict[int, list[Any]] = {}  # those of one address have the same content
        for place, port in zip((*build.words, build.labels), ports, strict=True):
            self.memories.setdefault(place, []).append(memory_behind(dut, port))

    async def start(self) -> None:
        """Reset the worker, with silence on its network."""
        self.dut.s_axis_tvalid.value = 0
        self.dut.m_axis_tready.value = 0
        await super().start()

    def _memory(self, address: int) -> tuple[list[Any], int]:
        """Return the memories that ``address`` lies in, and where in them."""
        base = max(place for place in self.memories if place <= address)
        return self.memories[base], address - base

    def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of the model, or of the memory at a port."""
        if address >= self.build.model:
            return read_bus(self.model, address - self.build.model, size)
        memories, offset = self._memory(address)
        return memories[0].read(offset, size)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of the model, or of the memory at a port."""
        if address >= self.build.model:
            write_bus(self.model, address - self.build.model, data)
        else:
            memories, offset = self._memory(address)
            for memory in memories:
                memory.write(offset, data)
