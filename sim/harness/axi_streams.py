"""Drives and monitors AXI4-Streams from cocotb, as :mod:`sim.harness.streams` does others.

A beat is a dict of the stream's signals: ``{"tdata": 5, "tkeep": 0xF, "tlast": 1}``. One that is
left out is 0.
"""

from collections.abc import Sequence
from typing import Any

from sim.harness import streams
from sim.harness.records import layout_of
from sim.harness.stalls import Stall, never

__all__ = ["AxiMonitor", "AxiSink", "AxiSource"]


class AxiStream(streams.Stream):
    """Is an AXI4-Stream."""

    _signals = {"valid": "tvalid", "ready": "tready"}
    _payload = ("tdata", "tkeep", "tstrb", "tlast", "tid", "tdest", "tuser")

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
