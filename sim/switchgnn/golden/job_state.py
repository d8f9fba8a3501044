"""Holds what the switch keeps of a job of SwitchGNN, immutable, so that it can be explored."""

from dataclasses import dataclass, field, replace
from typing import Any

from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.golden.window import Window


@dataclass(frozen=True)
class Entry:
    """Holds an aggregator."""

    expected: int = 0  # contributions; 0: the block has no destination for it
    port: int = 0
    target: int = 0
    tag: int = -1  # the turn that its sum is of
    remaining: int = 0  # contributions that are missing from the sum
    sum: Any = 0
    complete: bool = False
    queued: bool = False  # waits to leave


@dataclass(frozen=True)
class Arrivals:
    """Holds what has come in by a port in an open turn."""

    window: Window = field(default_factory=Window)
    unanswered: int = 0  # new frames since the last ACK


@dataclass(frozen=True)
class Sender:
    """Holds an open turn's PARTIALs for another switch, in the order of their completion."""

    sent: tuple[int, ...] = ()  # aggregator of each seq; hardware keeps those of a window
    acked: Window = field(default_factory=Window)


@dataclass(frozen=True)
class OpenTurn:
    """Holds what is kept for each open turn, by port: :meth:`JobSetup.slot` says where."""

    arrivals: tuple[Arrivals, ...]
    senders: tuple[Sender, ...]


@dataclass(frozen=True)
class Job:
    """Holds what the switch keeps of a job."""

    lo: int  # the oldest open turn
    done: int  # bitmap of ports that are DONE with it
    open: tuple[OpenTurn, ...]  # by slot
    loaded: tuple[int | None, ...]  # by slot: the block that its aggregators are loaded for
    entries: tuple[Entry, ...]  # of the region
    over: int = 0  # bitmap of the switches above that have ended turn lo

    @classmethod
    def at_start(cls, setup: JobSetup) -> "Job":
        """Return the state after a job's start, in which turn 0 is still to be loaded."""
        slots = setup.open_turns
        entries = (Entry(),) * (slots * setup.size)
        return cls(0, 0, (empty(setup),) * slots, (None,) * slots, entries)

    def is_open(self, setup: JobSetup, turn: int) -> bool:
        """Return whether a turn is open."""
        return self.lo <= turn < self.lo + setup.open_turns

    def is_loaded(self, setup: JobSetup, turn: int) -> bool:
        """Return whether an open turn's aggregators are ready for it."""
        return self.loaded[setup.slot(turn)] == setup.block(turn)


def empty(setup: JobSetup) -> OpenTurn:
    """Return an open turn in which nothing has come and nothing has left."""
    ports = setup.ports.bit_length()
    return OpenTurn((Arrivals(),) * ports, (Sender(),) * ports)


def sender_of(setup: JobSetup, job: Job, turn: int, port: int) -> Sender:
    """Return the PARTIALs of an open turn that leave by a port."""
    return job.open[setup.slot(turn)].senders[port]


def with_sender(setup: JobSetup, job: Job, turn: int, port: int, sender: Sender) -> Job:
    """Return the job with one sender replaced."""
    slot = setup.slot(turn)
    senders = exchanged(job.open[slot].senders, port, sender)
    return replace(job, open=exchanged(job.open, slot, replace(job.open[slot], senders=senders)))


def with_arrivals(setup: JobSetup, job: Job, turn: int, port: int, arrivals: Arrivals) -> Job:
    """Return the job with what has come in by one port replaced."""
    slot = setup.slot(turn)
    new = exchanged(job.open[slot].arrivals, port, arrivals)
    return replace(job, open=exchanged(job.open, slot, replace(job.open[slot], arrivals=new)))


def with_entry(job: Job, place: int, entry: Entry) -> Job:
    """Return the job with one aggregator replaced."""
    return replace(job, entries=exchanged(job.entries, place, entry))


def exchanged(items: tuple, place: int, item: Any) -> tuple:
    """Return the tuple with one item replaced."""
    return (*items[:place], item, *items[place + 1 :])
