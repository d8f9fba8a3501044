"""Reads and writes simulated memories beside their buses, as a processor or a card's DMA does."""

from collections.abc import Iterator
from typing import Any

from cocotb.triggers import RisingEdge

from sim.harness.payloads import pack
from sim.surroundings.axi_ram import AxiRamParams
from sim.surroundings.pcie.params import PcieHostParams


class SidePort:
    """Accesses memory ``index`` of a simulated system, or its only one; ``name`` says which kind.

    ``params`` are the memory's. A beat is written in a cycle; the first one is read in two, and
    each further one in one.
    """

    def __init__(
        self,
        dut: Any,
        params: AxiRamParams | PcieHostParams,
        index: int | None = None,
        name: str = "",
    ) -> None:
        self.layout, self.beat_bytes = params.access, params.data_bits // 8
        self.edge = RisingEdge(dut.clk)
        kind, which = f"{name}_" if name else "", "" if index is None else f"_{index}"
        self._access = getattr(dut, f"{kind}access{which}")
        self._accessed = getattr(dut, f"{kind}accessed{which}")
        self._access.value = 0

    async def read_memory(self, address: int, size: int) -> bytes:
        """Return the bytes from ``address`` on."""
        first = address % self.beat_bytes
        beats = range(address // self.beat_bytes, -(-(address + size) // self.beat_bytes))
        octets = b""
        for beat in beats:
            self._access.value = pack(self.layout, {"valid": 1, "beat": beat})
            await self.edge
            if beat != beats.start:  # what was read a cycle ago has come
                octets += self._held()
        self._access.value = 0
        if beats:
            await self.edge
            octets += self._held()
        return octets[first : first + size]

    def _held(self) -> bytes:
        """Return the beat that was read."""
        return int(self._accessed.value).to_bytes(self.beat_bytes, "little")

    async def write_memory(self, address: int, octets: bytes) -> None:
        """Write ``octets`` to ``address``; they are there when this returns."""
        for beat, first, part in self._beats(address, octets):
            fields = {
                "valid": 1,
                "beat": beat,
                "strobes": (1 << len(part)) - 1 << first,
                "data": int.from_bytes(part, "little") << 8 * first,
            }
            self._access.value = pack(self.layout, fields)
            await self.edge
        self._access.value = 0

    def _beats(self, address: int, octets: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yield each beat's number, the byte in it that comes first, and its part of ``octets``."""
        beat, first = divmod(address, self.beat_bytes)
        at = 0
        while at < len(octets):
            part = octets[at : at + self.beat_bytes - first]
            yield beat, first, part
            beat, first, at = beat + 1, 0, at + len(part)
