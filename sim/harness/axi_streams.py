"""Drives and monitors AXI4-Streams from cocotb, as :mod:`sim.harness.streams` does others.

A beat is a dict of the stream's signals: ``{"tdata": 5, "tkeep": 0xF, "tlast": 1}``. One that is
left out is 0.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any

from sim.harness import streams
from sim.harness.records import layout_of

__all__ = ["AxiMonitor", "AxiSink", "AxiSource", "beats_of"]


class AxiStream(streams.Stream):
    """Is an AXI4-Stream and what is ``beside`` its beats. Without tready, each moves at once."""

    _signals = {"valid": "tvalid", "ready": "tready"}
    _payload = ("tdata", "tkeep", "tstrb", "tlast", "tid", "tdest", "tuser")

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
