"""Steps the golden switch by hand: two workers, four aggregators in two banks, row by row."""

from dataclasses import replace

import numpy as np
import pytest

from sim.golden.job_table import Refusal, Stranger
from sim.switchgnn.golden.frames import Frame, Kind, Quality
from sim.switchgnn.golden.job_setup import Cause, Descriptor, JobSetup, Step, TableError
from sim.switchgnn.golden.switch import SwitchModel
from sim.switchgnn.golden.switch_rule import Verdict

BLOCK = {0: Descriptor(2, 0), 1: Descriptor(1, 2), 2: Descriptor(2, 2)}  #: by aggregator
SETUP = JobSetup(
    ports=0b101,
    banks=2,
    depth=2,
    window=2,
    ack_every=2,
    blocks=[BLOCK, {3: Descriptor(1, 0)}],
    program=[Step(0, 2), Step(1, 1)],
    rows=[[0, 0], [1, None], [None, 1], [2, None]],
)


def model(setup=SETUP, *, loaded=True, base=4):
    switch = SwitchModel(ports=4, banks=2, depth=8, jobs=2)
    assert switch.start_job(1, setup=setup, epoch=3, base=base) is None
    if loaded:
        switch.load()
    return switch


def frame(kind, port=0, value=0, **changes):
    fields = {"turn": 0, "bm": 1 << port, "job": 1, "epoch": 3}
    if kind in (Kind.FEATURE, Kind.PARTIAL, Kind.RAW):
        fields["payload"] = np.array([value, -value], np.int32)
    return Frame(kind=kind, **fields | changes)


def feature(port=0, value=0, rows=(0, 1), **changes):
    first, count = rows
    return frame(Kind.FEATURE, port, value, list=first, rows=count, **changes)


def reported(sent):
    """Return ports, kinds and what else is news."""
    return [(port, f.kind, f.list, None if f.payload is None else f.payload[0]) for port, f in sent]


def test_sums_leave_when_complete_and_again_when_fetched():
    switch = model()
    (result,) = switch.take(0, feature(value=7))
    assert reported([result]) == [(2, Kind.RESULT, 1, 7)]
    assert (result[1].bm, result[1].job, result[1].epoch) == (0b100, 1, 3)
    assert reported(switch.take(2, feature(2, 5, rows=(0, 1)))) == [(0, Kind.RESULT, 0, 12)]
    assert reported(switch.take(0, frame(Kind.FETCH, list=0))) == [(0, Kind.RESULT, 0, 12)]
    assert switch.take(0, frame(Kind.FETCH, list=2)) == []
    assert switch.take(0, frame(Kind.FETCH, list=4)) == []
    # Aggregator 1 wanted one contribution: the second one is an error of the tables.
    job = switch.table.active[1]
    assert job.errors == {Cause.COMPLETE: 1}
    assert job.first_error == TableError(Cause.COMPLETE, 0, 0, 1)
    counts = vars(switch.counts)
    assert counts == {
        "rows": 2,
        "additions": 3,
        "results": 3,
        "repeats": 1,
        "turns": 0,
        "marks": 0,
    }


def test_acknowledgements():
    """They come after two new frames, at once for a repeated one, or when the delay is over."""
    switch = model()
    assert reported(switch.take(0, feature(rows=(1, 1), seq=1))) == []
    ((port, ack),) = switch.take(0, feature(rows=(1, 1), seq=1))
    assert (port, ack.kind, ack.seq, ack.bitmap) == (0, Kind.ACK, 0, 0b10)
    assert switch.ack_delay_over() == []
    assert switch.take(0, feature(rows=(2, 0), seq=2)) == []  # beyond the window
    assert switch.take(0, feature(rows=(2, 0), seq=0)) == []
    ((port, ack),) = switch.ack_delay_over()
    assert (port, ack.seq, ack.bitmap) == (0, 2, 0)
    assert switch.take(0, feature(rows=(2, 0), seq=2)) == []
    ((_, ack),) = switch.take(0, feature(rows=(2, 0), seq=3))
    assert (ack.seq, ack.bitmap) == (4, 0)
    ((_, ack),) = switch.take(0, feature(rows=(2, 0), seq=0))  # below the base
    assert (ack.seq, ack.bitmap) == (4, 0)
    result = {verdict: n for (_, verdict), n in switch.counters.items()}
    assert result == {Verdict.ADDED: 4, Verdict.REPEATED: 2, Verdict.AHEAD: 1}


def test_every_error_of_tables_is_counted_and_the_first_is_kept():
    switch = model()
    sent = switch.take(0, feature(value=9, rows=(2, 3)))  # rows 2, 3 and one that is not there
    assert sent == []
    job = switch.table.active[1]
    assert job.errors == {Cause.UNUSED: 1, Cause.OUTSIDE: 1, Cause.NO_SUCH_ROW: 1}
    assert job.first_error == TableError(Cause.UNUSED, 0, 2, 3)
    assert switch.counts.additions == 0
    switch.take(0, frame(Kind.PARTIAL, seq=1, list=9, value=4))
    assert job.errors[Cause.OUTSIDE] == 2
    assert reported(switch.take(2, frame(Kind.PARTIAL, 2, seq=0, list=1, value=4)))[0][3] == 4


