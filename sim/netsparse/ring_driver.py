"""Drives a SNIC by rings: work requests and completions in the host's own memory."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cocotb.triggers import ClockCycles

from hdl.common.rings import DESCRIPTOR_BYTES, INDEX_BITS, Fault
from hdl.netsparse.queue.params import ENTRY_BYTES
from hdl.netsparse.rig.params import Cause
from sim.netsparse.driver import POLL_CYCLES, SnicDriver
from sim.netsparse.golden.rings import pack_descriptor, unpack_entry
from sim.netsparse.retry import ATTEMPTS, carry_out
from sim.netsparse.work_request import Completion, WorkRequest

LOOK_CYCLES = 8  #: cycles between two polls of the completion ring
SILENT_LOOKS = 65_536  #: polls without a completion before the rings' state is read
INDICES = 1 << INDEX_BITS


class RingFault(RuntimeError):
    """Reports that a ring has stopped."""


@dataclass(frozen=True, kw_only=True)
class RingPlaces:
    """Says where a host has its rings: the completion ring lies behind the request ring."""

    address: int  #: address of both rings, a multiple of the request ring's bytes
    request_size: int  #: logarithm of the places for descriptors
    completion_size: int  #: logarithm of the places for completions, at most four times as many

    @property
    def requests(self) -> int:
        """Return the number of places for descriptors."""
        return 1 << self.request_size

    @property
    def completions(self) -> int:
        """Return the number of places for completions."""
        return 1 << self.completion_size

    @property
    def completion_address(self) -> int:
        """Return the address of the completion ring."""
        return self.address + DESCRIPTOR_BYTES * self.requests

    @property
    def end(self) -> int:
        """Return the address behind both rings."""
        return self.completion_address + ENTRY_BYTES * self.completions


class SnicRings:
    """Submits work requests, and finds completions, without reading a register.

    ``memory`` reads and writes the host's memory (:class:`HostMemory`). A doorbell tells of all
    descriptors that were written, and of all completions that were read, in one write.
    """

    def __init__(self, snic: SnicDriver, memory: Any, places: RingPlaces) -> None:
        self.snic, self.memory, self.at = snic, memory, places
        self._produced = self._consumed = self._read = self._told = 0
        self._tags: dict[int, int] = {}  # of descriptors, by their index

    async def open(self) -> None:
        """Let the SNIC use the rings: at rest, from index 0 on."""
        await self.memory.write(
            self.at.completion_address, bytes(ENTRY_BYTES * self.at.completions)
        )
        self._produced = self._consumed = self._read = self._told = 0
        await self.snic.write(request_producer=0, completion_consumer=0)
        await self.snic.write_wide(
            request_ring_address=self.at.address, completion_ring_address=self.at.completion_address
        )
        await self.snic.write(
            request_ring=1,
            completion_ring=1,
            request_ring_size=self.at.request_size,
            completion_ring_size=self.at.completion_size,
        )

    async def close(self) -> None:
        """Take the rings back, with all descriptors read and no completion on its way."""
        await self.snic.write(request_ring=0, completion_ring=0)
        while await self.snic.read("request_ring_busy") or await self.snic.read(
            "completion_ring_busy"
        ):
            await ClockCycles(self.snic.dut.clk, POLL_CYCLES)

    @property
    def room(self) -> int:
        """Return the number of descriptors that may be written."""
        return self.at.requests - (self._produced - self._consumed)

    async def submit(self, requests: Sequence[tuple[int, WorkRequest]]) -> None:
        """Write requests for units, at most ``room``, then one doorbell for all of them.

        A unit's queue that is full holds up all behind it: a host that gives no unit more than
        it has room for waits for nobody.
        """
        if len(requests) > self.room:
            raise ValueError(f"{len(requests)} requests for {self.room} free places")
        for unit, request in requests:
            descriptor = pack_descriptor(
                idx_address=request.idx_address,
                property_address=request.property_address,
                count=request.count,
                watchdog=request.watchdog,
                property_bytes=request.property_bytes,
                tag=request.tag,
                unit=unit,
                wide=int(request.idx_bytes == 8),
            )
            self._tags[self._produced % INDICES] = request.tag
            place = self._produced % self.at.requests
            await self.memory.write(self.at.address + DESCRIPTOR_BYTES * place, descriptor)
            self._produced += 1
        await self.ring_doorbell()

    async def ring_doorbell(self) -> None:
        """Tell the SNIC how many descriptors were written, and completions read."""
        self._told = self._read
        await self.snic.write(
            request_producer=self._produced % INDICES, completion_consumer=self._read % INDICES
        )

    async def poll(self) -> list[Completion]:
        """Return the completions that have come since the last time, read from memory alone.

        The SNIC is told when half of the ring's places were read, or with the next requests.
        """
        found = []
        while True:
            turn, place = divmod(self._read, self.at.completions)
            address = self.at.completion_address + ENTRY_BYTES * place
            entry = unpack_entry(await self.memory.read(address, ENTRY_BYTES))
            if entry.phase == turn % 2:
                break
            self._read += 1
            self._consumed += (entry.consumer - self._consumed) % INDICES
            cause = Cause(entry.cause)
            tag = self._tags[entry.tag] if cause is Cause.DESCRIPTOR else entry.tag
            found.append(Completion(entry.unit, tag, cause))
        if self._read - self._told > self.at.completions // 2:
            await self.ring_doorbell()
        return found

    async def completions(self) -> list[Completion]:
        """Wait for at least one completion; raise :class:`RingFault` if a ring has stopped."""
        while True:
            for _ in range(SILENT_LOOKS):
                if found := await self.poll():
                    return found
                await ClockCycles(self.snic.dut.clk, LOOK_CYCLES)
            for ring in ("request_ring", "completion_ring"):
                fault = Fault(await self.snic.read(f"{ring}_fault"))
                if fault is not Fault.NONE:
                    raise RingFault(f"the {ring.replace('_', ' ')} has stopped: {fault.name}")

    async def run(self, requests: Sequence[Sequence[WorkRequest]]) -> list[Completion]:
        """Carry out each client's ``requests``, a queue by unit; return the completions as they
        came.

        A unit has as many requests at a time as its queue holds; no two have the same tag.
        """
        unit_of = {request.tag: unit for unit, queue in enumerate(requests) for request in queue}
        queues = {unit: deque(queue) for unit, queue in enumerate(requests)}
        due = [
            (unit, queue.popleft())
            for _ in range(self.snic.params.rig.commands)
            for unit, queue in queues.items()
            if queue
        ]
        under_way = 0
        ended: list[Completion] = []
        while due or under_way:
            now, due = due[: self.room], due[self.room :]
            if now:
                await self.submit(now)
                under_way += len(now)
            found = await self.completions()
            ended += found
            under_way -= len(found)
            ready = [unit_of[done.tag] for done in found]
            due += [(unit, queues[unit].popleft()) for unit in ready if queues[unit]]
        return ended

    async def gather(
        self, requests: Sequence[Sequence[WorkRequest]], attempts: int = ATTEMPTS
    ) -> list[Completion]:
        """Carry out ``requests`` as :meth:`run` does; repeat those that a lost packet stopped."""
        return await carry_out(self.run, self.snic.clear_filter_at_rest, requests, attempts)
