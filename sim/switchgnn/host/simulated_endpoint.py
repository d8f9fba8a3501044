"""Stands in for a card: a simulated endpoint with its registers, memories and network."""

from collections.abc import Callable, Iterable
from typing import Any

from cocotb import start_soon

from sim.host.memory_port import memory_behind
from sim.host.packet_ports import answer_packets
from sim.host.simulated import SimulatedRegisters
from sim.switchgnn.golden.frames import Frame
from sim.switchgnn.host.build import Build
from sim.switchgnn.host.gnn_frames import from_octets, to_octets

#: takes a frame of the endpoint, and returns the frames that come back
Network = Callable[[Frame], Iterable[Frame]]
ADDRESS_BYTES = 6


class SimulatedEndpoint(SimulatedRegisters):
    """Drives a simulated endpoint whose frames go to ``network``, which answers them at once."""

    def __init__(self, dut: Any, build: Build, network: Network) -> None:
        super().__init__(dut)
        self.build, self.network = build, network
        self.memories = {name: memory_behind(dut, f"m_axi_{name}") for name in build.regions}

    async def start(self) -> None:
        """Reset the endpoint, and connect the network to its streams."""
        dut = self.dut
        dut.s_axis_tvalid.value, dut.s_axis_tuser.value, dut.m_axis_tready.value = 0, 0, 1
        start_soon(answer_packets(dut, "m_axis", "s_axis", self._answer))
        await super().start()

    def _answer(self, octets: bytes) -> list[bytes]:
        """Hand the bytes of a frame to the network; return the frames that come back."""
        lanes = self.build.fixed["lanes"]
        to, sender = octets[:ADDRESS_BYTES], octets[ADDRESS_BYTES : 2 * ADDRESS_BYTES]
        answers = self.network(from_octets(octets, lanes))
        return [to_octets(answer, lanes, sender, to) for answer in answers]

    def _memory(self, address: int) -> tuple[Any, int]:
        """Return the memory that ``address`` lies in, and its address there."""
        name = max((n for n in self.memories if self.build.region(n).dma <= address), key=self._dma)
        region = self.build.region(name)
        return self.memories[name], address - region.dma + region.address

    def _dma(self, name: str) -> int:
        return self.build.region(name).dma

    def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of the memory at a port."""
        memory, place = self._memory(address)
        return memory.read(place, size)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of the memory at a port."""
        memory, place = self._memory(address)
        memory.write(place, data)
