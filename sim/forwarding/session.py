"""Measures a forwarding switch alone, as RFC 2544 and RFC 2889 say: throughput, loss, latency."""

from dataclasses import dataclass
from typing import Any

from hdl.switch.forwarding.switch import ForwardingSwitch
from sim.harness.measuring import MeasuringSession
from sim.harness.session import Result
from sim.harness.workload import Workload, setting


@dataclass(frozen=True, kw_only=True)
class ForwardingWorkload(Workload):
    """Asks for packets of one length at all ports, at the rate of links of 100 Gb/s."""

    length: int = setting(64, "Send frames of this many bytes, with checksum.", least=64, most=9220)
    frames: int = setting(200, "Send this many frames by each port.", least=1)
    mesh: bool = setting(False, "Send to all other ports in turn instead of to the next alone.")


class ForwardingSession(MeasuringSession):
    """Measures what of the offered frames leaves, and after how long."""

    workload = ForwardingWorkload
    component = ForwardingSwitch
    test_module = "sim.forwarding.in_simulator"
    options = {}
    counted = {
        "line_share": "frames that left in a cycle, of those that a link of 100 Gb/s brings",
        "loss": "share of the frames that did not leave",
        "least_latency": "cycles from a frame's last beat to its first at the output, at least",
        "most_latency": "the same, at most",
    }
    maximise = ("line_share",)

    def result(self, result: Any, clock_hz: float) -> Result:
        """Return what was measured."""
        return Result(figures=result)
