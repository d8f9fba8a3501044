"""Specifies SwitchGNN's worker: what it sends, takes and repeats in its turns.

Section 3.4 of the paper, corrected as :mod:`sim.switchgnn.golden.switch_rule` is. Timers are left
out: what a worker may repeat at all, it may repeat at any time. States are immutable, so that they
can be explored.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.golden.window import Window


class Taken(StrEnum):
    """Names what became of a frame; the worker counts by these."""

    SUM = "sum"  # RESULT: one that was missing
    FEATURE = "feature"  # RAW: one that was missing
    REPEATED = "repeated"  # RESULT, RAW: not missing any more
    UNWANTED = "unwanted"  # RESULT, RAW: nothing that the worker gets; RAWFETCH: not its vertex
    ACKNOWLEDGED = "acknowledged"  # ACK
    ADVANCED = "advanced"  # ADVANCE: a turn is over
    ANSWERED = "answered"  # RAWFETCH: the feature is sent again
    UNSENT = "unsent"  # RAWFETCH: of a turn that the worker has not begun
    CLOSED = "closed"  # of a turn that is not open; ADVANCE: not news


class Contribution(NamedTuple):
    """Describes what a worker sends in each turn of a block, in this order: seq k is the k-th."""

    kind: Kind  # FEATURE or PARTIAL
    list: int  # as in a frame
    rows: int = 0
    source: int = 0
    raw: int = 0


class Copy(NamedTuple):
    """Describes a feature that a worker gets as its owner sends it."""

    source: int
    owner: int  # port


@dataclass(frozen=True)
class Share:
    """Holds a worker's part of a block."""

    sends: Sequence[Contribution] = ()
    sums: Sequence[int] = ()  # aggregators that it gets the sums of
    copies: Sequence[Copy] = ()


@dataclass(frozen=True, kw_only=True)
class WorkerSetup:
    """Describes a job as its host sets a worker up for it."""

    turns: int  # after which the job ends
    window: int  # W, as the switch has it
    open_turns: int = 1
    share: Callable[[int], Share]  # of a turn
    payload: Callable[[int, int], Any]  # of a turn and a seq


@dataclass(frozen=True)
class WorkerTurn:
    """Holds what a worker keeps of an open turn."""

    acked: Window = field(default_factory=Window)
    sums: int = 0  # bitmap of its share's sums that it has
    copies: int = 0  # likewise


@dataclass(frozen=True)
class Worker:
    """Holds what a worker keeps of a job."""

    lo: int  # the oldest open turn, as far as it knows
    begun: int  # turns whose frames it sends or has sent: all below
    open: tuple[WorkerTurn, ...]  # of turns lo, lo + 1

    @classmethod
    def at_start(cls, setup: WorkerSetup) -> "Worker":
        """Return the state after a job's start."""
        return cls(0, 0, (WorkerTurn(),) * setup.open_turns)

    def is_open(self, setup: WorkerSetup, turn: int) -> bool:
        """Return whether a turn is open."""
        return self.lo <= turn < min(self.lo + setup.open_turns, setup.turns)


class Reaction(NamedTuple):
    """Says what a worker does with a frame."""

    worker: Worker
    taken: Taken
    sent: tuple[Frame, ...] = ()


def may_begin(setup: WorkerSetup, worker: Worker) -> bool:
    """Return whether the next turn may begin: it is open, and the one before is acknowledged."""
    turn = worker.begun
    if not worker.is_open(setup, turn):
        return False
    return turn == worker.lo or is_acknowledged(setup, worker, turn - 1)


def begins(worker: Worker) -> Worker:
    """Begin another turn, for a worker that may."""
    return replace(worker, begun=worker.begun + 1)


def is_acknowledged(setup: WorkerSetup, worker: Worker, turn: int) -> bool:
    """Return whether all that the worker sends in an open turn has arrived."""
    return worker.open[turn - worker.lo].acked.base >= len(setup.share(turn).sends)


def has_all(setup: WorkerSetup, worker: Worker, turn: int) -> bool:
    """Return whether the worker has all that it gets in an open turn."""
    share, stored = setup.share(turn), worker.open[turn - worker.lo]
    return stored.sums == ones(len(share.sums)) and stored.copies == ones(len(share.copies))


