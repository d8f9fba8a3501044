"""Adds up numbers with other processes through a switch behind UDP sockets."""

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass

from sim.golden.reduction.frames import LANES
from sim.p4sgd.golden.frame_worker import FrameWorker
from sim.p4sgd.host.job import GROUP, SWITCH

TIMEOUT = 0.02  #: seconds until what has no answer is sent again
PATIENCE = 30.0  #: seconds until an all-reduce is given up


@dataclass(kw_only=True)
class Endpoint:
    """Is the worker at port ``port`` of a switch whose socket is at ``place``.

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
        end = time.monotonic() + PATIENCE
        while not self.worker.done:
            if time.monotonic() > end:
                raise TimeoutError(f"no sum came from {self.place} within {PATIENCE:.0f} s")
            self.socket.settimeout(TIMEOUT)
            try:
                self.send(self.worker.take(self.socket.recv(1 << 16)))
            except TimeoutError:
                self.send(self.worker.repeat())
            except ConnectionRefusedError:  # the switch has not begun yet
                time.sleep(TIMEOUT)
        sums = [self.worker.sums[k] for k in range(before, len(self.partials))]
        return [number for each in sums for number in each][: len(numbers)]

    def send(self, frames: Sequence[bytes]) -> None:
        """Send frames to the switch."""
        for frame in frames:
            try:
                self.socket.send(frame)
            except ConnectionRefusedError:  # it is sent again
                time.sleep(TIMEOUT)
