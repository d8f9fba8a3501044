"""Links a simulated endpoint to what is at its far end in Python."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cocotb

from sim.harness.axi_streams import AxiSource, Packet, PacketSink, beats_of
from sim.harness.streams import Stall, cycle, edges, never


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
    """Carries packets to the endpoint at ``port``, and those that come from it.

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
        self.clock, self.port, self.taken, self.faults = dut.clk, port, taken, faults
        self.source = AxiSource(dut, f"s_axis_{port}")
        self.sink = PacketSink(dut, f"m_axis_{port}", stall=stall, reported=self.leaves)
        self.cleared = 0  #: cycle

    @property
    def sent(self) -> list[tuple[int, int, bytes]]:
        """Return the cycles of each packet's first and last beat, and its bytes."""
        packets = self.sink.packets
        return [(packet.cycles[0], packet.cycles[-1], packet.octets) for packet in packets]

    def send(self, octets: bytes) -> None:
        """Send a packet to the endpoint; chance decides what becomes of it."""
        for delay in self.faults.fates():
            cocotb.start_soon(self.arrive(cycle(), delay, octets))

    def clear(self) -> None:
        """Lose what is under way to the endpoint."""
        self.cleared = cycle()

    async def arrive(self, sent: int, delay: int, octets: bytes) -> None:
        """Give the endpoint a packet at the end of the link, without a pause behind another."""
        await edges(self.clock, delay)
        if sent > self.cleared:
            corrupt = random.random() < self.faults.corrupt
            for beat in beats_of(octets, corrupt=corrupt):
                self.source.append(beat)

    def leaves(self, packet: Packet) -> None:
        """Send on a packet of the endpoint's."""
        assert not packet.corrupt
        for delay in self.faults.fates():
            cocotb.start_soon(self.deliver(delay, packet.octets))

    async def deliver(self, delay: int, octets: bytes) -> None:
        """Tell of a packet at the end of the link."""
        await edges(self.clock, delay)
        self.taken(self.port, octets)
