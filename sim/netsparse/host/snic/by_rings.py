"""Submits requests to a SNIC by a ring in host memory, and reads completions from another."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from sim.host.device import Device, DeviceError, wait_until, write_wide
from sim.netsparse.golden.rings import DESCRIPTOR, ENTRY, pack_descriptor, unpack_entry
from sim.netsparse.host.snic.build import Build
from sim.netsparse.host.snic.request import Request

RINGS = ("request_ring", "completion_ring")
INDICES = 1 << 16  #: indices count modulo this
LOOKS = 1000  #: reads of the completion ring before the registers are checked for a fault
UNREAD = "DESCRIPTOR"  #: cause of a request whose descriptor could not be read


class ByRings:
    """Holds the ring of descriptors, from ``address`` on, and after it the ring of completions.

    Each ring has ``places`` places, a power of two; ``address`` is a multiple of the bytes of the
    first ring. While requests are under way the program reads no register, unless no completion
    comes for LOOKS looks.
    """

    def __init__(
        self, device: Device, registers: Any, build: Build, address: int, places: int
    ) -> None:
        if not 0 < places <= build.most_places or places & places - 1:
            raise ValueError(f"places must be a power of two up to {build.most_places}: {places}")
        if address < 0 or address % (DESCRIPTOR.size * places):
            raise ValueError(f"address must be a multiple of {DESCRIPTOR.size * places}: {address}")
        self.device, self.registers, self.build = device, registers, build
        self.address, self.places = address, places
        self.entries = address + DESCRIPTOR.size * places
        if self.entries + ENTRY.size * places > 1 << build.address_bits:
            raise ValueError(f"host memory has addresses of {build.address_bits} bits")
        self._written = self._free = self._read = 0  # counts: descriptors; completions
        self._tags: dict[int, int] = {}  # tags of requests, by the index of the descriptor

    def open(self, seconds: float) -> None:
        """Open both rings at index 0; no request may be under way."""
        self.close(seconds)
        self.device.write_memory(self.entries, bytes(ENTRY.size * self.places))
        self._written = self._free = self._read = 0
        self._tell()
        write_wide(
            self.registers, request_ring_address=self.address, completion_ring_address=self.entries
        )
        size = self.places.bit_length() - 1
        sizes = {f"{name}_size": size for name in RINGS}
        self.registers.write(**dict.fromkeys(RINGS, 1), **sizes)

    def close(self, seconds: float) -> None:
        """Close both rings, which also clears a fault."""
        self.registers.write(**dict.fromkeys(RINGS, 0))
        for name in RINGS:
            self._wait_idle(name, seconds)

    def carry_out(self, requests: Sequence[Request], seconds: float) -> dict[int, str]:
        """Carry requests out, as :class:`Submission` says; there may be more than places."""
        due, ends = list(requests), dict[int, str]()
        tags = {request.tag for request in requests}
        while len(ends) < len(requests):
            room = self.places - (self._written - self._free)
            self._submit(due[:room])
            due = due[room:]
            for tag, cause in self._completions(seconds):
                if tag not in tags or tag in ends:
                    raise DeviceError(f"request {tag} ended, which is not under way")
                ends[tag] = cause
            self._tell()
        return ends

    def _submit(self, requests: Sequence[Request]) -> None:
        """Write descriptors into free places, then one doorbell for all."""
        for request in requests:
            fields = vars(request) | {"wide": int(request.wide)}
            place = self.address + DESCRIPTOR.size * (self._written % self.places)
            self.device.write_memory(place, pack_descriptor(**fields))
            self._tags[self._written % INDICES] = request.tag
            self._written += 1
        if requests:
            self._tell()

    def _tell(self) -> None:
        """Tell the SNIC, in one write, how many descriptors were written and completions read."""
        self.registers.write(
            request_producer=self._written % INDICES, completion_consumer=self._read % INDICES
        )

    def _completions(self, seconds: float) -> list[tuple[int, str]]:
        """Wait until completions come; return their tags and causes."""
        end, looks = time.monotonic() + seconds, 0
        while not (found := list(self._new())):
            looks += 1
            late = time.monotonic() > end
            if late or not looks % LOOKS:
                self._check_faults()
            if late:
                raise DeviceError(f"the gather has not ended within {seconds:g} s")
            self.device.pause()
        return found

    def _new(self) -> Iterator[tuple[int, str]]:
        """Yield tags and causes of the completions that have come since the last call."""
        while True:
            turn, place = divmod(self._read, self.places)
            at = self.entries + ENTRY.size * place
            if self.device.read_memory(at + ENTRY.size - 1, 1)[0] >> 7 == turn % 2:
                return
            entry = unpack_entry(self.device.read_memory(at, ENTRY.size))  # now it is complete
            self._read += 1
            self._free += (entry.consumer - self._free) % INDICES
            cause = self.build.cause_names.get(entry.cause, str(entry.cause))
            yield self._tags[entry.tag] if cause == UNREAD else entry.tag, cause

    def _check_faults(self) -> None:
        for name in RINGS:
            fault = self.registers.read(f"{name}_fault")
            told = getattr(fault, "name", str(fault))
            if told != "NONE":
                why = self.build.faults.get(told, "")
                raise DeviceError(f"the {name.replace('_', ' ')} has stopped: {told}, {why}")

    def _wait_idle(self, name: str, seconds: float) -> None:
        busy = f"{name}_busy"
        wait_until(self.device, lambda: not self.registers.read(busy), busy, seconds)
