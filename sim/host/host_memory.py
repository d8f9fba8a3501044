"""Puts a host's memory behind a simulated design's ports to AMD's block for PCI Express."""

from logging import INFO, getLogger
from typing import Any

from sim.surroundings.pcie_host import HostModel

READ_SIZE, PAYLOAD = 2, 1  #: codes of the largest read and payload: 512 and 256 bytes
MAX_CREDITS = 15


class HostMemory:
    """Is memory from address 0 on, in a root complex of cocotbext-pcie that reaches ``ports``."""

    def __init__(self, dut: Any, ports: tuple[str, ...], size: int, **options: Any) -> None:
        dut.credits.value = MAX_CREDITS
        dut.function_in_process.value, dut.function_master.value = 0, 1
        if hasattr(dut, "limits"):
            dut.limits.value = READ_SIZE | PAYLOAD << 3
        self.model = HostModel(dut, *ports, **options)
        getLogger("cocotb.regression").setLevel(INFO)  # the model silences all of cocotb's logs
        self.region, base = self.model.memory(bytes(size))
        if base:
            raise ValueError(f"host memory begins at {base:#x}")

    async def start(self) -> Any:
        """Let the host find the card; return the function as it sees it."""
        return await self.model.begin(READ_SIZE, PAYLOAD)

    def read(self, address: int, size: int) -> bytes:
        """Return ``size`` bytes."""
        return bytes(self.region.mem[address : address + size])

    def write(self, address: int, data: bytes) -> None:
        """Write ``data``."""
        self.region.mem[address : address + len(data)] = data
