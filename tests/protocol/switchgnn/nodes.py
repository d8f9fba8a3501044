"""Models switch and worker of SwitchGNN as nodes of a network, with what only the checker may know.

The checker knows each source's feature of each turn, a power of two that no other has, and with it
the right sum of every aggregator: a sum is right just if it has every contribution once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.golden.job_state import Job
from sim.switchgnn.golden.switch_rule import (
    Outcome,
    leave_rule,
    load_rule,
    queued,
    repeats,
    switch_rule,
    unloaded,
)
from sim.switchgnn.golden.worker_rule import (
    Reaction,
    Taken,
    Worker,
    WorkerSetup,
    begins,
    has_all,
    may_begin,
    sends,
    worker_rule,
)
from tests.protocol.network import Change, Flight, Node

WRONG_SUM = "a wrong sum is taken"
WRONG_COPY = "a wrong feature is taken"
TWICE = "a sum or a feature is taken twice"
LEFT_BEHIND = "a turn ends before a worker has all of it"
ALARM = "the switch finds an error in tables that are right"
FAULTS = frozenset({WRONG_SUM, WRONG_COPY, TWICE, LEFT_BEHIND, ALARM})


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What switch and workers do, by the specification or by a variant of it."""

    switch: Callable[[JobSetup, Job, Frame, int], Outcome] = switch_rule
    load: Callable[[JobSetup, Job, int], Job] = load_rule
    leave: Callable[[JobSetup, Job, int], tuple[Job, tuple[int, Frame] | None]] = leave_rule
    repeats: Callable[[JobSetup, Job], Iterable[tuple[int, Frame]]] = repeats
    worker: Callable[[WorkerSetup, Worker, Frame], Reaction] = worker_rule
    may_begin: Callable[[WorkerSetup, Worker], bool] = may_begin
    sends: Callable[[WorkerSetup, Worker], Iterable[Frame]] = sends


def name_of(frame: Frame) -> str:
    """Return what a frame is, of which turn, and which one of its kind."""
    which = {
        Kind.FEATURE: f".{frame.seq}",
        Kind.PARTIAL: f".{frame.seq}",
        Kind.ACK: f".{frame.seq}+{frame.bitmap:b}",
        Kind.RESULT: f" of {frame.list}",
        Kind.FETCH: f" of {frame.list}",
        Kind.RAW: f" of {frame.source}",
        Kind.RAWFETCH: f" of {frame.source}",
    }
    return f"{frame.kind.name} {frame.turn}{which.get(frame.kind, '')}"


@dataclass(frozen=True, kw_only=True)
class SwitchNode(Node):
    """Models a switch. What is not `late` happens at once: loads, and that complete sums leave."""

    name: str
    setup: JobSetup
    turns: int
    peers: Mapping[int, tuple[int, int]]  # by port: the node behind it, and that node's port
    rules: Rules = field(default_factory=Rules)
    watched: frozenset[str] = FAULTS  # faults that end a search
    late_loads: bool = False
    late_sums: bool = False

    @property
    def start(self) -> Job:
        """Return it as the job's start leaves it."""
        return self.settled(Job.at_start(self.setup))[0]

    def flights(self, sent: Iterable[tuple[int, Frame]]) -> tuple[Flight, ...]:
        """Return frames that leave."""
        return tuple(Flight(*self.peers[port], frame, name_of(frame)) for port, frame in sent)

    def settled(self, job: Job) -> tuple[Job, list[tuple[int, Frame]]]:
        """Return the job after all that happens at once, and what leaves."""
        sent = []
        if not self.late_loads:
            for turn in self.unloaded(job):
                job = self.rules.load(self.setup, job, turn)
        if not self.late_sums:
            for place in list(queued(job)):
                job, frame = self.rules.leave(self.setup, job, place)
                sent += [frame] if frame else []
        return job, sent

    def unloaded(self, job: Job) -> Iterator[int]:
        """Return turns that may be loaded."""
        return (turn for turn in unloaded(self.setup, job) if turn < self.turns)

    def change(self, job: Job, sent: Iterable[tuple[int, Frame]], step: str) -> Change:
        """Return what happens, and what follows at once."""
        job, left = self.settled(job)
        return Change(job, self.flights([*sent, *left]), step)

    def takes(self, held: Job, flight: Flight) -> Change:
        """Return what follows when a frame comes in."""
        frame = flight.frame
        assert isinstance(frame, Frame)
        outcome = self.rules.switch(self.setup, held, frame, flight.port)
        step = f"{self.name} takes {flight.name} by port {flight.port}: {outcome.verdict}"
        change = self.change(outcome.job, outcome.sent, step)
        alarm = bool(outcome.errors) and ALARM in self.watched
        return change._replace(fault=ALARM if alarm else "")

    def moves(self, held: Job) -> Iterator[Change]:
        """Return what is late."""
        if self.late_loads:
            for turn in self.unloaded(held):
                job = self.rules.load(self.setup, held, turn)
                yield self.change(job, (), f"{self.name} loads turn {turn}")
        if self.late_sums:
            for place in queued(held):
                job, sent = self.rules.leave(self.setup, held, place)
                if job != held:
                    yield self.change(job, [sent] if sent else [], f"sum {place} leaves")

    def repeats(self, held: Job) -> tuple[Flight, ...]:
        """Return what it sends again."""
        return self.flights(self.rules.repeats(self.setup, held))

    def at_rest(self, held: Job) -> bool:
        """Whether all turns are over."""
        return held.lo == self.turns


