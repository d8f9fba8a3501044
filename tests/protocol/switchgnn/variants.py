"""Alters the specification by one clause at a time: each variant goes wrong, or does no harm."""

from tests.protocol.switchgnn import nodes
from tests.protocol.variants import variants

#: One switch, one turn open, one block.
UNSAFE = variants(
    nodes,
    r"""
    no seen bitmap; switch; before = job.open[setup.slot(turn)].arrivals[port] =>
        before = Arrivals(); WRONG_SUM; 4
    no turn check; switch; if is_misplaced(setup, frame, port): =>
        if frame.kind is Kind.FEATURE:\n        frame = replace(frame, turn=job.lo)
        \n    if is_misplaced(setup, frame, port):; WRONG_SUM; 14
    a turn of one bit; switch; if is_misplaced(setup, frame, port): => first = max(job.lo - 1, 0)
        \n    frame = replace(frame, turn=first + (frame.turn - first) % 2)
        \n    if is_misplaced(setup, frame, port):;
        worker; turn = frame.turn => first = max(worker.lo + (frame.kind is Kind.ADVANCE) - 1, 0)
        \n    turn = first + (frame.turn - first) % 2
        \n    frame = replace(frame, turn=turn); LEFT_BEHIND; 26
    sum freed when sent; leave; if entry.port not in setup.links: =>
        freed = replace(entry, queued=False, tag=entry.tag - 1, complete=False)
        \n    left = with_entry(job, place, freed)
        \n    if entry.port not in setup.links:; STUCK; 2
    FETCH without tag check; switch;
        if entry.complete and entry.tag == frame.turn and to_worker and not entry.queued: =>
        if entry.complete:
        \n        sent = result(setup, replace(entry, tag=frame.turn), frame.list)
        \n        return Outcome(job, Verdict.FETCHED, ((entry.port, sent),))\n    if False:;
        WRONG_SUM; 14
    FETCH of a sum that is not complete; switch;
        if entry.complete and entry.tag == frame.turn and to_worker and not entry.queued: =>
        if entry.tag == frame.turn:
        \n        sent = result(setup, entry, frame.list)
        \n        return Outcome(job, Verdict.FETCHED, ((entry.port, sent),))\n    if False:;
        WRONG_SUM; 4
    FETCH not answered; switch;
        Outcome(with_entry(job, place, replace(entry, queued=True)), Verdict.FETCHED) =>
        Outcome(job, Verdict.FETCHED); STUCK; 2
    DONEs counted; switch; done=job.done | 1 << port =>
        done=job.done | 1 << (setup.below & ~job.done).bit_length() - 1; LEFT_BEHIND; 7
    DONE of any turn; switch; if frame.turn > job.lo: => if False:;
        switch; if frame.turn < job.lo: => if False:; LEFT_BEHIND; 15
    ADVANCE not repeated; switch; Verdict.OVER, ((port, advance(job.lo)),)) => Verdict.OVER);
        STUCK; 11
    repeated frame not acknowledged; switch; , ((port, ack(turn, before.window)),)) => );
        STUCK; 2
    frame below the base not acknowledged; switch; , ((port, ack(turn, before.window)),)) =>
        , ((port, ack(turn, before.window)),) * (frame.seq >= before.window.base)); STUCK; 2
    windows kept; switch; over=0, open=opened) => over=0); STUCK; 0
    result of any turn; worker; turn = frame.turn => sent = (Kind.RESULT, Kind.RAW)
        \n    late = frame.kind in sent and worker.lo < setup.turns
        \n    turn = worker.lo if late else frame.turn; WRONG_SUM; 13
    sum taken again; worker; Reaction(worker, Taken.REPEATED) => Reaction(worker, news); TWICE; 4
    """,
)

#: Two turns open.
UNSAFE_OPEN = variants(
    nodes,
    """
    shared aggregators; switch; setup.place(frame.turn, aggregator) => aggregator;
        switch; setup.place(frame.turn, frame.list) => frame.list;
        load; setup.place(turn, aggregator) => aggregator;
        load; entries[place] = loaded => entries[place] = entries[place] if turn else loaded;
        STUCK; 5
    shared windows; switch; job.open[setup.slot(turn)].arrivals[port] => job.open[0].arrivals[port];
        switch; turn, port, Arrivals(window, unanswered)) => 0, port, Arrivals(window, unanswered));
        STUCK; 6
    """,
)

#: Sums wait in their aggregators until their port has room.
UNSAFE_LATE = variants(
    nodes,
    """
    sum leaves unfinished; leave; if not entry.complete or not job.is_open(setup, entry.tag): =>
        if not job.is_open(setup, entry.tag):; WRONG_SUM; 21
    """,
)

