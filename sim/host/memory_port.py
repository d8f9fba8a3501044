"""Puts a memory behind an AXI port of a simulated design: a model of cocotbext-axi, as it comes."""

from typing import Any

from cocotbext.axi import (
    AxiBus,
    AxiRam,
    AxiRamRead,
    AxiRamWrite,
    AxiReadBus,
    AxiWriteBus,
)

from sim.host.quiet import quiet

SIZE = 1 << 62  #: bytes, as many as a length in Python can say; those above are the same again

#: whether a port reads and writes -> memory, and what it is connected by
KINDS: dict[tuple[bool, bool], tuple[Any, Any]] = {
    (True, False): (AxiRamRead, AxiReadBus),
    (False, True): (AxiRamWrite, AxiWriteBus),
    (True, True): (AxiRam, AxiBus),
}


def memory_behind(dut: Any, port: str) -> Any:
    """Return a memory, of zeros at first, that answers ``port`` while the clock runs.

    Its methods ``read(address, size)`` and ``write(address, data)`` take no simulated time.
    """
    memory, bus = KINDS[hasattr(dut, f"{port}_araddr"), hasattr(dut, f"{port}_awaddr")]
    quiet(dut, port)
    return memory(bus.from_prefix(dut, port), dut.clk, dut.rst, size=SIZE)
