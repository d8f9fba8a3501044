"""Alters the specification by one clause at a time: each variant goes wrong, or does no harm."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

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
from tests.protocol.switchgnn.nodes import Rules

# The job before, the frame, its port, what the specification does: what is done.
Change = Callable[[JobSetup, Job, Frame, int, Outcome], Outcome]


def after(verdicts: set[Verdict], change: Change) -> Rules:
    """Return the specification, except that at one of `verdicts`, `change` decides."""

    def switch(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
        outcome = switch_rule(setup, job, frame, port)
        if outcome.verdict not in verdicts:
            return outcome
        return change(setup, job, frame, port, outcome)

    return Rules(switch=switch)


def unanswered(setup: JobSetup, job: Job, frame: Frame, port: int, outcome: Outcome) -> Outcome:
    """The switch gives no answer."""
    return replace(outcome, sent=())


def ignored(setup: JobSetup, job: Job, frame: Frame, port: int, outcome: Outcome) -> Outcome:
    """The switch does nothing."""
    return Outcome(job, outcome.verdict)


def without_bitmap(setup: JobSetup, job: Job, frame: Frame, port: int) -> Outcome:
    """The switch keeps no record of what has come."""
    nothing = tuple(replace(one, arrivals=(Arrivals(),) * len(one.arrivals)) for one in job.open)
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
    setup: JobSetup, job: Job, frame: Frame, port: int, outcome: Outcome
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
    setup: JobSetup, job: Job, frame: Frame, port: int, outcome: Outcome
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


def windows_kept(setup: JobSetup, job: Job, frame: Frame, port: int, outcome: Outcome) -> Outcome:
    """The windows of a turn that ends are not cleared."""
    return replace(outcome, job=replace(outcome.job, open=job.open))


def below_dropped(setup: JobSetup, job: Job, frame: Frame, port: int, outcome: Outcome) -> Outcome:
    """What is below the window's base is dropped as what is above its end is."""
    window = job.open[setup.slot(frame.turn)].arrivals[port].window
    return replace(outcome, sent=()) if frame.seq < window.base else outcome


def acked_ahead(setup: JobSetup, job: Job, frame: Frame, port: int, outcome: Outcome) -> Outcome:
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
            kept = replace(new, tag=turn, complete=True, sum=old.sum)
            loaded = with_entry(loaded, place, kept)
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
    one = exchanged(job.open, slot, replace(job.open[slot], arrivals=arrivals))
    outcome = switch_rule(setup, replace(job, open=one), frame, port)
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


def done_of_the_oldest(
    setup: JobSetup, job: Job, frame: Frame, port: int, outcome: Outcome
) -> Outcome:
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


ANY = set(Verdict)

#: One switch, one turn open, one block.
UNSAFE = {
    "no seen bitmap": Rules(switch=without_bitmap),
    "no turn check": Rules(switch=of_any_turn),
    "a turn of one bit": narrow(1),
    "sum freed when sent": Rules(leave=freed),
    "FETCH without tag check": after(ANY, fetched_whatever_tag),
    "FETCH of a sum that is not complete": after(ANY, fetched_unfinished),
    "FETCH not answered": after({Verdict.FETCHED}, ignored),
    "DONEs counted": Rules(switch=counted),
    "DONE of any turn": Rules(switch=done_of_any_turn),
    "ADVANCE not repeated": after({Verdict.OVER}, unanswered),
    "repeated frame not acknowledged": after({Verdict.REPEATED}, unanswered),
    "frame below the base not acknowledged": after({Verdict.REPEATED}, below_dropped),
    "windows kept": after({Verdict.DONE}, windows_kept),
    "result of any turn": Rules(worker=taken_of_any_turn),
    "sum taken again": Rules(worker=taken_again),
}

#: Two turns open.
UNSAFE_OPEN = {
    "shared aggregators": SHARED_AGGREGATORS,
    "shared windows": Rules(switch=shared_windows),
}

#: Sums wait in their aggregators until their port has room.
UNSAFE_LATE = {"sum leaves unfinished": Rules(leave=unfinished)}

#: Features that are copied; two turns open.
UNSAFE_COPIES = {
    "RAWFETCH not passed": after({Verdict.PASSED}, ignored),
    "RAW of any turn": Rules(worker=taken_of_any_turn),
    "feature taken again": Rules(worker=taken_again),
    "RAWFETCH answered by a FEATURE": Rules(worker=answered_by_feature),
    "RAWFETCH answered with the newest feature": Rules(worker=answered_with_next),
    "RAWFETCH answered before the turn has begun": Rules(worker=answered_before_begun),
}

#: Blocks that are loaded between turns.
UNSAFE_LOADS = {
    "frame acknowledged before the load": after({Verdict.UNLOADED}, acked_ahead),
    "frame added before the load": Rules(switch=added_before_load),
    "load gives the turn's tag": Rules(load=loaded_with_tag),
    "load leaves sums complete": Rules(load=still_complete),
}

#: A switch above.
UNSAFE_LEVELS = {
    "PARTIAL not repeated": Rules(repeats=lambda setup, job: ()),
    "aggregator freed when its PARTIAL has left": Rules(leave=freed),
    "leaf does not wait for the spine": Rules(switch=ends_by_itself),
    "DONE passed upwards once": Rules(switch=passed_once),
    "PARTIAL added whenever it comes": Rules(switch=without_bitmap),
    "PARTIAL not acknowledged": after({Verdict.ADDED, Verdict.REPEATED}, unanswered),
}

#: A spine and two leaves, of two workers and one.
UNSAFE_LEAVES = {
    "DONE passed upwards for one worker": Rules(switch=done_too_early),
    "DONE upwards of the next turn": after({Verdict.ADVANCED}, done_of_the_oldest),
}

HARMLESS = {
    # What is not acknowledged is still sent.
    "turn begun at once": Rules(may_begin=begun_at_once),
}
