"""Shares a host between cards: its slots, and memory with a limited number of bytes a second."""

from collections.abc import Iterable
from mmap import ACCESS_COPY, mmap
from pathlib import Path
from typing import Any

from cocotb.triggers import Timer
from cocotb.utils import get_sim_steps, get_sim_time
from cocotbext.axi import MemoryRegion

from sim.gather.surroundings.cards_system import prefix_of

OF_ALL = ("clk", "rst")  #: ports that all cards share


class Slot:
    """Shows the ports of one card of a :class:`CardsSystem` by the names that a card alone has."""

    def __init__(self, dut: Any, card: int) -> None:
        self._dut, self._prefix = dut, prefix_of(card)

    def __getattr__(self, name: str) -> Any:
        shared = name in OF_ALL or name.startswith("_")
        return getattr(self._dut, name if shared else self._prefix + name)

    def __dir__(self) -> Iterable[str]:
        size = len(self._prefix)
        return [name[size:] for name in dir(self._dut) if name.startswith(self._prefix)]


class SharedMemory(MemoryRegion):
    """Carries ``bandwidth`` bytes a second, of all that read and write it, one after the other.

    It holds at first what ``path`` does, and leaves that as it is.
    """

    def __init__(self, path: Path, bandwidth: float) -> None:
        with path.open("rb") as file:
            content = mmap(file.fileno(), 0, access=ACCESS_COPY)
        super().__init__(len(content), content)
        self.bandwidth = bandwidth
        self.free = 0  #: step at which all that was asked for before has been carried

    async def _read(self, address: int, length: int, **options: Any) -> Any:
        await self.carry(length)
        return await super()._read(address, length, **options)

    async def _write(self, address: int, data: Any, **options: Any) -> None:
        await self.carry(len(data))
        await super()._write(address, data, **options)

    async def carry(self, octets: int) -> None:
        """Wait until ``octets`` bytes have been carried behind those before them."""
        now: Any = get_sim_time("step")
        self.free = max(now, self.free) + get_sim_steps(
            octets / self.bandwidth, "sec", round_mode="ceil"
        )
        await Timer(self.free - now, "step")
