"""Gathers rows by a gather engine: submits work requests, waits for them, reads what came."""

import time
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.gather.host.build import Build
from sim.gather.host.request import (
    COMPLETION_BYTES,
    Completion,
    Request,
    check_request,
    completion_of,
    fields_of,
)
from sim.host.device import Device, DeviceError, check_design, chosen, wait_until, write_wide

SECONDS = 60.0  #: the longest wait for the hardware unless told otherwise
ADDRESSES = ("idx_address", "base", "destination", "completion")  #: each in two registers


class GatherFailed(DeviceError):
    """Reports that a request did not end as DONE; ``completion`` is its completion."""

    def __init__(self, completion: Completion, build: Build) -> None:
        named = dict.fromkeys((completion.outcome, completion.cause))
        reported = (f"{name}, {build.why[name]}" for name in named if name != "NONE")
        super().__init__(f"the gather ended as {'; '.join(reported)}")
        self.completion = completion


class Engine:
    """Drives a gather engine on ``device``.

    ``registers`` is an object of the generated driver's class on the same device, whose memory is
    the host's, at the addresses that the card's bus uses. ``seconds`` is the longest wait for the
    hardware. Raises :class:`DeviceError` if the device holds another design than ``build``.

    A device may have ``wait_interrupt(seconds)``, which waits for an interrupt, also one since the
    last wait, and returns whether one has come; and ``read_card(address, size)``, which returns
    bytes of device memory, as that of a real card does not.
    """

    def __init__(self, device: Device, registers: Any, build: Build) -> None:
        self.device, self.registers, self.build = device, registers, build
        self.seconds = SECONDS
        self.submitting = Lock()  #: held by a thread while it writes the registers of a request
        check_design(registers, build.fixed)

    def put_idxs(self, idxs: ArrayLike, address: int, idx_bytes: int = 4) -> int:
        """Pack idxs into host memory, ``idx_bytes`` each, from ``address`` on; return their number.

        ValueError for what is no list of integers that fit.
        """
        expected = np.asarray(idxs)
        if expected.ndim != 1 or (expected.size and expected.dtype.kind not in "iu"):
            raise ValueError("idxs must be a list of integers")
        if idx_bytes not in (4, 8):
            raise ValueError(f"idx_bytes must be 4 or 8: {idx_bytes}")
        most = (1 << 8 * idx_bytes) - 1
        if expected.size and not 0 <= int(expected.min()) <= int(expected.max()) <= most:
            raise ValueError(f"idxs must be from 0 to {most}")
        self.device.write_memory(address, expected.astype(f"<u{idx_bytes}").tobytes())
        return int(expected.size)

    def submit(self, request: Request) -> None:
        """Put a request into the engine's queue, when that has room.

        The request's completion is cleared before. Several threads may submit. ValueError for what
        the engine does not carry out, before anything is written.
        """
        check_request(request, self.build)
        with self.submitting:
            self._wait(lambda: not self.registers.read("queue_full"), "the queue")
            self.describe(request)
            self.registers.write(submit=1)
            if self.registers.read("refused"):
                raise DeviceError("the engine refused a request, as its queue was full")

    def describe(self, request: Request) -> None:
        """Clear a request's completion, and write what it asks for: ``submit`` is written next."""
        self.device.write_memory(request.completion, bytes(COMPLETION_BYTES))
        fields = fields_of(request, self.build)
        write_wide(self.registers, **{name: fields.pop(name) for name in ADDRESSES})
        self.registers.write(**fields)

    def completion(self, request: Request) -> Completion | None:
        """Return what became of a request that was submitted; None if it has not ended."""
        octets = self.device.read_memory(request.completion, COMPLETION_BYTES)
        result = completion_of(octets, self.build)
        if result and result.tag != request.tag:
            raise DeviceError(f"request {result.tag} ended, and {request.tag} was waited for")
        return result

    def wait(self, request: Request, *, interrupt: bool = False) -> Completion:
        """Wait until a request has ended, by looking again and again, or for an ``interrupt``.

        :class:`GatherFailed` if it ended otherwise than as DONE.
        """
        if interrupt:
            self._sleep_until_ended(request)
        else:
            self._wait(lambda: self.completion(request) is not None, "the gather")
        result = self.completion(request)
        if result is None:
            raise DeviceError("a completion has gone")
        if result.outcome != "DONE":
            raise GatherFailed(result, self.build)
        return result

    def rows(self, request: Request) -> NDArray[np.uint8]:
        """Return the rows of a request [count, row_bytes] as they lie in memory.

        Those that were posted are in host memory. :class:`DeviceError` where the host cannot see
        device memory: on a card the rows are for what consumes them there.
        """
        size, device = request.table.row_bytes, self.device
        read = device.read_memory if request.posted else getattr(device, "read_card", None)
        if read is None:
            raise DeviceError("the host does not see this card's memory")
        octets = read(request.destination, request.count * size)
        return np.frombuffer(octets, np.uint8).reshape(request.count, size)

    def gather(self, request: Request, *, to: int) -> NDArray[np.uint8]:
        """Gather the rows of a request into host memory from ``to`` on; wait, and return them.

        The array is [count, row_bytes]. ValueError for what the engine does not carry out, as a
        build that posts no rows does not; :class:`GatherFailed` if the request did not end as DONE.
        """
        posted = replace(request, destination=to, posted=True, streamed=False)
        self.submit(posted)
        self.wait(posted)
        return self.rows(posted)

    def stop(self) -> None:
        """End all requests that the engine has; those that had not ended end as STOPPED.

        This closes the ring; its descriptors that were not read yet get no completion.
        """
        self.registers.write(stop=1)
        self._wait(lambda: not self.registers.read("stopping"), "the stop")

    def revive(self) -> None:
        """Use device memory again that has failed, as soon as it owes nothing."""
        self._wait(lambda: not self.registers.read("device_owes"), "what device memory owes")
        self.registers.write(revive_buses=1)

    def limit_reads(self, most: int) -> None:
        """Keep to ``most`` fetches under way, once no request is; 0: as many as there is room."""
        self._wait(lambda: not self.registers.read("busy"), "the last request")
        self.registers.write(most_reads=most)

    def clear_counters(self) -> None:
        """Set all counters to zero."""
        self.registers.write(clear_counters=1)

    def counters(self) -> dict[str, int]:
        """Return the counters by name."""
        return chosen(self.registers, self.build.counters, "engine")

    def _sleep_until_ended(self, request: Request) -> None:
        """Look after each interrupt, of which several requests may have one."""
        wait_interrupt = getattr(self.device, "wait_interrupt", None)
        if wait_interrupt is None:
            raise DeviceError("this device gives no interrupts")
        end = time.monotonic() + self.seconds
        while self.completion(request) is None:
            left = end - time.monotonic()
            if left <= 0:
                raise DeviceError(f"the gather has not ended within {self.seconds:g} s")
            wait_interrupt(left)

    def _wait(self, condition: Any, what: str) -> None:
        wait_until(self.device, condition, what, self.seconds)
