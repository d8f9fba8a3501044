"""Answers an AXI port of a simulated design, out of a memory in Python.

Bursts are INCR, of whole beats, without identifiers, and are answered in order.
"""

from collections import deque
from typing import Any

from cocotb.triggers import RisingEdge

from gen.software.emitted.sparse_memory import SparseMemory

OKAY = 0


def pins_of(dut: Any, port: str, *names: str) -> dict[str, Any]:
    """Return the pins of a port by name."""
    return {name: getattr(dut, f"{port}_{name}") for name in names}


async def serve_reads(dut: Any, port: str, memory: SparseMemory) -> None:
    """Answer all reads of ``port``, for ever.

    A burst's beats come back without a pause; the first one two cycles after its address.
    """
    pins = pins_of(dut, port, "araddr", "arlen", "arvalid", "arready")
    pins |= pins_of(dut, port, "rdata", "rresp", "rlast", "rvalid", "rready")
    size = len(pins["rdata"]) // 8
    waiting: deque[tuple[int, int]] = deque()  # address, and whether it is a burst's last beat
    pins["arready"].value, pins["rvalid"].value, pins["rresp"].value = 1, 0, OKAY
    shown = False
    while True:
        await RisingEdge(dut.clk)
        if dut.rst.value:
            continue
        if shown and pins["rready"].value:
            shown = False
            pins["rvalid"].value = 0
        if not shown and waiting:
            address, last = waiting.popleft()
            pins["rdata"].value = int.from_bytes(memory.read(address, size), "little")
            pins["rlast"].value = last
            pins["rvalid"].value = 1
            shown = True
        if pins["arvalid"].value:
            first, count = int(pins["araddr"].value), int(pins["arlen"].value) + 1
            first -= first % size
            waiting += [(first + k * size, int(k == count - 1)) for k in range(count)]


async def serve_writes(dut: Any, port: str, memory: SparseMemory) -> None:
    """Take all writes of ``port``, for ever; each is acknowledged when its bytes are written."""
    pins = pins_of(dut, port, "awaddr", "awvalid", "awready", "bresp", "bvalid", "bready")
    pins |= pins_of(dut, port, "wdata", "wstrb", "wlast", "wvalid", "wready")
    size = len(pins["wdata"]) // 8
    bursts: deque[int] = deque()
    beats: deque[tuple[int, int, int]] = deque()
    pins["awready"].value, pins["wready"].value = 1, 1
    pins["bvalid"].value, pins["bresp"].value = 0, OKAY
    done, shown = 0, False
    while True:
        await RisingEdge(dut.clk)
        if dut.rst.value:
            continue
        if shown and pins["bready"].value:
            done -= 1
        if pins["awvalid"].value:
            address = int(pins["awaddr"].value)
            bursts.append(address - address % size)
        if pins["wvalid"].value:
            beats.append(tuple(int(pins[name].value) for name in ("wdata", "wstrb", "wlast")))  # type: ignore[arg-type]
        while bursts and beats:
            data, strobes, last = beats.popleft()
            write_beat(memory, bursts[0], data.to_bytes(size, "little"), strobes)
            bursts[0] += size
            if last:
                bursts.popleft()
                done += 1
        if shown != (done > 0):
            shown = done > 0
            pins["bvalid"].value = int(shown)


def write_beat(memory: SparseMemory, address: int, data: bytes, strobes: int) -> None:
    """Write the bytes of a beat whose strobes are set."""
    pairs = zip(data, memory.read(address, len(data)), strict=True)
    chosen = (new if strobes >> k & 1 else old for k, (new, old) in enumerate(pairs))
    memory.write(address, bytes(chosen))
