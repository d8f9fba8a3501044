"""Submits requests to a SNIC by its registers, and reads their completions there."""

from collections.abc import Sequence
from typing import Any

from sim.host.device import Device, DeviceError, wait_until, write_wide
from sim.netsparse.host.snic.request import Request


class ByRegisters:
    """Reaches a SNIC's units by ``registers`` of ``device``."""

    def __init__(self, device: Device, registers: Any) -> None:
        self.device, self.registers = device, registers

    def carry_out(self, requests: Sequence[Request], seconds: float) -> dict[int, str]:
        """Carry requests out, as :class:`Submission` says; each unit must have room for its own."""
        for request in requests:
            self._submit(request)
        ends: dict[int, str] = {}
        tags = {request.tag for request in requests}
        while len(ends) < len(requests):
            wait_until(
                self.device, lambda: self.registers.read("completion_valid"), "the gather", seconds
            )
            tag = int(self.registers.read("completion_tag"))
            cause = self.registers.read("completion_cause")
            self.registers.write(next_completion=1)
            if tag not in tags or tag in ends:
                raise DeviceError(f"request {tag} ended, which is not under way")
            ends[tag] = getattr(cause, "name", str(cause))
        return ends

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
            raise DeviceError(f"unit {request.unit} refused a request")
