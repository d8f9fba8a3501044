"""Alters the specification by one clause at a time: each variant goes wrong, or does no harm."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.golden.job_state import Arrivals, Job, exchanged, with_entry
from sim.switchgnn.golden.switch_rule import (
    Outcome,
    Verdict,
    advance_rule,
    leave_rule,
    load_rule,
    result,
    switch_rule,
)
from sim.switchgnn.golden.worker_rule import (
    Reaction,
    Taken,
    Worker,
    WorkerSetup,
    worker_rule,
)
from tests.protocol.explore import STUCK
from tests.protocol.switchgnn.nodes import ALARM, LEFT_BEHIND, TWICE, WRONG_COPY, WRONG_SUM, Rules
from tests.protocol.variants import Variant, altered


def after(verdicts: set[Verdict], change: Callable[..., Outcome]) -> Rules:
    """Return the specification, except that at one of `verdicts`, `change` decides.

    It is given the specification's outcome, the setup, the job before, the frame, and its port.
    """
    return Rules(switch=altered(switch_rule, change, *verdicts))


def unanswered(outcome: Outcome, *_: Any) -> Outcome:
    """The switch gives no answer."""
    return replace(outcome, sent=())


def ignored(outcome: Outcome, setup: JobSetup, job: Job, *_: Any) -> Outcome:
    """The switch does nothing."""
    return Outcome(job, outcome.verdict)


def without_bitmap(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """The switch keeps no record of what has come."""
    nothing = tuple(replace(item, arrivals=(Arrivals(),) * len(item.arrivals)) for item in job.open)
    return switch_rule(setup, replace(job, open=nothing), frame, port)


def of_any_turn(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """The switch takes every FEATURE for one of the oldest open turn."""
    turn = job.lo if frame.kind is Kind.FEATURE else frame.turn
    return switch_rule(setup, job, replace(frame, turn=turn), port)


def folded(turn: int, lo: int, bits: int) -> int:
    """Return the turn with the same low bits, from the one before `lo` on."""
    first = max(lo - 1, 0)
    return first + (turn - first) % (1 << bits)


def narrow(bits: int) -> Rules:
    """Give turns only this many bits in frames."""

    def switch(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
        return switch_rule(setup, job, replace(frame, turn=folded(frame.turn, job.lo, bits)), port)

    def worker(setup: WorkerSetup, worker: Worker, frame: Frame) -> Reaction:
        # What advances may be news; whatever else is of an open turn or the one before.
        lo = worker.lo + (frame.kind is Kind.ADVANCE)
        return worker_rule(setup, worker, replace(frame, turn=folded(frame.turn, lo, bits)))

    return Rules(switch=switch, worker=worker)


def freed(setup: JobSetup, job: Job, place: int) -> tuple[Job, tuple[int, Frame] | None]:
    """An aggregator is free as soon as its sum has left."""
    after, sent = leave_rule(setup, job, place)
    if sent is None:
        return after, sent
    entry = after.entries[place]
    return with_entry(after, place, replace(entry, tag=entry.tag - 1, complete=False)), sent


def unfinished(setup: JobSetup, job: Job, place: int) -> tuple[Job, tuple[int, Frame] | None]:
    """What waits to leave leaves, though its aggregator may have been taken for the next turn."""
    entry = job.entries[place]
    if not job.is_open(setup, entry.tag):
        return leave_rule(setup, job, place)
    left = with_entry(job, place, replace(entry, queued=False))
    return left, (entry.port, result(setup, entry, place))


def fetched_whatever_tag(
    outcome: Outcome, setup: JobSetup, job: Job, frame: Frame, *_: Any
) -> Outcome:
    """FETCH gets what is complete, of whatever turn."""
    if frame.kind is not Kind.FETCH:
        return outcome
    entry = job.entries[setup.place(frame.turn, frame.list)]
    if not entry.complete:
        return outcome
    sent = result(setup, replace(entry, tag=frame.turn), frame.list)
    return Outcome(job, Verdict.FETCHED, ((entry.port, sent),))


def fetched_unfinished(
    outcome: Outcome, setup: JobSetup, job: Job, frame: Frame, port: int
) -> Outcome:
    """FETCH gets what has the tag, be it complete or not."""
    if frame.kind is not Kind.FETCH:
        return outcome
    entry = job.entries[setup.place(frame.turn, frame.list)]
    if entry.tag != frame.turn:
        return outcome
    return Outcome(job, Verdict.FETCHED, ((entry.port, result(setup, entry, frame.list)),))


def counted(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """The switch counts DONEs of the oldest open turn and does not look whose they are."""
    if frame.kind is Kind.DONE and frame.turn == job.lo:
        missing = setup.below & ~job.done
        port = missing.bit_length() - 1
    return switch_rule(setup, job, frame, port)


def done_of_any_turn(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """The switch takes every DONE for one of the oldest open turn."""
    turn = job.lo if frame.kind is Kind.DONE else frame.turn
    return switch_rule(setup, job, replace(frame, turn=turn), port)


def windows_kept(outcome: Outcome, setup: JobSetup, job: Job, *_: Any) -> Outcome:
    """The windows of a turn that ends are not cleared."""
    return replace(outcome, job=replace(outcome.job, open=job.open))


def below_dropped(outcome: Outcome, setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """What is below the window's base is dropped as what is above its end is."""
    window = job.open[setup.slot(frame.turn)].arrivals[port].window
    return replace(outcome, sent=()) if frame.seq < window.base else outcome


