"""Links a simulated endpoint to what is at its far end in Python."""

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from hdl.common.packets import AXIS, BEAT_BYTES
from sim.harness.streams import Stall, cycle, never


@dataclass
class Faults:
    """Sets the chances of a packet's faults, and the most cycles that it is late."""

    lose: float = 0
    double: float = 0
    late: float = 0
    corrupt: float = 0
    delay: int = 400
    latency: int = 20

    def fates(self) -> Iterator[int]:
        """Yield the delay of a packet each time that it arrives; none if it is lost."""
        if random.random() < self.lose:
            return
        for _ in range(1 + (random.random() < self.double)):
            yield self.latency + (random.random() < self.late) * random.randrange(self.delay)


class Wire:
    """Carries packets to the endpoint at ``port``, beat by beat, and those that come from it.

    ``taken`` is told the port and the bytes of each; ``stall`` says when no beat is taken.
    """

    def __init__(
        self,
        dut: Any,
        port: int,
        taken: Callable[[int, bytes], None],
        faults: Faults,
        *,
        stall: Stall = never,
    ) -> None:
        self.dut, self.port, self.taken, self.faults = dut, port, taken, faults
        self.edge, self.stall = RisingEdge(dut.clk), stall
        self.number = count()
        #: packets under way, by the cycle in which they arrive
        self.to: list[tuple[int, int, bytes]] = []
        self.back: list[tuple[int, int, bytes]] = []
        #: cycles of each packet's first and last beat, and its bytes
        self.sent: list[tuple[int, int, bytes]] = []
        self.axes = {
            side: {name: getattr(dut, f"{side}_axis_{port}_{name}") for name in AXIS.members}
            for side in "ms"
        }
        self.axes["s"]["tvalid"].value = 0
        self.axes["m"]["tready"].value = 1
        cocotb.start_soon(self.give())
        cocotb.start_soon(self.take())

    def send(self, octets: bytes) -> None:
        """Send a packet to the endpoint; chance decides what becomes of it."""
        for delay in self.faults.fates():
            heapq.heappush(self.to, (cycle() + delay, next(self.number), octets))

    async def give(self) -> None:
        """Send what has come to the end of the link, without a pause between packets."""
        axis = self.axes["s"]
        while True:
            if not self.to or self.to[0][0] > cycle():
                axis["tvalid"].value = 0
                await self.edge
                continue
            _, _, octets = heapq.heappop(self.to)
            corrupt = random.random() < self.faults.corrupt
            parts = [octets[at : at + BEAT_BYTES] for at in range(0, len(octets), BEAT_BYTES)]
            for k, part in enumerate(parts):
                axis["tvalid"].value = 1
                noise = random.randbytes(BEAT_BYTES - len(part))  # what follows a packet
                axis["tdata"].value = int.from_bytes(part + noise, "little")
                axis["tkeep"].value = (1 << len(part)) - 1
                axis["tlast"].value = last = k == len(parts) - 1
                axis["tuser"].value = last and corrupt
                await self.edge

    async def take(self) -> None:
        """Take the endpoint's packets, and deliver those that have reached the link's end."""
        axis, octets, first = self.axes["m"], b"", 0
        while True:
            stalls = self.stall()
            axis["tready"].value = not stalls
            await self.edge
            while self.back and self.back[0][0] <= cycle():
                self.taken(self.port, heapq.heappop(self.back)[2])
            if stalls or not axis["tvalid"].value:
                continue
            first = first if octets else cycle()
            size = int(axis["tkeep"].value).bit_count()
            octets += int(axis["tdata"].value).to_bytes(BEAT_BYTES, "little")[:size]
            if axis["tlast"].value:
                assert not axis["tuser"].value
                self.sent.append((first, cycle(), octets))
                for delay in self.faults.fates():
                    heapq.heappush(self.back, (cycle() + delay, next(self.number), octets))
                octets = b""
