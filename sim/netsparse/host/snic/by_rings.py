"""Submits requests to a SNIC by a ring in host memory, and reads completions from another."""

from collections.abc import Iterator, Sequence
from typing import Any

from sim.host.device import Device, DeviceError, wait_until, write_wide
from sim.netsparse.golden.rings import DESCRIPTOR, ENTRY, pack_descriptor, unpack_entry
from sim.netsparse.host.snic.build import Build
from sim.netsparse.host.snic.request import Completion, Request

RINGS = ("request_ring", "completion_ring")
INDICES = 1 << 16  #: indices count modulo this
UNREAD = "DESCRIPTOR"  #: cause of a request whose descriptor could not be read


class ByRings:
    """Holds the ring of descriptors, from ``address`` on, and after it the ring of completions.

    They have ``places[0]`` and ``places[1]`` places, powers of two; ``address`` is a multiple of
    the bytes of the first ring, and of those of the second. While requests are under way the
    program reads no register.
    """

    def __init__(
        self, device: Device, registers: Any, build: Build, address: int, places: tuple[int, int]
    ) -> None:
        for count in places:
            if not 0 < count <= build.most_places or count & count - 1:
                raise ValueError(
                    f"places must be a power of two up to {build.most_places}: {count}"
                )
        self.device, self.registers, self.build = device, registers, build
        self.address, (self.places, self.entry_places) = address, places
        size = max(DESCRIPTOR.size * self.places, ENTRY.size * self.entry_places)
        if address < 0 or address % size:
            raise ValueError(f"address must be a multiple of {size}: {address}")
        self.entries = address + DESCRIPTOR.size * self.places
        if self.end > 1 << build.address_bits:
            raise ValueError(f"host memory has addresses of {build.address_bits} bits")
        # Counts: descriptors written and read; completions read, and those that the SNIC knows of.
        self._written = self._free = self._read = self._reported = 0
        self._tags: dict[int, int] = {}  # tags of requests, by the index of the descriptor

    @property
    def end(self) -> int:
        """Return the address after both rings."""
        return self.entries + ENTRY.size * self.entry_places

    @property
    def room(self) -> int:
        """Return the number of descriptors that may be written."""
        return self.places - (self._written - self._free)

    def open(self, seconds: float) -> None:
        """Open both rings at index 0; no request may be under way."""
        self.close(seconds)
        self.device.write_memory(self.entries, bytes(ENTRY.size * self.entry_places))
        self._written = self._free = self._read = 0
        self._report()
        write_wide(
            self.registers, request_ring_address=self.address, completion_ring_address=self.entries
        )
        self.registers.write(
            **dict.fromkeys(RINGS, 1),
            request_ring_size=self.places.bit_length() - 1,
            completion_ring_size=self.entry_places.bit_length() - 1,
        )

    def close(self, seconds: float) -> None:
        """Close both rings, which also clears a fault."""
        self.registers.write(**dict.fromkeys(RINGS, 0))
        for name in RINGS:
            self._wait_idle(name, seconds)

    def submit(self, requests: Sequence[Request]) -> int:
        """Write descriptors into free places, then one doorbell for all; return how many.

        A unit's queue that is full holds up all requests behind it.
        """
        count = min(len(requests), self.room)
        for request in requests[:count]:
            fields = vars(request) | {"wide": int(request.wide)}
            place = self.address + DESCRIPTOR.size * (self._written % self.places)
            self.device.write_memory(place, pack_descriptor(**fields))
            self._tags[self._written % INDICES] = request.tag
            self._written += 1
        if count:
            self._report()
        return count

    def completions(self) -> list[Completion]:
        """Return the completions that have come since the last call.

        The SNIC is told of them when half of the ring was read, or with the next requests.
        """
        result = list(self._new())
        if self._read - self._reported > self.entry_places // 2:
            self._report()
        return result

    def acknowledge(self) -> None:
        """Tell the SNIC of all completions that were read."""
        if self._reported != self._read:
            self._report()

    def check(self) -> None:
        """Raise :class:`DeviceError` if a ring has stopped."""
        for name in RINGS:
            fault = self.registers.read(f"{name}_fault")
            reported = getattr(fault, "name", str(fault))
            if reported != "NONE":
                why = self.build.faults.get(reported, "")
                raise DeviceError(f"the {name.replace('_', ' ')} has stopped: {reported}, {why}")

    def _report(self) -> None:
        """Tell the SNIC, in one write, how many descriptors were written and completions read."""
        self._reported = self._read
        self.registers.write(
            request_producer=self._written % INDICES, completion_consumer=self._read % INDICES
        )

    def _new(self) -> Iterator[Completion]:
        while True:
            turn, place = divmod(self._read, self.entry_places)
            at = self.entries + ENTRY.size * place
            if self.device.read_memory(at + ENTRY.size - 1, 1)[0] >> 7 == turn % 2:
                return
            entry = unpack_entry(self.device.read_memory(at, ENTRY.size))  # now it is complete
            self._read += 1
            self._free += (entry.consumer - self._free) % INDICES
            cause = self.build.cause_names.get(entry.cause, str(entry.cause))
            tag = self._tags[entry.tag] if cause == UNREAD else entry.tag
            yield Completion(entry.unit, tag, cause)

    def _wait_idle(self, name: str, seconds: float) -> None:
        busy = f"{name}_busy"
        wait_until(self.device, lambda: not self.registers.read(busy), busy, seconds)