def acked_ahead(outcome: Outcome, setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """A FEATURE that comes before its turn is loaded is acknowledged, but not added."""
    ack = Frame(kind=Kind.ACK, turn=frame.turn, seq=frame.seq, bitmap=1)
    return replace(outcome, sent=((port, ack),))


def added_before_load(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """A turn begins without its load, which comes later."""
    turns = range(job.lo, job.lo + setup.open_turns)
    blocks = map(setup.block, sorted(turns, key=setup.slot))
    ready = replace(job, loaded=tuple(blocks))
    outcome = switch_rule(setup, ready, frame, port)
    return replace(outcome, job=replace(outcome.job, loaded=job.loaded))


def loaded_with_tag(setup: JobSetup, job: Job, turn: int) -> Job:
    """A load gives the aggregators the tag of the turn that begins, and leaves the sums."""
    loaded = load_rule(setup, job, turn)
    places = range(setup.place(turn, 0), setup.place(turn, setup.size))
    for place in places:
        old, new = job.entries[place], loaded.entries[place]
        new = replace(new, tag=turn, remaining=new.expected, sum=old.sum)
        loaded = with_entry(loaded, place, new)
    return loaded


def still_complete(setup: JobSetup, job: Job, turn: int) -> Job:
    """A load leaves the sum of the old block complete, as if it were of the new turn."""
    loaded = load_rule(setup, job, turn)
    for place in range(setup.place(turn, 0), setup.place(turn, setup.size)):
        old, new = job.entries[place], loaded.entries[place]
        if old.complete:
            stored = replace(new, tag=turn, complete=True, sum=old.sum)
            loaded = with_entry(loaded, place, stored)
    return loaded


@dataclass(frozen=True, kw_only=True)
class OneHalf(JobSetup):
    """A setup in which two open turns have the same aggregators."""

    def place(self, turn: int, aggregator: int) -> int:
        """Return where a turn has one of its aggregators."""
        return aggregator


def one_half(setup: JobSetup) -> JobSetup:
    """Return the same setup, with the same aggregators for two open turns."""
    return OneHalf(**{field.name: getattr(setup, field.name) for field in fields(setup)})


def loaded_once(setup: JobSetup, job: Job, turn: int) -> Job:
    """The one block of a job is loaded for its first turn."""
    if turn == 0:
        return load_rule(one_half(setup), job, turn)
    held = exchanged(job.loaded, setup.slot(turn), setup.block(turn))
    return replace(job, loaded=held)


SHARED_AGGREGATORS = Rules(
    switch=lambda setup, job, frame, port: switch_rule(one_half(setup), job, frame, port),
    load=loaded_once,
)


def shared_windows(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """Two open turns have one window for each port."""
    if frame.kind is not Kind.FEATURE:
        return switch_rule(setup, job, frame, port)
    slot = setup.slot(frame.turn)
    arrivals = job.open[0].arrivals
    item = exchanged(job.open, slot, replace(job.open[slot], arrivals=arrivals))
    outcome = switch_rule(setup, replace(job, open=item), frame, port)
    if outcome.verdict is not Verdict.ADDED:
        return outcome
    marked = replace(job.open[0], arrivals=outcome.job.open[slot].arrivals)
    return replace(outcome, job=replace(outcome.job, open=exchanged(job.open, 0, marked)))


def ends_by_itself(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """A leaf ends a turn when its own workers are done with it, and tells the spine."""
    outcome = switch_rule(setup, job, frame, port)
    upwards = [sent for to, sent in outcome.sent if to == setup.up and sent.kind is Kind.DONE]
    if not upwards:
        return outcome
    over = advance_rule(setup, outcome.job, Frame(kind=Kind.ADVANCE, turn=job.lo + 1))
    return replace(over, sent=(*outcome.sent, *over.sent))


def passed_once(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """A leaf does not pass on a DONE that is repeated."""
    outcome = switch_rule(setup, job, frame, port)
    again = setup.up is not None and frame.kind is Kind.DONE and outcome.job == job
    return replace(outcome, sent=()) if again and outcome.verdict is Verdict.DONE else outcome


def taken_again(setup: WorkerSetup, worker: Worker, frame: Frame) -> Reaction:
    """A worker takes a sum or a feature though it has it."""
    reaction = worker_rule(setup, worker, frame)
    if reaction.taken is not Taken.REPEATED:
        return reaction
    return reaction._replace(taken=Taken.SUM if frame.kind is Kind.RESULT else Taken.FEATURE)


def taken_of_any_turn(setup: WorkerSetup, worker: Worker, frame: Frame) -> Reaction:
    """A worker takes every RESULT and RAW for one of the oldest open turn."""
    late = frame.kind in (Kind.RESULT, Kind.RAW) and worker.lo < setup.turns
    return worker_rule(setup, worker, replace(frame, turn=worker.lo) if late else frame)


def done_too_early(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """A leaf says DONE upwards as soon as one of its workers has."""
    outcome = switch_rule(setup, job, frame, port)
    if outcome.verdict is not Verdict.DONE or setup.up is None:
        return outcome
    done = Frame(kind=Kind.DONE, turn=frame.turn)
    return replace(outcome, sent=((setup.up, done),))


def done_of_the_oldest(outcome: Outcome, setup: JobSetup, *_: Any) -> Outcome:
    """A DONE that waits to leave upwards while its turn ends leaves as one of the next turn."""
    assert setup.up is not None
    done = Frame(kind=Kind.DONE, turn=outcome.job.lo)
    return replace(outcome, sent=(*outcome.sent, (setup.up, done)))


def answered_with_next(setup: WorkerSetup, worker: Worker, frame: Frame) -> Reaction:
    """The owner of a feature answers with the newest one that it has sent."""
    reaction = worker_rule(setup, worker, frame)
    if reaction.taken is not Taken.ANSWERED:
        return reaction
    newest = [replace(sent, payload=setup.payload(worker.begun - 1, 0)) for sent in reaction.sent]
    return reaction._replace(sent=tuple(newest))


def answered_before_begun(setup: WorkerSetup, worker: Worker, frame: Frame) -> Reaction:
    """The owner of a feature answers with what it has: that of the turn that it has begun last."""
    if frame.kind is not Kind.RAWFETCH or frame.turn < worker.begun or not worker.begun:
        return worker_rule(setup, worker, frame)
    raw = Frame(
        kind=Kind.RAW,
        turn=frame.turn,
        source=frame.source,
        raw=frame.raw,
        payload=setup.payload(worker.begun - 1, 0),
    )
    return Reaction(worker, Taken.ANSWERED, (raw,))


def answered_by_feature(setup: WorkerSetup, worker: Worker, frame: Frame) -> Reaction:
    """The owner of a feature answers by repeating the FEATURE, which the switch has seen."""
    reaction = worker_rule(setup, worker, frame)
    if reaction.taken is not Taken.ANSWERED:
        return reaction
    sends = setup.share(frame.turn).sends
    seq = next(k for k, sent in enumerate(sends) if sent.source == frame.source)
    payload = setup.payload(frame.turn, seq)
    again = Frame(turn=frame.turn, seq=seq, payload=payload, **sends[seq]._asdict())
    return reaction._replace(sent=(again,))


def begun_at_once(setup: WorkerSetup, worker: Worker) -> bool:
    """A worker begins a turn though not all of the one before is acknowledged."""
    return worker.is_open(setup, worker.begun)


#: One switch, one turn open, one block.
UNSAFE = {
    "no seen bitmap": Variant(Rules(switch=without_bitmap), WRONG_SUM, 4),
    "no turn check": Variant(Rules(switch=of_any_turn), WRONG_SUM, 14),
    "a turn of one bit": Variant(narrow(1), LEFT_BEHIND, 26),
    "sum freed when sent": Variant(Rules(leave=freed), STUCK, 2),
    "FETCH without tag check": Variant(after(set(), fetched_whatever_tag), WRONG_SUM, 14),
    "FETCH of a sum that is not complete": Variant(after(set(), fetched_unfinished), WRONG_SUM, 4),
    "FETCH not answered": Variant(after({Verdict.FETCHED}, ignored), STUCK, 2),
    "DONEs counted": Variant(Rules(switch=counted), LEFT_BEHIND, 7),
    "DONE of any turn": Variant(Rules(switch=done_of_any_turn), LEFT_BEHIND, 15),
    "ADVANCE not repeated": Variant(after({Verdict.OVER}, unanswered), STUCK, 11),
    "repeated frame not acknowledged": Variant(after({Verdict.REPEATED}, unanswered), STUCK, 2),
    "frame below the base not acknowledged": Variant(
        after({Verdict.REPEATED}, below_dropped), STUCK, 2
    ),
    "windows kept": Variant(after({Verdict.DONE}, windows_kept), STUCK, 0),
    "result of any turn": Variant(Rules(worker=taken_of_any_turn), WRONG_SUM, 13),
    "sum taken again": Variant(Rules(worker=taken_again), TWICE, 4),
}

#: Two turns open.
UNSAFE_OPEN = {
    "shared aggregators": Variant(SHARED_AGGREGATORS, STUCK, 5),
    "shared windows": Variant(Rules(switch=shared_windows), STUCK, 6),
}

#: Sums wait in their aggregators until their port has room.
UNSAFE_LATE = {"sum leaves unfinished": Variant(Rules(leave=unfinished), WRONG_SUM, 21)}

#: Features that are copied; two turns open.
UNSAFE_COPIES = {
    "RAWFETCH not passed": Variant(after({Verdict.PASSED}, ignored), STUCK, 2),
    "RAW of any turn": Variant(Rules(worker=taken_of_any_turn), WRONG_SUM, 6),
    "feature taken again": Variant(Rules(worker=taken_again), TWICE, 4),
    "RAWFETCH answered by a FEATURE": Variant(Rules(worker=answered_by_feature), STUCK, 2),
    "RAWFETCH answered with the newest feature": Variant(
        Rules(worker=answered_with_next), WRONG_COPY, 8
    ),
    "RAWFETCH answered before the turn has begun": Variant(
        Rules(worker=answered_before_begun), WRONG_COPY, 5
    ),
}

#: Blocks that are loaded between turns.
UNSAFE_LOADS = {
    "frame acknowledged before the load": Variant(after({Verdict.UNLOADED}, acked_ahead), STUCK, 3),
    "frame added before the load": Variant(Rules(switch=added_before_load), ALARM, 2),
    "load gives the turn's tag": Variant(Rules(load=loaded_with_tag), WRONG_SUM, 17),
    "load leaves sums complete": Variant(Rules(load=still_complete), WRONG_SUM, 15),
}

#: A switch above.
UNSAFE_LEVELS = {
    "PARTIAL not repeated": Variant(Rules(repeats=lambda setup, job: ()), STUCK, 2),
    "aggregator freed when its PARTIAL has left": Variant(Rules(leave=freed), STUCK, 2),
    "leaf does not wait for the spine": Variant(Rules(switch=ends_by_itself), STUCK, 8),
    "DONE passed upwards once": Variant(Rules(switch=passed_once), STUCK, 8),
    "PARTIAL added whenever it comes": Variant(Rules(switch=without_bitmap), ALARM, 3),
    "PARTIAL not acknowledged": Variant(
        after({Verdict.ADDED, Verdict.REPEATED}, unanswered), STUCK, 0
    ),
}

#: A spine and two leaves, of two workers and one.
UNSAFE_LEAVES = {
    "DONE passed upwards for one worker": Variant(Rules(switch=done_too_early), LEFT_BEHIND, 18),
    "DONE upwards of the next turn": Variant(
        after({Verdict.ADVANCED}, done_of_the_oldest), LEFT_BEHIND, 29
    ),
}

HARMLESS = {
    # What is not acknowledged is still sent.
    "turn begun at once": Rules(may_begin=begun_at_once),
}
