"""Numbers ends and packets for all networks, so that each rule is run once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sim.p4sgd.golden.allreduce import Verdict
from tests.protocol.model import NAMES, Ends, Flight, Model, SwitchEnd, WorkerEnd

Numbers = tuple[int, ...]  # of the switch's end, then of each worker's
Step = tuple[str, tuple, str]  # what happens, the state after it, what is wrong with it or ""


@dataclass(frozen=True)
class Taken:
    """What the switch does with a packet, in small numbers."""

    switch: int
    answers: tuple[int, ...]
    finished: bool
    step: str
    fault: str


@dataclass(frozen=True)
class Received:
    """What a worker does with a packet, in small numbers."""

    worker: int
    verdict: Verdict
    step: str


@dataclass
class Network:
    """Models switch and workers of one slot without what is in flight, which networks add."""

    model: Model
    things: list[SwitchEnd | WorkerEnd | Flight] = field(default_factory=list, init=False)
    numbers: dict[SwitchEnd | WorkerEnd | Flight, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.taken: dict[tuple[int, int], Taken] = {}
        self.received: dict[tuple[int, int], Received] = {}
        self.started: dict[int, int | None] = {}
        self.sendable: dict[tuple[int, int], int | None] = {}

    def number(self, thing: SwitchEnd | WorkerEnd | Flight) -> int:
        """Return the small number of an end or a packet."""
        number = self.numbers.setdefault(thing, len(self.things))
        if number == len(self.things):
            self.things.append(thing)
            if isinstance(thing, Flight):
                self.learn(number, thing)
        return number

    def flight(self, number: int) -> Flight:
        """Return the packet with a small number."""
        thing = self.things[number]
        assert isinstance(thing, Flight)
        return thing

    def worker(self, number: int) -> WorkerEnd:
        """Return the worker's end with a small number."""
        thing = self.things[number]
        assert isinstance(thing, WorkerEnd)
        return thing

    def learn(self, number: int, flight: Flight) -> None:
        """Note a packet that is seen for the first time."""

    def ends_at_start(self) -> Numbers:
        """Return the ends at the start of a job."""
        start = self.model.start
        return (self.number(start.switch), *map(self.number, start.workers))

    def ends_of(self, numbers: Numbers) -> Ends:
        """Return what the small numbers stand for."""
        switch, *workers = (self.things[number] for number in numbers)
        return Ends(switch, tuple(workers))  # pyright: ignore[reportArgumentType]

    def starts(self, worker: int) -> int | None:
        """Return the worker's end after it started another use, if it may."""
        if worker not in self.started:
            end = self.worker(worker)
            may = self.model.may_start(end)
            self.started[worker] = self.number(self.model.starts(end)) if may else None
        return self.started[worker]

    def sent(self, index: int, worker: int) -> int | None:
        """Return the packet that the worker sends again and again, if it waits for something."""
        key = index, worker
        if key not in self.sendable:
            flight = self.model.sent(index, self.worker(worker))
            self.sendable[key] = None if flight is None else self.number(flight)
        return self.sendable[key]

    def switch_takes(self, switch: int, flight: int) -> Taken:
        """Return what follows when the switch gets a packet."""
        key = switch, flight
        if key not in self.taken:
            end = self.things[switch]
            assert isinstance(end, SwitchEnd)
            taken = self.model.switch_takes(end, self.flight(flight))
            answers = tuple(map(self.number, taken.answers))
            self.taken[key] = Taken(
                self.number(taken.switch), answers, taken.finished, taken.step, taken.fault
            )
        return self.taken[key]

    def worker_takes(self, worker: int, flight: int) -> Received:
        """Return what follows when a worker gets a packet."""
        key = worker, flight
        if key not in self.received:
            end, packet = self.worker(worker), self.flight(flight)
            after, verdict = self.model.worker_takes(end, packet)
            step = f"{NAMES[packet.worker]} takes {packet.name}: {verdict}"
            self.received[key] = Received(self.number(after), verdict, step)
        return self.received[key]

    def fault(self, ends: Numbers, flight: int, verdict: Verdict) -> str:
        """Return what is wrong when a worker takes a packet for what it waits for."""
        if verdict is not Verdict.FULL and verdict is not Verdict.FREED:
            return ""
        return self.model.fault(self.ends_of(ends), self.flight(flight), verdict)

    def numbered_apart(self, worker: int, flying: Iterable[int]) -> None:
        """Check that no packet of the number a period before the worker's new one is left.

        Numbers grow by one, so nothing in flight is ever taken for what is a period younger.
        """
        if self.model.total is None:
            following = (self.things[worker].number + 1) % self.model.period
            if any(self.things[flight].number == following for flight in flying):
                raise RuntimeError(f"packets live for longer than {self.model.period} uses")

    def ends(self, state: tuple) -> Numbers:
        """Return the state without the packets in flight."""
        return state[0]

    def at_rest(self, ends: Numbers) -> bool:
        """Whether nobody waits: uses that began have finished; if uses are counted, all have."""
        return self.model.at_rest(self.ends_of(ends))

    def round_trips(self, ends: Numbers) -> Iterator[Numbers]:
        """Return the steps that deliver a packet and its answers at once, after a start or a
        resend.
        """
        for index, worker in enumerate(ends[1:]):
            if (started := self.starts(worker)) is not None:
                yield exchanged(ends, index + 1, started)
            if (flight := self.sent(index, worker)) is not None:
                taken = self.switch_takes(ends[0], flight)
                after = exchanged(ends, 0, taken.switch)
                for answer in taken.answers:
                    place = 1 + self.addressee(answer)
                    received = self.worker_takes(after[place], answer)
                    after = exchanged(after, place, received.worker)
                yield after

    def use_of(self, worker: int) -> int:
        """Return the number of a worker's use."""
        return self.things[worker].number

    def addressee(self, flight: int) -> int:
        """Return the worker that a packet comes from or goes to."""
        return self.flight(flight).worker


def exchanged(numbers: tuple, place: int, number: object) -> tuple:
    """Return the tuple with one entry replaced."""
    return (*numbers[:place], number, *numbers[place + 1 :])