def test_turns_blocks_and_loads():
    switch = model(loaded=False)
    assert switch.take(0, feature()) == []
    assert switch.counters == {(0, Verdict.UNLOADED): 1}
    switch.load()
    for turn in (0, 1):
        assert switch.take(0, frame(Kind.DONE, turn=turn)) == []
        sent = switch.take(2, frame(Kind.DONE, 2, turn=turn))
        assert [(p, f.kind, f.turn) for p, f in sent] == [
            (0, Kind.ADVANCE, turn + 1),
            (2, Kind.ADVANCE, turn + 1),
        ]
    assert switch.take(2, feature(2, 8, rows=(2, 1), turn=2)) == []  # block 1 is not loaded
    switch.load()
    assert reported(switch.take(2, feature(2, 8, rows=(2, 1), turn=2))) == [(0, Kind.RESULT, 3, 8)]
    ((port, advance),) = switch.take(0, frame(Kind.DONE, turn=1))
    assert (port, advance.kind, advance.turn) == (0, Kind.ADVANCE, 2)
    assert switch.take(0, frame(Kind.DONE, turn=3)) == []
    assert switch.take(0, feature(turn=1)) == []
    assert switch.take(0, feature(turn=3)) == []
    assert switch.counters[0, Verdict.EARLY] == 1
    assert switch.counters[0, Verdict.CLOSED] == 2
    assert switch.counts.turns == 2


def test_the_second_of_two_open_turns_has_the_second_half():
    setup = replace(SETUP, open_turns=2)
    switch = model(setup, base=4)
    assert switch.table.active[1].places == range(4, 8)
    switch.take(0, feature(value=1, turn=1))
    assert reported(switch.take(2, feature(2, 2, turn=0))) == [(2, Kind.RESULT, 1, 2)]
    assert reported(switch.take(2, feature(2, 4, turn=1))) == [(0, Kind.RESULT, 0, 5)]
    half = SETUP.size
    remaining = [entry.remaining for entry in switch.table.active[1].state.entries]
    assert (remaining[0], remaining[half]) == (1, 0)
    switch.take(0, frame(Kind.PARTIAL, seq=1, list=half))  # of the other turn's half
    assert switch.table.active[1].errors[Cause.OUTSIDE] == 1


def test_copies_go_to_ports_of_the_job_and_requests_to_the_owner():
    switch = model()
    sent = switch.take(0, feature(value=6, rows=(0, 0), source=77, raw=0b1110))
    assert [(p, f.kind, f.source, f.raw, f.payload[0]) for p, f in sent] == [
        (2, Kind.RAW, 77, 0, 6)
    ]
    ((port, requested),) = switch.take(2, frame(Kind.RAWFETCH, 2, source=77, raw=0b0001))
    assert (port, requested.kind, requested.source, requested.raw) == (0, Kind.RAWFETCH, 77, 0b0100)
    answer = frame(Kind.RAW, value=6, source=77, raw=requested.raw)
    ((port, copy),) = switch.take(0, answer)
    assert (port, copy.kind, copy.source) == (2, Kind.RAW, 77)
    assert switch.counts.additions == 0


def test_the_first_reason_counts():
    worse = [
        (Verdict.MISPLACED, {"kind": Kind.RESULT}),
        (Stranger.WRONG_RUN, {"epoch": 2}),
        (Stranger.WRONG_WORKER, {"bm": 0b101}),
        (Stranger.WRONG_JOB, {"job": 0}),
    ]
    changes = {}
    for verdict, change in worse:
        changes |= change
        switch = model()
        before = switch.table.active[1].state
        assert switch.take(0, replace(feature(), **changes)) == []
        assert switch.counters == {(0, verdict): 1}
        assert switch.table.active[1].state == before
    for quality in Quality:
        assert switch.take(3, quality) == []
        assert switch.counters[3, quality] == 1
    assert model().take(1, feature(1)) == []  # a port that the job has not


@pytest.mark.parametrize("kind", [Kind.ACK, Kind.ADVANCE, Kind.RESULT])
def test_workers_may_not_say_what_switches_say(kind):
    switch = model()
    before = switch.table.active[1].state
    assert switch.take(0, frame(kind, turn=1 * (kind is Kind.ADVANCE))) == []
    assert switch.counters == {(0, Verdict.MISPLACED): 1}
    assert switch.table.active[1].state == before


