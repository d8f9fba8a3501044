"""Submits requests to a SNIC by its registers, and reads their completions there."""

from collections.abc import Sequence
from typing import Any

from sim.host.device import DeviceError, write_wide
from sim.netsparse.host.snic.request import Completion, Request


class RequestRefused(DeviceError):
    """Reports that a unit did not take a request: its queue is full, or it does not gather."""


class ByRegisters:
    """Reaches a SNIC's units by ``registers``; completions come one at a time."""

    def __init__(self, registers: Any) -> None:
        self.registers = registers

    def submit(self, requests: Sequence[Request]) -> int:
        """Hand over all requests; :class:`RequestRefused` if a unit has no room for one."""
        for request in requests:
            self._submit(request)
        return len(requests)

    def completions(self) -> list[Completion]:
        """Return the oldest completion, if there is one."""
        if not self.registers.read("completion_valid"):
            return []
        unit, tag = (int(self.registers.read(f"completion_{name}")) for name in ("unit", "tag"))
        cause = self.registers.read("completion_cause")
        self.registers.write(next_completion=1)
        return [Completion(unit, tag, getattr(cause, "name", str(cause)))]

    def acknowledge(self) -> None:
        """Do nothing: each completion was acknowledged when it was read."""

    def check(self) -> None:
        """Do nothing: registers always work."""

    def close(self, seconds: float) -> None:
        """Do nothing: registers need no closing."""

    def _submit(self, request: Request) -> None:
        self.registers.write(
            request_unit=request.unit, request_tag=request.tag, idx_wide=int(request.wide)
        )
        write_wide(
            self.registers,
            idx_address=request.idx_address,
            property_address=request.property_address,
        )
        self.registers.write(
            idx_count=request.count,
            property_bytes=request.property_bytes,
            watchdog=request.watchdog,
        )
        self.registers.write(submit=1)
        if self.registers.read("refused"):
            raise RequestRefused(f"unit {request.unit} refused request {request.tag}")
