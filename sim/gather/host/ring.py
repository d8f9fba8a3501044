"""Submits work requests to a gather engine by a ring in host memory."""

from collections.abc import Callable

from sim.gather.host.gather_engine import Engine
from sim.gather.host.request import (
    COMPLETION_BYTES,
    Request,
    check_request,
    fields_of,
    multiple,
    within,
)
from sim.host.device import DeviceError, wait_until, write_wide

DESCRIPTOR_BYTES = 64
MAX_PLACES = 1 << 15
INDICES = 1 << 16  #: descriptors are counted modulo this


class RingStopped(DeviceError):
    """Reports that the engine has stopped reading a ring; the first ``read`` requests still end."""

    def __init__(self, why: str, read: int) -> None:
        super().__init__(f"the ring has stopped after {read} requests: {why}")
        self.read = read


class Ring:
    """Holds work requests in host memory from ``address`` on, where the engine reads them itself.

    The ring has ``places`` places, a power of two, of 64 bytes each; ``address`` is a multiple of
    the ring's bytes. One doorbell announces all requests that are submitted together. A program
    waits for each request as for one that was submitted by registers. Raises ValueError if the
    build has no ring, or the ring cannot have this size or address.
    """

    def __init__(self, engine: Engine, address: int, places: int) -> None:
        if not engine.build.fixed["descriptors"]:
            raise ValueError("this build has no ring of work requests")
        within("places", places, 1, MAX_PLACES)
        if places & places - 1:
            raise ValueError(f"places must be a power of two: {places}")
        multiple("the ring's address", address, DESCRIPTOR_BYTES * places)
        self.engine, self.address, self.places = engine, address, places
        self.written = 0  #: requests since the ring was opened

    def open(self) -> None:
        """Let the engine read the ring, from its first place on."""
        registers = self.engine.registers
        self.close()
        self.written = 0
        registers.write(request_producer=0)
        write_wide(registers, request_ring_address=self.address)
        registers.write(request_ring=1, request_ring_size=self.places.bit_length() - 1)

    def close(self) -> None:
        """Close the ring; requests that the engine has not read are not carried out."""
        registers = self.engine.registers
        registers.write(request_ring=0)
        self._wait(lambda: not registers.read("request_ring_busy"), "closing the ring")

    def read(self) -> int:
        """Return how many requests the engine has read since the ring was opened."""
        behind = (self.written - int(self.engine.registers.read("request_consumer"))) % INDICES
        return self.written - behind

    def submit(self, *requests: Request) -> None:
        """Write requests into the ring as it has room, and tell the engine how many there are.

        Raises ValueError, before anything is written, for a request that the engine does not
        support, and :class:`RingStopped` if the ring stops before it has room for all.
        """
        for request in requests:
            check_request(request, self.engine.build)
        self.write(*requests)

    def write(self, *requests: Request) -> None:
        """Write requests into the ring as :meth:`submit` does, but do not judge them."""
        left = list(requests)
        while left:
            with self.engine.submitting:
                left = self._write_some(left)

    def _write_some(self, requests: list[Request]) -> list[Request]:
        """Write as many requests as there comes room for; return the others."""
        self._wait(lambda: self._room() or self.why(), "the wait for room in the ring")
        if why := self.why():
            raise RingStopped(why, self.read())
        room = self._room()
        for request in requests[:room]:
            self._put(request)
        self.engine.registers.write(request_producer=self.written % INDICES)
        return requests[room:]

    def why(self) -> str:
        """Return why the ring has stopped, or an empty text while it goes on."""
        registers, build = self.engine.registers, self.engine.build
        if cause := registers.read("request_ring_cause"):
            name = build.causes[cause]
            return f"a request could not be read, {name}, {build.why[name]}"
        if fault := registers.read("request_ring_fault"):
            return build.faults[fault]
        return "" if registers.read("request_ring_busy") else "it was closed"

    def _room(self) -> int:
        return self.places - (self.written - self.read())

    def _put(self, request: Request) -> None:
        device, build = self.engine.device, self.engine.build
        device.write_memory(request.completion, bytes(COMPLETION_BYTES))
        fields = fields_of(request, build).items()
        descriptor = sum(value << build.descriptor[name][0] for name, value in fields)
        place = self.address + DESCRIPTOR_BYTES * (self.written % self.places)
        device.write_memory(place, descriptor.to_bytes(DESCRIPTOR_BYTES, "little"))
        self.written += 1

    def _wait(self, condition: Callable[[], object], what: str) -> None:
        wait_until(self.engine.device, condition, what, self.engine.seconds)
