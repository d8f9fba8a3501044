"""Carries frames, as bytes, between ends that take and answer them, as events.

There is no time: what was sent waits until it is delivered, one frame at a time. Timers run out
when nothing is left to deliver, or earlier where a test wants them to.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.harness.session import RunFailed
from sim.switchgnn.golden.frames import Frame, Quality
from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.golden.worker import WorkerModel
from sim.switchgnn.wire import NOWHERE, judge, to_octets

Place = str | int
End = tuple[Place, int]  #: an end of a link: a place, and the number of one of its ports
Sent = Iterable[tuple[int, Frame]]  #: frames, and the port that each leaves by
MAX_DELIVERIES = 10_000_000  #: most deliveries of a job, unless told otherwise


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Sets the chance of each fault that links do to a frame."""

    drop: float = 0.0  #: chance that a frame is lost
    duplicate: float = 0.0  #: chance that it comes once more, after some that were sent later
    reorder: float = 0.0  #: chance that another frame, any of those on their way, comes before it
    corrupt: float = 0.0  #: chance that one of its bits is wrong
    again: float = 0.0  #: chance that an old frame, any that was ever sent, comes once more


class Links:
    """Holds frames on their way between ends, functions of a port and of what arrives there."""

    def __init__(self, rng: np.random.Generator, *, lanes: int, faults: Faults) -> None:
        self.rng, self.lanes, self.faults = rng, lanes, faults
        self.flying: deque[tuple[End, bytes]] = deque()
        self.ends: dict[Place, Callable[[int, Frame | Quality], Sent]] = {}
        self.peers: dict[End, End] = {}  #: both directions of each link
        self.ever: list[tuple[End, bytes]] = []  #: all that was sent, if it may come again
        self.counts: Counter[str] = Counter()  #: frames, bytes, and faults by their names

    def connect(self, first: End, second: End) -> None:
        """Connect two ends by a link."""
        self.peers[first], self.peers[second] = second, first

    def send(self, place: Place, frames: Sent) -> None:
        """Put frames on the links of an end."""
        for port, frame in frames:
            octets = self.pack(frame)
            self.flying.append((self.peers[place, port], octets))
            self.counts["frames"] += 1
            self.counts["bytes"] += len(octets)
            if self.faults.again:
                self.ever.append(self.flying[-1])

    def deliver(self) -> None:
        """Let one frame arrive, or be lost; send its answers."""
        if self.happens("reorder"):
            at = int(self.rng.integers(len(self.flying)))
            self.flying[at], self.flying[0] = self.flying[0], self.flying[at]
        (place, port), octets = flight = self.flying.popleft()
        if self.happens("drop"):
            return
        if self.happens("duplicate"):
            self.flying.append(flight)
        if self.happens("again"):
            self.flying.append(self.ever[int(self.rng.integers(len(self.ever)))])
        corrupt = self.happens("corrupt")
        self.send(place, self.ends[place](port, self.unpack(octets, corrupt)))

    def pack(self, frame: Any) -> Any:
        """Return the frame as it travels; other protocols override this."""
        return to_octets(frame, self.lanes)

    def unpack(self, octets: Any, corrupt: bool) -> Any:
        """Return what a receiver makes of the bytes; other protocols override this."""
        return judge(octets, self.lanes, NOWHERE.destination, corrupt=corrupt)

    def happens(self, fault: str) -> bool:
        """Return whether a fault happens, and count it."""
        chance = getattr(self.faults, fault)
        happens = bool(chance and self.rng.random() < chance)
        self.counts[fault] += happens
        return happens


def join(links: Links, place: Place, worker: WorkerModel, switch: Place, port: int) -> None:
    """Connect a worker to a port of a switch."""
    links.connect((place, 0), (switch, port))
    links.ends[place] = lambda _, arrival: [
        (0, frame) for frame in (*worker.take(arrival), *worker.send())
    ]


def run(
    links: Links,
    switches: Mapping[Place, SwitchModel],
    workers: Mapping[Place, WorkerModel],
    *,
    early: float = 0.0,
    most: int = MAX_DELIVERIES,
) -> None:
    """Deliver frames until all turns are over; raise RunFailed if they are not after ``most``
    frames.

    ``early`` is the chance that, with a delivered frame, all timers run out although others are on
    their way. It must be small, as many frames are sent each time and only one is delivered.
    """
    for switch in switches.values():
        switch.load()
    for place, worker in workers.items():
        links.send(place, [(0, frame) for frame in worker.send()])
    for _ in range(most):
        if all(worker.ended for worker in workers.values()):
            return
        if not links.flying:
            for place, switch in switches.items():
                links.send(place, switch.ack_delay_over())
        if not links.flying or (early and links.rng.random() < early):
            for place, switch in switches.items():
                links.send(place, [*switch.ack_delay_over(), *switch.partial_timeout()])
            for place, worker in workers.items():
                links.send(place, [(0, frame) for frame in worker.timeout()])
        if links.flying:
            links.deliver()
        for switch in switches.values():
            switch.load()
    raise RunFailed(f"the turns are not over after {most:,} frames")
