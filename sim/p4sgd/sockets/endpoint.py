"""Adds up numbers with other processes through a switch behind UDP sockets."""

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.golden.reduction.frames import LANES
from sim.golden.reduction.wide_frames import MOST, Operation
from sim.golden.reduction.wide_worker import WideWorker
from sim.host.switch.block_floats import add_up
from sim.p4sgd.golden.frame_worker import FrameWorker
from sim.p4sgd.host.job import GROUP, SWITCH

TIMEOUT = 0.02  #: seconds until what has no answer is sent again
PATIENCE = 30.0  #: seconds until an all-reduce is given up


@dataclass(kw_only=True)
class SocketEnd:
    """Exchanges frames with port ``port`` of a switch, whose socket is at ``place``.

    ``job``, ``epoch`` and ``slots`` are those of the switch's job, which begins at slot 0; answers
    go to ``address``.
    """

    place: tuple[str, int]
    port: int
    slots: int
    job: int = 0
    epoch: int = 1
    address: bytes = GROUP
    switch: bytes = SWITCH

    def __post_init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(self.place)

    def exchange(
        self,
        worker: Any,
        take: Callable[[bytes], Sequence[bytes]],
        repeat: Callable[[], Sequence[bytes]],
    ) -> None:
        """Take frames and send what follows until a worker is done."""
        end = time.monotonic() + PATIENCE
        while not worker.done:
            if time.monotonic() > end:
                raise TimeoutError(f"no sum came from {self.place} within {PATIENCE:.0f} s")
            self.socket.settimeout(TIMEOUT)
            try:
                self.send(take(self.socket.recv(1 << 16)))
            except TimeoutError:
                self.send(repeat())
            except ConnectionRefusedError:  # the switch has not begun yet
                time.sleep(TIMEOUT)

    def send(self, frames: Sequence[bytes]) -> None:
        """Send frames to the switch."""
        for frame in frames:
            try:
                self.socket.send(frame)
            except ConnectionRefusedError:  # it is sent again
                time.sleep(TIMEOUT)


class Endpoint(SocketEnd):
    """Is a worker of a P4SGD switch."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.partials: list[tuple[int, ...]] = []
        self.worker = FrameWorker(
            address=self.address,
            switch=self.switch,
            port=self.port,
            job=self.job,
            epoch=self.epoch,
            base=0,
            slots=self.slots,
            partials=self.partials,
        )

    def all_reduce(self, numbers: Sequence[int]) -> list[int]:
        """Return the sums of ``numbers``, of 32 signed bits, over all workers of the job.

        A sum that does not fit is clamped. TimeoutError if other workers do not take part.
        """
        before = len(self.partials)
        padded = [*map(int, numbers), *[0] * (-len(numbers) % LANES)]
        self.partials += [tuple(padded[k : k + LANES]) for k in range(0, len(padded), LANES)]
        self.send(self.worker.begin())
        self.exchange(self.worker, self.worker.take, self.worker.repeat)
        sums = [self.worker.sums[k] for k in range(before, len(self.partials))]
        return [number for each in sums for number in each][: len(numbers)]


@dataclass(kw_only=True)
class WideEndpoint(SocketEnd):
    """Is a worker of a switch of wide frames: numbers are an array, and floats can be added up.

    A frame has up to ``length`` numbers.
    """

    length: int = MOST

    def __post_init__(self) -> None:
        super().__post_init__()
        fields = {name: getattr(self, name) for name in ("port", "job", "epoch", "slots", "length")}
        self.worker = WideWorker(
            address=self.switch, group=self.address, timeout=int(1000 * TIMEOUT), **fields
        )

    def all_reduce(self, numbers: NDArray[np.int32], operation: str) -> NDArray[np.int32]:
        """Return the result of an operation, such as "MAX", on the numbers of all workers."""

        def due() -> list[bytes]:
            return [*self.worker.due(int(1000 * time.monotonic()))]

        def take(data: bytes) -> list[bytes]:
            self.worker.take(data)
            return due()

        self.worker.begin(numbers, Operation[operation])
        self.send(due())
        self.exchange(self.worker, take, due)
        return self.worker.result

    def add_up(self, values: NDArray[Any], workers: int) -> NDArray[Any]:
        """Return the sums of floats; see :mod:`sim.host.switch.block_floats`."""
        return add_up(values, workers, self.all_reduce)
