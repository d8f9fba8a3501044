"""Specifies SwitchGNN's switch: what a job does with each frame.

The paper (section 3.4) has no rule that is safe on links that lose or double; this one is, and it
needs no bound on the life of a frame. States are immutable, so that they can be explored.

- A FEATURE or PARTIAL of an open and loaded turn is added once, however often it comes, and
  answered by an ACK.
- A sum stays in its aggregator until the aggregator's next turn, so that FETCH gets it again.
- A turn ends when all workers are DONE with it; everybody is told by ADVANCE, once, and again
  whoever says DONE of a turn that has ended.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.golden.job_setup import Cause, JobSetup, TableError
from sim.switchgnn.golden.job_state import (
    Arrivals,
    Entry,
    Job,
    empty,
    exchanged,
    sender_of,
    with_arrivals,
    with_entry,
    with_sender,
)
from sim.switchgnn.golden.window import Window


class Verdict(StrEnum):
    """Names what became of a frame of the job; the switch counts by these and by port."""

    ADDED = "added"  # FEATURE, PARTIAL: new
    REPEATED = "repeated"  # FEATURE, PARTIAL: not new; acknowledged at once
    AHEAD = "ahead"  # FEATURE, PARTIAL: beyond the window
    UNLOADED = "unloaded"  # FEATURE, PARTIAL: the turn's aggregators are not loaded yet
    FETCHED = "fetched"  # FETCH: the sum leaves again
    UNREADY = "unready"  # FETCH: the sum is not complete, or on its way already
    DONE = "done"  # of the oldest open turn, be it once more
    OVER = "over"  # DONE: of a turn that has ended; answered by ADVANCE
    EARLY = "early"  # DONE: of a later turn than the oldest open one
    PASSED = "passed"  # RAW, RAWFETCH: handed on
    ACKNOWLEDGED = "acknowledged"  # ACK: of our PARTIALs
    ADVANCED = "advanced"  # ADVANCE: of a switch above
    CLOSED = "closed"  # of a turn that is not open; ADVANCE: of one that has begun already
    MISPLACED = "misplaced"  # a kind that the port behind it may not send


#: clears fields that a RAW and a RAWFETCH do not have, so that they are not passed on
NOT_PASSED = {"seq": 0, "list": 0, "rows": 0, "bitmap": 0}


@dataclass(frozen=True)
class Outcome:
    """Says what the switch does with a frame; `sent` has the ports that frames leave by."""

    job: Job
    verdict: Verdict
    sent: tuple[tuple[int, Frame], ...] = ()
    errors: tuple[TableError, ...] = ()


def switch_rule(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """Handle a frame of the job that the switch gets by one of its ports."""
    if is_misplaced(setup, frame, port):
        return Outcome(job, Verdict.MISPLACED)
    if frame.kind is Kind.ADVANCE:
        return advance_rule(setup, job, frame, port)
    if frame.kind is Kind.DONE:
        return done_rule(setup, job, frame, port)
    if not job.is_open(setup, frame.turn):
        return Outcome(job, Verdict.CLOSED)
    if frame.kind is Kind.FETCH:
        return fetch_rule(setup, job, frame)
    if frame.kind is Kind.ACK:
        sender = sender_of(setup, job, frame.turn, port)
        acked = sender.acked.acknowledged(frame.seq, frame.bitmap)
        job = with_sender(setup, job, frame.turn, port, replace(sender, acked=acked))
        return Outcome(job, Verdict.ACKNOWLEDGED)
    if frame.kind in (Kind.RAW, Kind.RAWFETCH):
        requesting = 1 << port if frame.kind is Kind.RAWFETCH else 0
        passed = replace(frame, raw=requesting, **NOT_PASSED)
        return Outcome(job, Verdict.PASSED, copies(setup, passed, frame.raw & setup.workers))
    return contribution_rule(setup, job, frame, port)


def is_misplaced(setup: JobSetup, frame: Frame, port: int) -> bool:
    """Return whether a frame is of a kind that what is behind the port may not send.

    Only switches above end turns, only other switches acknowledge; nobody sends a RESULT.
    """
    above = bool(setup.above >> port & 1)
    if frame.kind is Kind.ADVANCE:
        return not above
    if frame.kind is Kind.ACK:
        return port not in setup.links
    return frame.kind is Kind.RESULT or (frame.kind is Kind.DONE and above)


def contribution_rule(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """Handle a FEATURE or PARTIAL of an open turn."""
    turn = frame.turn
    before = job.open[setup.slot(turn)].arrivals[port]
    if not job.is_loaded(setup, turn):
        return Outcome(job, Verdict.UNLOADED)
    if not before.window.holds(frame.seq, setup.window):
        return Outcome(job, Verdict.AHEAD)
    if before.window.has(frame.seq):
        job = with_arrivals(setup, job, turn, port, replace(before, unanswered=0))
        return Outcome(job, Verdict.REPEATED, ((port, ack(turn, before.window)),))
    job, errors = added(setup, job, frame)
    window, unanswered = before.window.marked(frame.seq), before.unanswered + 1
    sent = ()
    if frame.kind is Kind.FEATURE and frame.raw:
        raw = Frame(kind=Kind.RAW, turn=turn, source=frame.source, payload=frame.payload)
        sent = copies(setup, raw, frame.raw & setup.workers)
    if unanswered >= setup.ack_every:
        sent, unanswered = (*sent, (port, ack(turn, window))), 0
    job = with_arrivals(setup, job, turn, port, Arrivals(window, unanswered))
    return Outcome(job, Verdict.ADDED, sent, errors)


def added(setup: JobSetup, job: Job, frame: Frame) -> tuple[Job, tuple[TableError, ...]]:
    """Add a contribution to every aggregator that it is for."""
    entries, errors = list(job.entries), []
    for row, aggregator in setup.added_to(frame):
        place, cause = setup.place(frame.turn, aggregator), None
        if aggregator < 0:
            cause = Cause.NO_SUCH_ROW
        elif aggregator >= setup.size:
            cause = Cause.OUTSIDE
        else:
            cause = wrong(entries[place], frame.turn)
        if cause is None:
            entry = entries[place]
            entries[place] = entry_rule(entry, frame.turn, frame.payload, setup.maximum)
        else:
            errors.append(TableError(cause, frame.turn, row, max(aggregator, 0)))
    return replace(job, entries=tuple(entries)), tuple(errors)


def wrong(entry: Entry, turn: int) -> Cause | None:
    """Return why nothing can be added to an aggregator in a turn; None if it can."""
    if not entry.expected:
        return Cause.UNUSED
    return Cause.COMPLETE if entry.complete and entry.tag == turn else None


def entry_rule(entry: Entry, turn: int, payload: Any, maximum: bool = False) -> Entry:
    """Add a contribution to an aggregator, which the first one of a turn takes.

    With ``maximum``, each lane has the largest contribution in place of the sum.
    """
    first = entry.tag != turn
    remaining = (entry.expected if first else entry.remaining) - 1
    return replace(
        entry,
        tag=turn,
        sum=payload if first else combined(entry.sum, payload, maximum),
        remaining=remaining,
        complete=remaining == 0,
        queued=entry.queued or remaining == 0,
    )


def combined(stored: Any, payload: Any, maximum: bool) -> Any:
    """Return the sum of what is stored and a contribution, or the larger in each lane."""
    return np.maximum(stored, payload) if maximum else stored + payload


def fetch_rule(setup: JobSetup, job: Job, frame: Frame) -> Outcome:
    """Let a complete sum leave again, unless it is waiting to leave already."""
    if frame.list >= setup.size:
        return Outcome(job, Verdict.UNREADY)
    place = setup.place(frame.turn, frame.list)
    entry = job.entries[place]
    to_worker = entry.port not in setup.links
    if entry.complete and entry.tag == frame.turn and to_worker and not entry.queued:
        return Outcome(with_entry(job, place, replace(entry, queued=True)), Verdict.FETCHED)
    return Outcome(job, Verdict.UNREADY)


def done_rule(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """Note that a port has all that it gets in a turn; the last one ends it, or tells the switches
    above.

    As long as not all of them have answered, every DONE that is repeated is repeated to each.
    """
    if frame.turn > job.lo:
        return Outcome(job, Verdict.EARLY)
    if frame.turn < job.lo:
        return Outcome(job, Verdict.OVER, ((port, advance(job.lo)),))
    job = replace(job, done=job.done | 1 << port)
    if job.done != setup.below:
        return Outcome(job, Verdict.DONE)
    if setup.above:
        sent = copies(setup, Frame(kind=Kind.DONE, turn=job.lo), setup.above)
        return Outcome(job, Verdict.DONE, sent)
    return Outcome(*advanced(setup, job, Verdict.DONE))


def advance_rule(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """End a turn once all switches above have, which were told that this one is done with it.

    Each of them may be a turn ahead of this one, while it waits for the others.
    """
    if frame.turn <= job.lo:
        return Outcome(job, Verdict.CLOSED)
    job = replace(job, over=job.over | 1 << port)
    if job.over != setup.above:
        return Outcome(job, Verdict.ADVANCED)
    return Outcome(*advanced(setup, job, Verdict.ADVANCED))


def advanced(
    setup: JobSetup, job: Job, verdict: Verdict
) -> tuple[Job, Verdict, tuple[tuple[int, Frame], ...]]:
    """End the oldest open turn: its windows are those of the next turn to be opened."""
    opened = exchanged(job.open, setup.slot(job.lo), empty(setup))
    job = replace(job, lo=job.lo + 1, done=0, over=0, open=opened)
    return job, verdict, copies(setup, advance(job.lo), setup.below)


def load_rule(setup: JobSetup, job: Job, turn: int) -> Job:
    """Load the aggregators of an open turn with its block, so that the turn may begin.

    What waits to leave stays in its queue, as hardware has the queue in the aggregators; it is
    not complete any more, so that nothing leaves.
    """
    block = setup.blocks[setup.block(turn)]
    entries = list(job.entries)
    for aggregator in range(setup.size):
        place, provided = setup.place(turn, aggregator), block.get(aggregator)
        loaded = Entry(tag=turn - 1, queued=entries[place].queued)
        if provided is not None:
            loaded = replace(
                loaded, expected=provided.expected, port=provided.port, target=provided.target
            )
        entries[place] = loaded
    held = exchanged(job.loaded, setup.slot(turn), setup.block(turn))
    return replace(job, entries=tuple(entries), loaded=held)


def unloaded(setup: JobSetup, job: Job) -> Iterator[int]:
    """Yield the open turns that wait for :func:`load_rule`."""
    turns = range(job.lo, job.lo + setup.open_turns)
    return (turn for turn in turns if not job.is_loaded(setup, turn))


def leave_rule(setup: JobSetup, job: Job, place: int) -> tuple[Job, tuple[int, Frame] | None]:
    """Let a sum leave that has waited in an aggregator, if it is complete and its turn is open.

    A PARTIAL for which the window of the switch behind the port has no room goes on waiting.
    """
    entry = job.entries[place]
    left = with_entry(job, place, replace(entry, queued=False))
    if not entry.complete or not job.is_open(setup, entry.tag):
        return left, None
    if entry.port not in setup.links:
        return left, (entry.port, result(setup, entry, place))
    sender = sender_of(setup, job, entry.tag, entry.port)
    seq = len(sender.sent)
    if not sender.acked.holds(seq, setup.window):
        return job, None
    more = replace(sender, sent=(*sender.sent, place))
    left = with_sender(setup, left, entry.tag, entry.port, more)
    return left, (entry.port, partial(entry, seq))


def queued(job: Job) -> Iterator[int]:
    """Yield the aggregators that wait to leave, as places of the region."""
    return (place for place, entry in enumerate(job.entries) if entry.queued)


def repeats(setup: JobSetup, job: Job) -> Iterator[tuple[int, Frame]]:
    """Yield the PARTIALs that are not acknowledged, read from their aggregators for a timer."""
    for turn in range(job.lo, job.lo + setup.open_turns):
        for port, sender in enumerate(job.open[setup.slot(turn)].senders):
            for seq, place in enumerate(sender.sent):
                if not sender.acked.has(seq):
                    yield port, partial(job.entries[place], seq)


def delayed_acks(setup: JobSetup, job: Job) -> tuple[Job, tuple[tuple[int, Frame], ...]]:
    """Answer whatever is not answered, as the delay of all ACKs is over."""
    sent = []
    for turn in range(job.lo, job.lo + setup.open_turns):
        for port, arrivals in enumerate(job.open[setup.slot(turn)].arrivals):
            if arrivals.unanswered:
                sent.append((port, ack(turn, arrivals.window)))
                answered = replace(arrivals, unanswered=0)
                job = with_arrivals(setup, job, turn, port, answered)
    return job, tuple(sent)


def ack(turn: int, window: Window) -> Frame:
    """Return the ACK of what has arrived."""
    return Frame(kind=Kind.ACK, turn=turn, seq=window.base, bitmap=window.ahead)


def advance(lo: int) -> Frame:
    """Return the ADVANCE that tells the oldest open turn."""
    return Frame(kind=Kind.ADVANCE, turn=lo)


def result(setup: JobSetup, entry: Entry, place: int) -> Frame:
    """Return the RESULT with the sum of an aggregator, for a worker."""
    return Frame(kind=Kind.RESULT, turn=entry.tag, list=place % setup.size, payload=entry.sum)


def partial(entry: Entry, seq: int) -> Frame:
    """Return the PARTIAL with the sum of an aggregator, for another switch."""
    return Frame(kind=Kind.PARTIAL, turn=entry.tag, seq=seq, list=entry.target, payload=entry.sum)


def copies(setup: JobSetup, frame: Frame, ports: int) -> tuple[tuple[int, Frame], ...]:
    """Return a frame for each of the ports that the job has."""
    reached = ports & setup.ports
    return tuple((k, frame) for k in range(reached.bit_length()) if reached >> k & 1)