def test_marks():
    """A port's congestion inwards is echoed to it; that outwards marks what leaves, and is echoed
    to all workers of the job."""
    switch = model(replace(SETUP, ack_every=1))
    switch.congested_in, switch.congested_out = 0b001, 0b100
    sent = switch.take(0, feature(value=1, raw=0b100))
    assert [(port, f.kind, f.ecn) for port, f in sent] == [
        (2, Kind.RAW, True),
        (0, Kind.ACK, True),
        (2, Kind.RESULT, True),
    ]
    sent = switch.take(2, feature(2, 1))
    assert [(p, f.kind, f.ecn) for p, f in sent] == [(2, Kind.ACK, True), (0, Kind.RESULT, False)]
    assert switch.counts.marks == 4


def test_a_mark_of_another_switch_goes_down_once():
    """It came before each port's next ACK, or several came; none goes up, back, or to a later job.

    Ports 0 and 2 have workers, 1 leads to a switch below, 3 to one above.
    """
    links = {"ports": 0b1111, "links": {1: 5, 3: 5}, "above": 0b1000}
    setup = replace(SETUP, ack_every=1, **links)

    def acks(port):
        """Return whether two ACKs to a port are marked: of a new frame, and of its repetition."""
        new = [switch.take(port, feature(port, rows=(3, 1), seq=0)) for _ in range(2)]
        return [f.ecn for sent in new for p, f in sent if (p, f.kind) == (port, Kind.ACK)]

    switch = model(setup)
    for sender in (3, 3, 1):
        switch.take(sender, frame(Kind.ACK, sender, ecn=True))
    assert [acks(port) for port in (0, 1, 2)] == [[True, False]] * 3
    assert acks(3) == [False, False]
    switch.take(1, frame(Kind.ACK, 1, ecn=True))
    switch.take(3, frame(Kind.ACK, 3, turn=9, ecn=True))  # of a turn that is not open
    assert [acks(port) for port in (0, 1, 3)] == [[True, False], [False, False], [False, False]]
    switch.stop_job(1)
    assert switch.start_job(1, setup=setup, epoch=3, base=4) is None
    switch.load()
    assert acks(2) == [False, False]


def test_acks_of_another_job_are_not_marked():
    switch = model(replace(SETUP, ack_every=1))
    switch.congested_out = 0b1010
    assert [f.ecn for _, f in switch.take(0, feature(value=1))] == [False, False]


def test_jobs_side_by_side_and_anew():
    switch = model()
    other = replace(SETUP, ports=0b1010)
    assert switch.start_job(0, setup=other, epoch=1, base=5) is Refusal.SLOTS_TAKEN
    assert switch.start_job(0, setup=other, epoch=1, base=7) is Refusal.BAD_SLOTS
    assert switch.start_job(0, setup=SETUP, epoch=1, base=0) is Refusal.PORTS_TAKEN
    assert switch.start_job(0, setup=other, epoch=1, base=2) is None
    switch.take(0, feature(value=1))
    assert switch.start_job(1, setup=SETUP, epoch=4, base=4) is None
    switch.load()
    assert switch.take(0, feature(value=1)) == []
    assert switch.counters[0, Stranger.WRONG_RUN] == 1
    assert reported(switch.take(0, feature(value=2, epoch=4))) == [(2, Kind.RESULT, 1, 2)]
    switch.stop_job(1)
    assert switch.take(0, feature(epoch=4)) == []
    assert switch.counters[0, Stranger.WRONG_JOB] == 1
    with pytest.raises(ValueError, match="banks"):
        switch.start_job(1, setup=replace(SETUP, banks=4), epoch=1, base=0)


def test_partials_wait_for_the_window_of_the_other_switch():
    """They leave in the order of their completion, and leave again until they are acknowledged."""
    blocks = [{k: Descriptor(1, 3, target=9 - k) for k in range(3)}]
    setup = replace(SETUP, ports=0b1001, window=2, ack_every=9, blocks=blocks, links={3: 5})
    switch = model(setup)
    sent = switch.take(0, frame(Kind.PARTIAL, seq=0, list=2, value=1))
    sent += switch.take(0, frame(Kind.PARTIAL, seq=1, list=0, value=2))
    assert [(p, f.kind, f.seq, f.list, f.bm, f.payload[0]) for p, f in sent] == [
        (3, Kind.PARTIAL, 0, 7, 1 << 5, 1),
        (3, Kind.PARTIAL, 1, 9, 1 << 5, 2),
    ]
    assert switch.take(0, frame(Kind.PARTIAL, seq=2, list=1, value=3)) == []
    assert switch.take(0, frame(Kind.FETCH, list=0)) == []  # another switch is not asked for
    assert [f.seq for _, f in switch.partial_timeout()] == [0, 1]
    assert switch.take(3, frame(Kind.ACK, 3, seq=0, bitmap=0b10)) == []
    assert [f.seq for _, f in switch.partial_timeout()] == [0]
    ((port, third),) = switch.take(3, frame(Kind.ACK, 3, seq=2))
    assert (port, third.seq, third.list, third.payload[0]) == (3, 2, 8, 3)
    assert switch.counts.repeats == 3