def worker_rule(setup: WorkerSetup, worker: Worker, frame: Frame) -> Reaction:
    """Handle a frame of the job; a worker waits for those with the outcome SUM or FEATURE."""
    turn = frame.turn
    if frame.kind is Kind.ADVANCE:
        return advance_rule(setup, worker, turn)
    if not worker.is_open(setup, turn):
        return Reaction(worker, Taken.CLOSED)
    share, stored = setup.share(turn), worker.open[turn - worker.lo]
    if frame.kind is Kind.ACK:
        acked = stored.acked.acknowledged(frame.seq, frame.bitmap)
        return Reaction(with_turn(worker, turn, replace(stored, acked=acked)), Taken.ACKNOWLEDGED)
    if frame.kind is Kind.RAWFETCH:
        return rawfetch_rule(setup, worker, frame)
    if frame.kind is Kind.RESULT:
        bit, news = bit_of(frame.list, share.sums), Taken.SUM
        after = replace(stored, sums=stored.sums | bit)
    elif frame.kind is Kind.RAW:
        bit, news = bit_of(frame.source, [copy.source for copy in share.copies]), Taken.FEATURE
        after = replace(stored, copies=stored.copies | bit)
    else:
        return Reaction(worker, Taken.UNWANTED)
    if not bit:
        return Reaction(worker, Taken.UNWANTED)
    if after == stored:
        return Reaction(worker, Taken.REPEATED)
    return Reaction(with_turn(worker, turn, after), news)


def advance_rule(setup: WorkerSetup, worker: Worker, lo: int) -> Reaction:
    """End the turns below `lo`, in which all that was sent has arrived."""
    if lo <= worker.lo:
        return Reaction(worker, Taken.CLOSED)
    fresh = (WorkerTurn(),) * setup.open_turns
    still_open = (*worker.open[lo - worker.lo :], *fresh)[: setup.open_turns]
    return Reaction(Worker(lo, max(worker.begun, lo), still_open), Taken.ADVANCED)


def rawfetch_rule(setup: WorkerSetup, worker: Worker, frame: Frame) -> Reaction:
    """Send one of our features to the worker that asks for it, added to nothing."""
    if frame.turn >= worker.begun:
        return Reaction(worker, Taken.UNSENT)
    for seq, sent in enumerate(setup.share(frame.turn).sends):
        if sent.kind is Kind.FEATURE and sent.source == frame.source:
            payload = setup.payload(frame.turn, seq)
            raw = Frame(
                kind=Kind.RAW,
                turn=frame.turn,
                source=frame.source,
                raw=frame.raw,
                payload=payload,
            )
            return Reaction(worker, Taken.ANSWERED, (raw,))
    return Reaction(worker, Taken.UNWANTED)


def contributions(setup: WorkerSetup, worker: Worker) -> Iterator[Frame]:
    """Yield what is not acknowledged of the turns that have begun, as far as the window reaches."""
    for turn in range(worker.lo, min(worker.begun, setup.turns)):
        acked = worker.open[turn - worker.lo].acked
        for seq, sent in enumerate(setup.share(turn).sends):
            if not acked.has(seq) and acked.holds(seq, setup.window):
                payload = setup.payload(turn, seq)
                yield Frame(turn=turn, seq=seq, payload=payload, **sent._asdict())


def requests(setup: WorkerSetup, worker: Worker) -> Iterator[Frame]:
    """Yield FETCH and RAWFETCH for what is missing in the open turns."""
    for turn in range(worker.lo, min(worker.lo + setup.open_turns, setup.turns)):
        share, stored = setup.share(turn), worker.open[turn - worker.lo]
        for k, aggregator in enumerate(share.sums):
            if not stored.sums >> k & 1:
                yield Frame(kind=Kind.FETCH, turn=turn, list=aggregator)
        for k, copy in enumerate(share.copies):
            if not stored.copies >> k & 1:
                owner = 1 << copy.owner
                yield Frame(kind=Kind.RAWFETCH, turn=turn, source=copy.source, raw=owner)


def done(setup: WorkerSetup, worker: Worker) -> Iterator[Frame]:
    """Yield DONE of the oldest open turn, once the worker has all of it, and until it is over."""
    if worker.lo < setup.turns and has_all(setup, worker, worker.lo):
        yield Frame(kind=Kind.DONE, turn=worker.lo)


def sends(setup: WorkerSetup, worker: Worker) -> Iterator[Frame]:
    """Yield all that the worker may send, again and again."""
    yield from contributions(setup, worker)
    yield from requests(setup, worker)
    yield from done(setup, worker)


def with_turn(worker: Worker, turn: int, stored: WorkerTurn) -> Worker:
    """Return the worker with what it keeps of an open turn replaced."""
    at = turn - worker.lo
    return replace(worker, open=(*worker.open[:at], stored, *worker.open[at + 1 :]))


def bit_of(item: int, items: Sequence[int]) -> int:
    """Return the bit of an item in a bitmap of `items`; 0 if it is none of them."""
    return 1 << items.index(item) if item in items else 0


def ones(count: int) -> int:
    """Return a bitmap of ``count`` ones."""
    return (1 << count) - 1