#: Features that are copied; two turns open.
UNSAFE_COPIES = variants(
    nodes,
    r"""
    RAWFETCH not passed; switch; , copies(setup, passed, frame.raw & setup.workers)) => ); STUCK; 2
    RAW of any turn; worker; turn = frame.turn => sent = (Kind.RESULT, Kind.RAW)
        \n    late = frame.kind in sent and worker.lo < setup.turns
        \n    turn = worker.lo if late else frame.turn; WRONG_SUM; 6
    feature taken again; worker; Reaction(worker, Taken.REPEATED) => Reaction(worker, news);
        TWICE; 4
    RAWFETCH answered by a FEATURE; worker; return Reaction(worker, Taken.ANSWERED, (raw,)) =>
        raw = Frame(turn=frame.turn, seq=seq, payload=payload, **sent._asdict())
        \n            return Reaction(worker, Taken.ANSWERED, (raw,)); STUCK; 2
    RAWFETCH answered with the newest feature; worker; setup.payload(frame.turn, seq) =>
        setup.payload(worker.begun - 1, 0); WRONG_COPY; 8
    RAWFETCH answered before the turn has begun; worker; if frame.turn >= worker.begun: =>
        if not worker.begun:; worker; setup.payload(frame.turn, seq) =>
        setup.payload(min(frame.turn, worker.begun - 1), seq); WRONG_COPY; 5
    """,
)

#: Blocks that are loaded between turns.
UNSAFE_LOADS = variants(
    nodes,
    r"""
    frame acknowledged before the load; switch; return Outcome(job, Verdict.UNLOADED) =>
        acked = Frame(kind=Kind.ACK, turn=turn, seq=frame.seq, bitmap=1)
        \n        return Outcome(job, Verdict.UNLOADED, ((port, acked),)); STUCK; 3
    frame added before the load; switch; if not job.is_loaded(setup, turn): => if False:; ALARM; 2
    load gives the turn's tag; load; Entry(tag=turn - 1, => Entry(tag=turn, sum=entries[place].sum,;
        load; loaded, expected=provided.expected, =>
        loaded, expected=provided.expected, remaining=provided.expected,; WRONG_SUM; 17
    load leaves sums complete; load; entries[place] = loaded => old = entries[place]
        \n        if old.complete:
        \n            loaded = replace(loaded, tag=turn, complete=True, sum=old.sum)
        \n        entries[place] = loaded; WRONG_SUM; 15
    """,
)

#: A switch above.
UNSAFE_LEVELS = variants(
    nodes,
    r"""
    PARTIAL not repeated; repeats; if not sender.acked.has(seq): => if False:; STUCK; 2
    aggregator freed when its PARTIAL has left; leave; if entry.port not in setup.links: =>
        freed = replace(entry, queued=False, tag=entry.tag - 1, complete=False)
        \n    left = with_entry(job, place, freed)
        \n    if entry.port not in setup.links:; STUCK; 2
    leaf does not wait for the spine; switch;
        return Outcome(job, Verdict.DONE, sent) =>
        after, verdict, sent = advanced(setup, job, Verdict.ADVANCED)
        \n        up = copies(setup, Frame(kind=Kind.DONE, turn=job.lo), setup.above)
        \n        return Outcome(after, verdict, (*up, *sent)); STUCK; 8
    DONE passed upwards once; switch; job = replace(job, done=job.done | 1 << port) =>
        again, job = job.done >> port & 1, replace(job, done=job.done | 1 << port);
        switch; if job.done != setup.below: => if again or job.done != setup.below:; STUCK; 8
    PARTIAL added whenever it comes; switch; job.open[setup.slot(turn)].arrivals[port] =>
        Arrivals(); ALARM; 3
    PARTIAL not acknowledged; switch; Verdict.ADDED, sent, errors) => Verdict.ADDED, (), errors);
        switch; , ((port, ack(turn, before.window)),)) => ); STUCK; 0
    """,
)

#: A spine and two leaves, of two workers and one.
UNSAFE_LEAVES = variants(
    nodes,
    r"""
    DONE passed upwards for one worker; switch; if job.done != setup.below: =>
        if not setup.above and job.done != setup.below:; LEFT_BEHIND; 18
    DONE upwards of the next turn; switch;
        return Outcome(*advanced(setup, job, Verdict.ADVANCED)) =>
        after, verdict, sent = advanced(setup, job, Verdict.ADVANCED)
        \n    up = copies(setup, Frame(kind=Kind.DONE, turn=after.lo), setup.above)
        \n    return Outcome(after, verdict, (*sent, *up)); LEFT_BEHIND; 29
    """,
)

#: Two spines and two leaves.
UNSAFE_SPINES = variants(
    nodes,
    r"""
    ADVANCEs counted; switch; over=job.over | 1 << port =>
        over=job.over | 1 << (setup.above & ~job.over).bit_length() - 1; STUCK; 16
    DONE to one spine; switch; turn=job.lo), setup.above) =>
        turn=job.lo), setup.above & -setup.above); STUCK; 0
    ADVANCEs kept; switch; over=0, open=opened) => open=opened); STUCK; 37
    """,
)

#: What is not acknowledged is still sent.
HARMLESS = variants(
    nodes,
    """
    turn begun at once; may_begin;
        return turn == worker.lo or is_acknowledged(setup, worker, turn - 1) => return True
    """,
)
