"""Carries out work requests on a SNIC by registers or rings; tries again what lost a packet."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from sim.host.device import Device, DeviceError, check_design, wait_until
from sim.netsparse.host.snic.build import Build
from sim.netsparse.host.snic.by_registers import ByRegisters
from sim.netsparse.host.snic.by_rings import ByRings
from sim.netsparse.host.snic.request import Completion, Request, Submission

SECONDS = 60.0  #: the longest wait for the hardware unless told otherwise
DONE, PASSING = "DONE", "WATCHDOG"  #: causes: of success, and of what may succeed a second time
ATTEMPTS = 3  #: attempts at a request unless told otherwise
LOOKS = 16_384  #: looks that find no completion before the SNIC is asked whether it has stopped


class GatherFailed(DeviceError):
    """Reports that a gather did not bring all rows.

    ``completions`` are the last ones of all requests; ``causes`` names why some failed.
    """

    def __init__(self, completions: Sequence[Completion], build: Build) -> None:
        self.completions = tuple(completions)
        self.causes = tuple(item.cause for item in completions if item.cause != DONE)
        reported = (
            f"{cause}, {build.causes.get(cause, '')}" for cause in dict.fromkeys(self.causes)
        )
        super().__init__(f"the gather ended as {'; '.join(reported)}")


class RequestRunner:
    """Drives a SNIC's units on ``device``.

    ``registers`` is an object of the generated driver's class on the same device, whose memory is
    the host's, at the addresses that the SNIC's bus uses. ``seconds`` is the longest wait for the
    hardware. While no request ends the driver calls ``idle``, which lets the hardware go on; by
    registers, a program may let it sleep until an interrupt. Raises :class:`DeviceError` if the
    device holds another design than ``build``.
    """

    def __init__(self, device: Device, registers: Any, build: Build) -> None:
        self.device, self.registers, self.build = device, registers, build
        self.seconds = SECONDS
        self.idle: Callable[[], object] = device.pause
        self._clients: list[int] = []
        self._path: Submission = ByRegisters(registers)
        check_design(registers, build.fixed)

    def use_rings(self, address: int, places: int = 64, completions: int | None = None) -> None:
        """Submit requests by rings in host memory from now on; call this while no unit gathers.

        The ring of descriptors has ``places`` places of 64 bytes and begins at ``address``; after
        it comes the ring of completions, with ``completions`` places of 16 bytes, by default as
        many. Both are powers of two, and ``address`` is a multiple of either ring's bytes. After a
        :class:`DeviceError` in a gather this call begins anew. Raises ValueError for rings that
        cannot have this size or address.
        """
        both = (places, places if completions is None else completions)
        rings = ByRings(self.device, self.registers, self.build, address, both)
        rings.open(self.seconds)
        self._path = rings

    def use_registers(self) -> None:
        """Submit requests by registers again, and give the rings up."""
        self._path.close(self.seconds)
        self._path = ByRegisters(self.registers)

    def clear_filter(self) -> None:
        """Forget which rows have come: before another table is gathered, or the same one anew."""
        self.registers.write(clear_filter=1)
        self._wait(lambda: not self.registers.read("filter_busy"), "clearing the filter")

    def acknowledge(self) -> None:
        """Tell the SNIC that all completions that have come were read."""
        self._path.acknowledge()

    def complete(self, requests: Sequence[Request], attempts: int = ATTEMPTS) -> list[Completion]:
        """Carry out requests, and those again that lost a packet; return each one's completion.

        They are tried again, ``attempts`` times in all, when all others have ended and the filter
        has been cleared: a bit of it may stand for a property that a failed request did not bring,
        and clearing it is right only while no request relies on it. So nobody else may submit
        meanwhile. Properties that have come stay right. :class:`GatherFailed` if a request has
        ended otherwise, or in the last attempt. ValueError for requests that a lost packet would
        stop for ever, or that have the same tag.
        """
        check_requests(requests)
        last: dict[int, Completion] = {}
        for attempt in range(1, attempts + 1):
            left = [
                item for item in requests if item.tag not in last or last[item.tag].cause != DONE
            ]
            last |= {done.tag: done for done in self.carry_out(left)}
            wrong = {done.cause for done in last.values()} - {DONE}
            if not wrong:
                break
            if attempt == attempts or wrong != {PASSING}:
                raise GatherFailed([*last.values()], self.build)
            self.rest()
            self.clear_filter()
        return [*last.values()]

    def carry_out(self, requests: Sequence[Request]) -> list[Completion]:
        """Carry out requests, whose tags must differ; return completions in the order they came.

        Each unit gets its requests in their order, as many at a time as its queue holds.
        :class:`DeviceError` if none ends for ``seconds``, or if one ends that is not under way.
        """
        unit_of = {request.tag: request.unit for request in requests}
        queues = {unit: deque[Request]() for unit in sorted({*unit_of.values()})}
        for request in requests:
            queues[request.unit].append(request)
        due = [
            queue.popleft() for _ in range(self.build.queue) for queue in queues.values() if queue
        ]
        ends: list[Completion] = []
        while unit_of:
            if due:
                due = due[self.submit(due) :]
            for done in self.completions():
                unit = unit_of.pop(done.tag, None)
                if unit is None:
                    raise DeviceError(f"request {done.tag} ended, which is not under way")
                ends.append(done)
                if queues[unit]:
                    due.append(queues[unit].popleft())
        self.acknowledge()
        return ends

    def submit(self, requests: Sequence[Request]) -> int:
        """Hand over the first requests, as many as there is room for; return how many."""
        return self._path.submit(requests)

    def completions(self) -> list[Completion]:
        """Wait until a request ends; return the completions that have come since the last call."""
        end, looks = time.monotonic() + self.seconds, 0
        while not (result := self._path.completions()):
            looks += 1
            late = time.monotonic() > end
            if late or not looks % LOOKS:
                self._path.check()
            if late:
                raise DeviceError(f"the gather has not ended within {self.seconds:g} s")
            self.idle()
        return result

    def rest(self, servers: bool = False) -> None:
        """Wait until no unit gathers; units that serve may go on.

        With ``servers``, wait until no unit works at all, and no packet waits to be sent.
        """
        clients = sum(1 << unit for unit in self._clients)

        def at_rest() -> bool:
            busy = int(self.registers.read("busy_units"))
            if servers:
                return not busy and not self.registers.read("concatenating")
            return not busy & clients

        self._wait(at_rest, "the last request")

    def _wait(self, condition: Any, what: str) -> None:
        wait_until(self.device, condition, what, self.seconds)


def check_requests(requests: Sequence[Request]) -> None:
    """Raise ValueError unless requests can be tried again, and told from each other."""
    if len({request.tag for request in requests}) < len(requests):
        raise ValueError("two requests have the same tag")
    for request in requests:
        if request.watchdog < 1:
            raise ValueError(f"request {request.tag} has no watchdog: a lost packet would stop it")