@dataclass(frozen=True, kw_only=True)
class WorkerNode(Node):
    """Models a worker, at a port of a switch."""

    name: str
    setup: WorkerSetup
    peer: tuple[int, int]  # the switch's node and port
    right_sum: Callable[[int, int], int]  # of a turn's aggregator
    right_copy: Callable[[int, int], int]  # of a turn's source
    rules: Rules = field(default_factory=Rules)
    watched: frozenset[str] = FAULTS

    @property
    def start(self) -> Worker:
        """Return it as the job's start leaves it."""
        return Worker.at_start(self.setup)

    def flights(self, frames: Iterable[Frame]) -> tuple[Flight, ...]:
        """Return frames that leave."""
        return tuple(Flight(*self.peer, frame, name_of(frame)) for frame in frames)

    def takes(self, held: Worker, flight: Flight) -> Change:
        """Return what follows when a frame comes in."""
        frame = flight.frame
        assert isinstance(frame, Frame)
        after, taken, sent = self.rules.worker(self.setup, held, frame)
        fault = self.fault(held, after, taken, frame)
        step = f"{self.name} takes {flight.name}: {taken}"
        return Change(after, self.flights(sent), step, fault if fault in self.watched else "")

    def fault(self, held: Worker, after: Worker, taken: Taken, frame: Frame) -> str:
        """Return what is wrong when the worker takes a frame for what it waits for."""
        if taken in (Taken.SUM, Taken.FEATURE):
            pairs = enumerate(zip(held.open, after.open, strict=True), held.lo)
            turn = next((turn for turn, (old, new) in pairs if old != new), None)
            if turn is None:
                return TWICE
            if taken is Taken.SUM and frame.payload != self.right_sum(turn, frame.list):
                return WRONG_SUM
            if taken is Taken.FEATURE and frame.payload != self.right_copy(turn, frame.source):
                return WRONG_COPY
        over = range(held.lo, min(after.lo, held.lo + self.setup.open_turns))
        if not all(has_all(self.setup, held, turn) for turn in over):
            return LEFT_BEHIND
        return ""

    def moves(self, held: Worker) -> Iterator[Change]:
        """Return the begin of its next turn, if it may."""
        if self.rules.may_begin(self.setup, held):
            yield Change(begins(held), (), f"{self.name} begins turn {held.begun}")

    def repeats(self, held: Worker) -> tuple[Flight, ...]:
        """Return what it sends again."""
        return self.flights(self.rules.sends(self.setup, held))

    def at_rest(self, held: Worker) -> bool:
        """Whether all turns are over."""
        return held.lo == self.setup.turns
