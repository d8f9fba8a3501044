"""Drives and monitors AXI4-Streams from cocotb, as :mod:`sim.harness.streams` does others.

A beat is a dict of the stream's signals: ``{"tdata": 5, "tkeep": 0xF, "tlast": 1}``. One that is
left out is 0.
"""

from typing import Any

from sim.harness import streams
from sim.harness.records import layout_of

__all__ = ["AxiMonitor", "AxiSink", "AxiSource"]


class AxiStream(streams.Stream):
    """Is an AXI4-Stream."""

    _signals = {"valid": "tvalid", "ready": "tready"}
    _payload = ("tdata", "tkeep", "tstrb", "tlast", "tid", "tdest", "tuser")

    def shape_of_ports(self) -> Any:
        """Return the layout of a beat, in which each port begins with a word."""
        return layout_of(self.ports(), {})


class AxiSource(AxiStream, streams.Source):
    """Drives an AXI4-Stream into the component."""


class AxiMonitor(AxiStream, streams.Monitor):
    """Watches an AXI4-Stream."""


class AxiSink(AxiStream, streams.Sink):
    """Watches an AXI4-Stream and takes its beats."""
