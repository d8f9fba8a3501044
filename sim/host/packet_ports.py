"""Sends packets into streams of a simulated design, and takes those that leave."""

from collections.abc import Callable, Iterable
from typing import Any

from cocotb import start_soon
from cocotb.queue import Queue
from cocotb.triggers import ClockCycles, RisingEdge

BEAT_BYTES = 64


async def take(dut: Any, stream: str) -> bytes:
    """Return the next packet that leaves ``stream``."""
    packet = b""
    valid, ready, last = (getattr(dut, f"{stream}_t{name}") for name in ("valid", "ready", "last"))
    while True:
        await RisingEdge(dut.clk)
        if dut.rst.value or not valid.value or not ready.value:
            continue
        stored = int(getattr(dut, f"{stream}_tkeep").value).bit_count()
        data = getattr(dut, f"{stream}_tdata").value  # only the bytes that are kept mean something
        data = data if stored == BEAT_BYTES else data[8 * stored - 1 : 0]
        packet += int(data).to_bytes(stored, "little")
        if last.value:
            return packet


async def send(
    dut: Any, stream: str, packet: bytes, *, corrupt: bool = False, late: int = 0
) -> None:
    """Send a packet into ``stream``; if it is ``corrupt``, ``tuser`` says so with its last beat.

    The last of several beats comes ``late`` cycles after it might.
    """
    pins = {name: getattr(dut, f"{stream}_t{name}") for name in ("data", "keep", "last", "valid")}
    ready = getattr(dut, f"{stream}_tready")
    for at in range(0, len(packet), BEAT_BYTES):
        beat = packet[at : at + BEAT_BYTES]
        ends = at + BEAT_BYTES >= len(packet)
        if ends and at and late:
            pins["valid"].value = 0
            await ClockCycles(dut.clk, late)
        pins["data"].value = int.from_bytes(beat, "little")
        pins["keep"].value = (1 << len(beat)) - 1
        pins["last"].value = int(ends)
        if corrupt and ends:
            getattr(dut, f"{stream}_tuser").value = 1
        pins["valid"].value = 1
        await RisingEdge(dut.clk)
        while not ready.value:
            await RisingEdge(dut.clk)
    pins["valid"].value = 0
    if corrupt:
        getattr(dut, f"{stream}_tuser").value = 0


async def answer_packets(
    dut: Any, leaving: str, coming: str, answer: Callable[[bytes], Iterable[bytes]]
) -> None:
    """Send what each packet of the stream ``leaving`` is answered with into ``coming``, for ever.

    Packets are taken while answers are sent.
    """
    answers: Queue[bytes] = Queue()

    async def send_answers() -> None:
        while True:
            await send(dut, coming, await answers.get())

    start_soon(send_answers())
    while True:
        for packet in answer(await take(dut, leaving)):
            answers.put_nowait(packet)
