"""Drives and monitors AXI4-Streams from cocotb, as :mod:`sim.harness.streams` does others.

A beat is a dict of the stream's signals: ``{"tdata": 5, "tkeep": 0xF, "tlast": 1}``. One that is
left out is 0.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any

from sim.harness import streams
from sim.harness.records import layout_of
from sim.harness.stalls import Stall, never

__all__ = ["AxiMonitor", "AxiSink", "AxiSource", "beats_of"]


class AxiStream(streams.Stream):
    """Is an AXI4-Stream. If it has no tready, each beat moves at once."""

    _signals = {"valid": "tvalid", "ready": "tready"}
    _payload = ("tdata", "tkeep", "tstrb", "tlast", "tid", "tdest", "tuser")

    def find_payload(self, dut: Any, name: str) -> None:
        """Learn which signals there are, ready among them."""
        super().find_payload(dut, name)
        if not self.has_ready(dut, name):
            self._signals = {of: at for of, at in self._signals.items() if of != "ready"}

    def has_ready(self, dut: Any, name: str) -> bool:
        """Return whether a beat waits for tready."""
        return hasattr(dut, f"{name}_tready")

    def shape_of_ports(self) -> Any:
        """Return the layout of a beat, in which each port begins with a word."""
        return layout_of(self.ports(), {})


class AxiSource(AxiStream, streams.Source):
    """Drives an AXI4-Stream into the component, and with each beat the ports ``beside`` it."""

    def __init__(
        self, dut: Any, name: str, *, stall: Stall = never, beside: Sequence[str] = ()
    ) -> None:
        self.beside = beside
        super().__init__(dut, name, stall=stall)

    def ports(self) -> dict[str, Any]:
        """Return the ports of a beat, by the names that they have in it."""
        return super().ports() | {name: getattr(self.entity, name) for name in self.beside}


class AxiMonitor(AxiStream, streams.Monitor):
    """Watches an AXI4-Stream."""


class AxiSink(AxiStream, streams.Sink):
    """Watches an AXI4-Stream and takes its beats."""


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
