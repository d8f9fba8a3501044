"""Sends packets into streams of a simulated design, and takes those that leave."""

from typing import Any

from cocotb.triggers import RisingEdge

BEAT_BYTES = 64


async def take(dut: Any, stream: str) -> bytes:
    """Return the next packet that leaves ``stream``, which is always ready."""
    packet = b""
    valid, last = getattr(dut, f"{stream}_tvalid"), getattr(dut, f"{stream}_tlast")
    while True:
        await RisingEdge(dut.clk)
        if dut.rst.value or not valid.value:
            continue
        kept = int(getattr(dut, f"{stream}_tkeep").value).bit_count()
        data = int(getattr(dut, f"{stream}_tdata").value)
        packet += data.to_bytes(BEAT_BYTES, "little")[:kept]
        if last.value:
            return packet


async def send(dut: Any, stream: str, packet: bytes) -> None:
    """Send a packet into ``stream``."""
    pins = {name: getattr(dut, f"{stream}_t{name}") for name in ("data", "keep", "last", "valid")}
    ready = getattr(dut, f"{stream}_tready")
    for at in range(0, len(packet), BEAT_BYTES):
        beat = packet[at : at + BEAT_BYTES]
        pins["data"].value = int.from_bytes(beat, "little")
        pins["keep"].value = (1 << len(beat)) - 1
        pins["last"].value = int(at + BEAT_BYTES >= len(packet))
        pins["valid"].value = 1
        await RisingEdge(dut.clk)
        while not ready.value:
            await RisingEdge(dut.clk)
    pins["valid"].value = 0
