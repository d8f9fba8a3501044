"""Lets the host software of a design run on a simulated card, in a thread."""

from typing import Any

from cocotb.triggers import Timer
from cocotbext.axi import AxiResp

from hdl.common.registers import WORD_BYTES
from sim.harness.register_driver import BusError
from sim.harness.threads import resume

PAUSE_NS = 256
TURN_NS = 24  #: a card's bus takes longer from a write to the read behind it
MAX_US = 100  #: until an interrupt comes


class HostMemory:
    """Is the ``dma`` of a card that works on the memory of its host, a region of cocotbext-pcie.

    The region begins at the address ``base`` of the card's bus.
    """

    def __init__(self, region: Any, base: int = 0) -> None:
        self.region, self.base = region, base

    async def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of memory."""
        first = address - self.base
        self.region.mem[first : first + len(data)] = data

    async def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of memory."""
        first = address - self.base
        return bytes(self.region.mem[first : first + size])


class BusMemory:
    """Is the ``dma`` of a card whose memory is behind ``bus``, a master.

    Address 0 of the bus is the address ``base`` of the software. BusError if the hardware refuses.
    """

    def __init__(self, bus: Any, base: int = 0) -> None:
        self.bus, self.base = bus, base

    async def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of memory."""
        answer: Any = await self.bus.write(address - self.base, data)
        if answer.resp != AxiResp.OKAY:
            raise BusError(f"writing memory at {address:#x} answered {answer.resp.name}")

    async def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of memory."""
        answer: Any = await self.bus.read(address - self.base, size)
        if answer.resp != AxiResp.OKAY:
            raise BusError(f"reading memory at {address:#x} answered {answer.resp.name}")
        return bytes(answer.data)


class HostDevice:
    """Reaches a card's registers through ``bar``, a bus master, and its memory through ``dma``.

    A program that :func:`sim.harness.threads.bridge` runs uses it as it uses a card. If ``stuck``
    is an address, bit 0 of the byte at that address always reads 1; ``flipped`` are bits of
    registers, by address, that read wrong. If it ``posts``, writes of registers are carried out
    with the next access of another kind, in their order; whoever runs the program awaits
    :meth:`settle` behind it.
    """

    def __init__(self, bar: Any, dma: Any = None, pcie: Any = None, posts: bool = False) -> None:
        self.bar, self.dma, self.pcie, self.posts = bar, dma, pcie, posts
        self.stuck: int | None = None
        self.flipped: dict[int, int] = {}
        self.messages = 0
        self.posted: list[tuple[int, int]] = []
        self.wrote = False  # by the last access to registers

    async def settle(self) -> None:
        """Carry out the writes that were posted."""
        while self.posted:
            address, word = self.posted.pop(0)
            await self.bar.write(address, word.to_bytes(WORD_BYTES, "little"))
            self.wrote = True

    @resume
    async def read(self, address: int) -> int:
        """Return the word of a register, some cycles behind a write before."""
        await self.settle()
        if self.wrote:
            self.wrote = False
            await Timer(TURN_NS, "ns")
        word = int.from_bytes((await self.bar.read(address, WORD_BYTES)).data, "little")
        return word ^ self.flipped.get(address, 0)

    def write(self, address: int, word: int) -> None:
        """Write a word to a register."""
        self.posted.append((address, word))
        if not self.posts:
            resume(self.settle)()

    @resume
    async def pause(self) -> None:
        """Let some simulated time pass."""
        await self.settle()
        await Timer(PAUSE_NS, "ns")

    @resume
    async def wait_interrupt(self, seconds: float) -> bool:
        """Wait for an interrupt of ``pcie``, also one since the last wait; False if it is None."""
        await self.settle()
        if self.pcie is None:
            return False
        await self.pcie.interrupt(self.messages, MAX_US)
        self.messages = self.pcie.messages
        return True

    @resume
    async def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of memory."""
        await self.settle()
        await self.dma.write_memory(address, data)

    @resume
    async def read_memory(self, address: int, size: int) -> bytes:
        """Return bytes of memory."""
        await self.settle()
        data = bytearray(await self.dma.read_memory(address, size))
        if self.stuck is not None and address <= self.stuck < address + size:
            data[self.stuck - address] |= 1
        return bytes(data)
