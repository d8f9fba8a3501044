"""Reads and writes a host's own memory in a simulation, as its processor does."""

from collections.abc import Iterator
from typing import Any

from cocotb.triggers import RisingEdge

from sim.harness.payloads import pack
from sim.surroundings.axi_ram import AxiRamParams
from sim.surroundings.pcie.params import PcieHostParams


class HostMemory:
    """Accesses memory ``index`` of a simulated system, or its only one, beside the card's bus.

    A beat is written in a cycle and read in two.
    """

    def __init__(
        self, dut: Any, params: AxiRamParams | PcieHostParams, index: int | None = None
    ) -> None:
        self.dut, self.params = dut, params
        which = "" if index is None else f"_{index}"
        self._access = getattr(dut, f"access{which}")
        self._accessed = getattr(dut, f"accessed{which}")
        self._access.value = 0
        self._beat_bytes = params.data_bits // 8

    async def read_memory(self, address: int, size: int) -> bytes:
        """Return the bytes from ``address`` on."""
        result = b""
        for beat, first, part in self._beats(address, bytes(size)):
            self._access.value = pack(self.params.access, {"valid": 1, "beat": beat})
            await RisingEdge(self.dut.clk)
            self._access.value = 0
            await RisingEdge(self.dut.clk)
            held = int(self._accessed.value).to_bytes(self._beat_bytes, "little")
            result += held[first : first + len(part)]
        return result

    async def write_memory(self, address: int, octets: bytes) -> None:
        """Write ``octets`` to ``address``; they are there when this returns."""
        for beat, first, part in self._beats(address, octets):
            fields = {
                "valid": 1,
                "beat": beat,
                "strobes": (1 << len(part)) - 1 << first,
                "data": int.from_bytes(part, "little") << 8 * first,
            }
            self._access.value = pack(self.params.access, fields)
            await RisingEdge(self.dut.clk)
        self._access.value = 0

    def _beats(self, address: int, octets: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Yield each beat's number, the byte in it that comes first, and its part of ``octets``."""
        while octets:
            beat, first = divmod(address, self._beat_bytes)
            part = octets[: self._beat_bytes - first]
            yield beat, first, part
            address, octets = address + len(part), octets[len(part) :]
