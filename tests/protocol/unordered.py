"""Models a network that drops, duplicates, delays and reorders packets."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from sim.p4sgd.golden.allreduce import Verdict
from tests.protocol.model import NAMES, Flight
from tests.protocol.network import Network, Numbers, Step, exchanged

State = tuple[Numbers, int, tuple[int, ...]]  # ends, bits of packets in flight, and in `aged`


class Lifetime(Enum):
    """Says how long a packet may be in flight."""

    UNBOUNDED = "unbounded"
    BOUNDED = "bounded"  # by the use: none of n - `distance` is delivered after n has finished
    FREED = "freed"  # the same, but after all workers have been freed of use n: too late
    WAITED = "waited"  # by a time for which a worker leaves a freed slot idle


@dataclass
class Unordered(Network):
    """Whatever was sent stays in flight and may be delivered at any time, any number of times.

    That is all that such a network can do: a packet that never arrives is lost, one that arrives
    twice was duplicated or sent twice. What a worker may send again at any time is in flight
    whenever it may. A use has finished when the switch has the last acknowledgement of it.

    WAITED: what is in flight when a worker is freed is gone when the worker starts the next use;
    state carries for each worker what is left of that (sent again, a packet is young again).
    """

    lifetime: Lifetime = Lifetime.UNBOUNDED
    distance: int | None = None  # 2^w - 1 unless given

    def __post_init__(self) -> None:
        super().__post_init__()
        workers = self.model.worker_count
        self.up, self.down = 0, [0] * workers  # bits of packets by where they go
        self.of_use: dict[int, int] = {}
        self.ignored: dict[int, int] = {}  # by an end: it takes them without any effect

    @property
    def start(self) -> State:
        """Return the state at the beginning."""
        return self.emptied(self.ends_at_start())

    def learn(self, number: int, flight: Flight) -> None:
        """Note a packet that is seen for the first time."""
        bit = 1 << number
        self.of_use[flight.number] = self.of_use.get(flight.number, 0) | bit
        if flight.down:
            self.down[flight.worker] |= bit
        else:
            self.up |= bit

    def emptied(self, ends: Numbers) -> State:
        """Return the state with these ends after the network lost all that it held."""
        return ends, self.resent(ends), (0,) * self.model.worker_count

    def resent(self, ends: Numbers) -> int:
        """Return what the workers may send at any time."""
        bits = 0
        for index, worker in enumerate(ends[1:]):
            if (flight := self.sent(index, worker)) is not None:
                bits |= 1 << flight
        return bits

    def steps(self, state: State) -> Iterator[Step]:
        """Return all that may happen next."""
        ends, flying, aged = state
        for index, worker in enumerate(ends[1:]):
            if (started := self.starts(worker)) is not None:
                step = f"{NAMES[index]} starts"
                left = flying & ~aged[index]
                young = tuple(old & left for old in exchanged(aged, index, 0))
                after = exchanged(ends, index + 1, started)
                self.numbered_apart(started, members(left))
                yield step, (after, left | self.resent(after), young), ""
            arrivals = flying & self.down[index] & ~self.ignored.get(worker, 0)
            for flight in members(arrivals):
                yield from self.worker_step(state, index, flight)
        for flight in members(flying & self.up & ~self.ignored.get(ends[0], 0)):
            yield from self.switch_step(state, flight)

    def worker_step(self, state: State, index: int, flight: int) -> Iterator[Step]:
        """Return what follows when a worker gets a packet."""
        ends, flying, aged = state
        worker = ends[index + 1]
        received = self.worker_takes(worker, flight)
        fault = self.fault(ends, flight, received.verdict)
        if received.worker == worker and received.verdict not in (Verdict.FULL, Verdict.FREED):
            self.ignored[worker] = self.ignored.get(worker, 0) | 1 << flight
            return
        after = exchanged(ends, index + 1, received.worker)
        now = self.resent(after)
        if received.verdict is Verdict.FREED:
            if self.lifetime is Lifetime.WAITED and self.starts(received.worker) is not None:
                aged = exchanged(aged, index, flying & ~now)
            if self.lifetime is Lifetime.FREED and not self.waits(after, worker):
                flying &= ~self.outlived(worker)
        yield received.step, (after, flying | now, aged), fault

    def switch_step(self, state: State, flight: int) -> Iterator[Step]:
        """Return what follows when the switch gets a packet."""
        ends, flying, aged = state
        taken = self.switch_takes(ends[0], flight)
        if taken.switch == ends[0] and not taken.answers:
            self.ignored[ends[0]] = self.ignored.get(ends[0], 0) | 1 << flight
            return
        answers = sum(1 << answer for answer in taken.answers)
        flying |= answers
        if taken.finished and self.lifetime is Lifetime.BOUNDED:
            flying &= ~self.outlived(ends[0])
        aged = tuple(old & ~answers for old in aged)
        yield taken.step, (exchanged(ends, 0, taken.switch), flying, aged), taken.fault

    def waits(self, ends: Numbers, worker: int) -> bool:
        """Whether anyone is where the worker was: in the same phase of the same use."""
        return worker in ends[1:]

    def outlived(self, end: int) -> int:
        """Return packets that are no longer in flight when the end's use has finished."""
        distance = self.model.uses - 1 if self.distance is None else self.distance
        number = self.things[end].number - distance
        if self.model.total is None:
            number %= self.model.period
        return self.of_use.get(number, 0)


def members(bits: int) -> Iterator[int]:
    """Return the places of the ones."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
