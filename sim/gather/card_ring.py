"""Submits work requests to a gather engine by a ring in host memory, as a host does."""

from collections.abc import Sequence
from dataclasses import replace

from cocotb.triggers import ClockCycles

from sim.gather.card_driver import POLL_CYCLES, CardDriver
from sim.gather.golden.engine import WorkRequest
from sim.gather.golden.ring import INDICES, Ring, pack


class CardRing:
    """Writes descriptors into ``ring`` in the memory of a card's host.

    The ring's address, like the addresses of ``card``, counts from the start of that memory.
    As with registers, the completion of a request tells the host that it has ended.
    """

    def __init__(self, card: CardDriver, ring: Ring) -> None:
        self.card, self.ring = card, ring
        self.written = 0  #: number of descriptors written since the ring was opened

    async def open(self) -> None:
        """Let the engine read the ring, from its first place on."""
        registers = self.card.registers
        self.written = 0
        await registers.write(request_producer=0)
        await registers.write_wide(request_ring_address=self.card.base + self.ring.address)
        await registers.write(request_ring=1, request_ring_size=self.ring.places.bit_length() - 1)

    async def close(self) -> None:
        """Close the ring; requests that the engine has read are still carried out."""
        await self.card.registers.write(request_ring=0)
        while await self.card.registers.read("request_ring_busy"):
            await ClockCycles(self.card.dut.clk, POLL_CYCLES)

    def write(self, *octets: bytes) -> None:
        """Write descriptors, each of 64 bytes, into the next places of the ring."""
        for descriptor in octets:
            place = self.ring.place(self.written)
            self.card.memory.mem[place : place + len(descriptor)] = descriptor
            self.written += 1

    async def ring_doorbell(self) -> None:
        """Tell the engine how many descriptors were written."""
        await self.card.registers.write(request_producer=self.written % INDICES)

    async def consumer(self) -> int:
        """Return how many descriptors the engine has read."""
        return await self.card.registers.read("request_consumer")

    async def submit(self, requests: Sequence[WorkRequest]) -> None:
        """Write work requests as the ring has room; ring the doorbell once for each batch."""
        left = list(requests)
        while left:
            room = self.ring.places - (self.written - await self.consumer()) % INDICES
            now, left = left[:room], left[room:]
            for request in now:
                self.card.clear(request)
            self.write(*(pack(self.absolute(request)) for request in now))
            await self.ring_doorbell()

    def absolute(self, request: WorkRequest) -> WorkRequest:
        """Return a request with addresses on the card's bus."""
        base = self.card.base
        return replace(
            request,
            idx_address=request.idx_address + (0 if request.on_card else base),
            table=replace(request.table, base=request.table.base + base),
            completion_address=request.completion_address + base,
        )
