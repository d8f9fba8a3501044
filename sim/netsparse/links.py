"""Drives the ends of links: sends packets over simulated AXI4-Streams, and takes them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim.harness.axi_streams import AxiSink, AxiSource
from sim.harness.streams import Source, cycle, edges
from sim.netsparse.wire import Beat, from_beats

__all__ = ["FIELDS", "Receiver", "Sender", "Taken", "as_beats", "drained", "new_packets"]

FIELDS = ("tdata", "tkeep", "tlast", "tuser")


def as_beats(beats: Sequence[Beat]) -> list[dict[str, int]]:
    """Return a packet's beats by the names of their signals."""
    return [dict(zip(FIELDS, beat, strict=True)) for beat in beats]


class Sender(AxiSource):
    """Sends packets over an AXI4-Stream, pausing when ``stall`` says so."""

    def queue(self, beats: Sequence[Beat]) -> None:
        """Send a packet behind those before it."""
        self.extend(as_beats(beats))


@dataclass(frozen=True)
class Taken:
    """Holds a packet that was taken, and the cycles of its first and of its last beat."""

    beats: Sequence[Mapping[str, int]]
    begun: int
    ended: int

    @property
    def wire(self) -> bytes:
        """Return its bytes; raise ValueError for beats that no whole packet has."""
        return from_beats([(b["tdata"], b["tkeep"], b["tlast"], b["tuser"]) for b in self.beats])

    @property
    def octets(self) -> int:
        """Count the bytes that its beats keep."""
        return sum(beat["tkeep"].bit_count() for beat in self.beats)

    @property
    def broken(self) -> bool:
        """Return whether it is marked as broken."""
        return bool(self.beats[-1]["tuser"])


class Receiver(AxiSink):
    """Takes packets from an AXI4-Stream, pausing when ``stall`` says so."""

    def __init__(self, dut: Any, name: str, **options: Any) -> None:
        super().__init__(dut, name, **options)
        self._packets: list[Taken] = []
        self._whole = 0  # beats of these
        self._reported = 0  # packets that were new once

    @property
    def packets(self) -> list[Taken]:
        """Return all packets that have been taken whole."""
        beats, cycles = list.__getitem__(self.beats, slice(self._whole, None)), self.cycles
        begin = 0
        for end, beat in enumerate(beats, 1):
            if beat["tlast"]:
                moved = cycles[self._whole], cycles[self._whole + end - 1 - begin]
                self._packets.append(Taken(beats[begin:end], *moved))
                self._whole += end - begin
                begin = end
        return self._packets

    @property
    def partial(self) -> int:
        """Count the beats of a packet that has not ended."""
        return len(self.beats) - sum(len(packet.beats) for packet in self.packets)

    def new(self) -> list[Taken]:
        """Return the packets that have been taken since the last call."""
        result = self.packets[self._reported :]
        self._reported += len(result)
        return result


def new_packets(receivers: Mapping[Any, Receiver]) -> list[tuple[Any, Taken]]:
    """Return the new packets of all receivers in the order of their ends, each with its key."""
    result = [(key, packet) for key, receiver in receivers.items() for packet in receiver.new()]
    return sorted(result, key=lambda item: item[1].ended)


async def drained(
    dut: Any, sources: Collection[Source], receivers: Collection[Receiver], cycles: int
) -> None:
    """Wait until nothing has waited to be sent, and nothing has left, for a number of cycles."""
    since = cycle()
    while (more := since + cycles - cycle()) > 0:
        await edges(dut.clk, more)
        moved = [stream.cycles[-1] for stream in (*sources, *receivers) if stream.cycles]
        since = cycle() if any(source.missing for source in sources) else max([since, *moved])
