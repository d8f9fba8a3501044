"""Drives and monitors AXI4-Streams from cocotb, as :mod:`sim.harness.streams` does others.

So it does with the channels of an AXI4 bus, each of which is named as its signals begin.

A beat is a dict of the stream's signals: ``{"tdata": 5, "tkeep": 0xF, "tlast": 1}``. One that is
left out is 0.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sim.harness import streams
from sim.harness.records import layout_of
from sim.harness.stalls import Stall, never

__all__ = [
    "AxiMonitor",
    "AxiSink",
    "AxiSource",
    "ChannelMonitor",
    "ChannelSink",
    "ChannelSource",
    "Packet",
    "PacketSink",
    "beats_of",
]


class AxiStream(streams.Stream):
    """Is an AXI4-Stream and what is ``beside`` its beats. Without tready, each moves at once."""

    _signals = {"valid": "tvalid", "ready": "tready"}
    _payload = ("tdata", "tkeep", "tstrb", "tlast", "tid", "tdest", "tuser")
    _payload += ("tuser_size", "tuser_src", "tuser_dst")  # of OpenNIC's streams

    def __init__(self, dut: Any, name: str, *, beside: Sequence[str] = (), **options: Any) -> None:
        self.beside = beside
        super().__init__(dut, name, **options)  # type: ignore[call-arg]

    def find_payload(self, dut: Any, name: str) -> None:
        """Learn which signals there are, ready among them."""
        super().find_payload(dut, name)
        if "ready" in self._signals and not self.has_ready(dut, name):
            self._signals = {of: at for of, at in self._signals.items() if of != "ready"}

    def has_ready(self, dut: Any, name: str) -> bool:
        """Return whether a beat waits for tready."""
        return hasattr(dut, name + self._separator + self._signals["ready"])

    def ports(self) -> dict[str, Any]:
        """Return the ports of a beat, by the names that they have in it."""
        dut: Any = self.entity  # type: ignore[attr-defined]
        return super().ports() | {name: getattr(dut, name) for name in self.beside}

    def shape_of_ports(self) -> Any:
        """Return the layout of a beat, in which each port begins with a word."""
        return layout_of(self.ports(), {})


class AxiSource(AxiStream, streams.Source):
    """Drives an AXI4-Stream into the component."""


class AxiMonitor(AxiStream, streams.Monitor):
    """Watches an AXI4-Stream."""


class AxiSink(AxiStream, streams.Sink):
    """Watches an AXI4-Stream and takes its beats."""


class Channel(AxiStream):
    """Is a channel of an AXI4 bus: ``axi_ar`` has beats such as ``{"addr": 64, "len": 3}``."""

    _signals = {"valid": "valid", "ready": "ready"}
    _payload = ("id", "addr", "len", "size", "burst", "data", "strb", "resp", "last")
    _separator = ""


class ChannelSource(Channel, streams.Source):
    """Drives a channel into the component."""


class ChannelMonitor(Channel, streams.Monitor):
    """Watches a channel."""


class ChannelSink(Channel, streams.Sink):
    """Watches a channel and takes its beats."""


@dataclass(frozen=True, kw_only=True)
class Packet:
    """Has the bytes of a packet, whether ``tuser`` broke it, and the cycles of its beats."""

    octets: bytes
    corrupt: bool
    cycles: list[int]


class PacketSink(AxiSink):
    """Takes packets: ``packets`` grows with each whole one, and ``reported`` is called with it."""

    def __init__(
        self,
        dut: Any,
        name: str,
        *,
        stall: Stall = never,
        reported: Callable[[Packet], object] | None = None,
    ) -> None:
        self._packets: list[Packet] = []
        self._octets, self._since, self._joined = b"", 0, 0  # of the packet that comes; beats
        super().__init__(dut, name, stall=stall)
        if reported:
            self.add_callback(lambda beat: beat["tlast"] and reported(self.packets[-1]))

    def cut(self) -> None:
        """Forget the packet that has come in part: a reset has cut it."""
        _ = self.packets
        self._octets, self._since = b"", self._joined

    @property
    def packets(self) -> list[Packet]:
        """Return the packets that have come; raise AssertionError where bytes are missing."""
        beats, cycles = self.beats, self.cycles
        for number in range(self._joined, len(beats)):
            beat = list.__getitem__(beats, number)
            count, last = beat["tkeep"].bit_count(), beat["tlast"]
            assert beat["tkeep"] == (1 << count) - 1 > 0, "bytes are missing inside a packet"
            assert last or beat["tkeep"] + 1 == 1 << len(self.bus.tkeep), "a beat is not full"
            word = beat["tdata"].to_bytes(len(self.bus.tdata) // 8, "little")
            self._octets += word[:count]
            self._joined = number + 1
            if last:
                moments = [int(cycles[k]) for k in range(self._since, self._joined)]
                packet = Packet(octets=self._octets, corrupt=bool(beat["tuser"]), cycles=moments)
                self._packets.append(packet)
                self._octets, self._since = b"", self._joined
        return self._packets


def beats_of(
    octets: bytes, *, corrupt: bool = False, beat_bytes: int = 64
) -> Iterator[dict[str, int]]:
    """Yield the beats of a packet; bits that nobody may look at are random.

    They are those behind its end, and ``tuser`` of all beats but the last, where ``corrupt`` sets
    it.
    """
    for at in range(0, len(octets), beat_bytes):
        part, last = octets[at : at + beat_bytes], at + beat_bytes >= len(octets)
        word = part + random.randbytes(beat_bytes - len(part))
        user = int(corrupt) if last else random.getrandbits(1)
        beat = {"tdata": int.from_bytes(word, "little"), "tkeep": (1 << len(part)) - 1}
        yield beat | {"tlast": int(last), "tuser": user}
