"""Answers the reads of an AXI port of a simulated design, out of a memory in Python."""

from collections import deque
from typing import Any

from cocotb.triggers import RisingEdge

from gen.software.emitted.sparse_memory import SparseMemory

PINS = ("araddr", "arlen", "arvalid", "arready", "rdata", "rresp", "rlast", "rvalid", "rready")


async def serve(dut: Any, port: str, memory: SparseMemory) -> None:
    """Answer all bursts (INCR, whole beats, in order, no identifiers) of ``port``, for ever.

    A burst's beats come back without a pause; the first one two cycles after its address.
    """
    pins = {name: getattr(dut, f"{port}_{name}") for name in PINS}
    size = len(pins["rdata"]) // 8
    waiting: deque[tuple[int, int]] = deque()  # address, and whether it is a burst's last beat
    pins["arready"].value, pins["rvalid"].value, pins["rresp"].value = 1, 0, 0
    shown = False
    while True:
        await RisingEdge(dut.clk)
        if dut.rst.value:
            continue
        if shown and pins["rready"].value:
            shown = False
        if not shown and waiting:
            address, last = waiting.popleft()
            pins["rdata"].value = int.from_bytes(memory.read(address, size), "little")
            pins["rlast"].value = last
            shown = True
        pins["rvalid"].value = int(shown)
        if pins["arvalid"].value:
            first, count = int(pins["araddr"].value), int(pins["arlen"].value) + 1
            waiting += [(first + k * size, int(k == count - 1)) for k in range(count)]
