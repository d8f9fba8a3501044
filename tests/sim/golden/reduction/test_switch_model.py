"""Checks the golden switch by hand: one AllReduce of two workers, and who is refused."""

from sim.golden.job_table import Refusal
from sim.golden.reduction.allreduce import Verdict
from sim.golden.reduction.frames import WireFrame
from sim.golden.reduction.switch_model import SwitchModel

ADDRESS, GROUP = bytes(range(6)), bytes(range(6, 12))


def model():
    switch = SwitchModel(ports=4, slots=16, jobs=2, address=ADDRESS, group=GROUP)
    assert switch.start_job(1, ports=0b1010, epoch=3, base=4, count=4) is None
    return switch


def frame(port, value=0, **changes):
    fields = {"bm": 1 << port, "job": 1, "epoch": 3, "seq": 5, "use": 0, "is_agg": True}
    fields |= {"destination": ADDRESS, "payload": (value,) * 8}
    return WireFrame(**(fields | changes)).to_bytes()


def test_an_allreduce():
    switch = model()
    assert switch.take(1, frame(1, 5)) == []
    answers = switch.take(3, frame(3, -7))
    answer = WireFrame(
        destination=GROUP,
        source=ADDRESS,
        is_agg=True,
        bm=0b1010,
        job=1,
        epoch=3,
        seq=5,
        payload=(-2,) * 8,
    )
    assert answers == [(1, answer.to_bytes()), (3, answer.to_bytes())]
    assert switch.take(3, frame(3, is_agg=False)) == []
    (first, acked), (second, _) = switch.take(1, frame(1, 99, is_agg=False))
    assert (first, second) == (1, 3)
    result = WireFrame.from_bytes(acked)
    assert (result.is_agg, result.acked, result.bm, result.payload) == (
        False,
        True,
        0b1010,
        (0,) * 8,
    )
    # A repetition is answered to its sender.
    ((port, again),) = switch.take(3, frame(3))
    assert port == 3
    assert WireFrame.from_bytes(again).bm == 0b1000
    assert switch.counters == {
        (1, Verdict.ADDED): 1,
        (3, Verdict.ADDED): 1,
        (1, Verdict.ACKNOWLEDGED): 1,
        (3, Verdict.ACKNOWLEDGED): 1,
        (3, Verdict.REPEATED_PARTIAL): 1,
    }


def test_the_first_reason_counts():
    worse = [
        (Verdict.WRONG_SLOT, {"seq": 8}),
        (Verdict.WRONG_RUN, {"epoch": 2}),
        (Verdict.WRONG_WORKER, {"bm": 0b1010}),
        (Verdict.WRONG_JOB, {"job": 0}),
        (Verdict.MALFORMED, {"acked": True}),
        (Verdict.FOREIGN, {"version": 1}),
    ]
    changes = {}
    for verdict, change in worse:
        changes |= change
        switch = model()
        assert switch.take(1, frame(1, **changes)) == []
        assert switch.counters == {(1, verdict): 1}
        assert switch.active[1].slots == {}
    assert switch.take(1, frame(1, **changes), corrupt=True) == []
    assert switch.counters[1, Verdict.CORRUPT] == 1


def test_jobs_of_other_ports_and_stopped_ones():
    switch = model()
    assert switch.take(0, frame(0)) == []
    switch.stop_job(1)
    assert switch.take(1, frame(1)) == []
    assert switch.counters == {(0, Verdict.WRONG_JOB): 1, (1, Verdict.WRONG_JOB): 1}


def test_refusals():
    switch = model()
    legal = {"ports": 0b0101, "epoch": 0, "base": 8, "count": 8}
    for changes, reason in (
        ({"number": 2}, Refusal.NO_SUCH_JOB),
        ({"ports": 0}, Refusal.NO_PORTS),
        ({"ports": 0b10101}, Refusal.NO_SUCH_PORT),
        ({"count": 0}, Refusal.BAD_SLOTS),
        ({"count": 9}, Refusal.BAD_SLOTS),
        ({"ports": 0b0011}, Refusal.PORTS_TAKEN),
        ({"base": 7}, Refusal.SLOTS_TAKEN),
        ({}, None),
    ):
        assert switch.start_job(**({"number": 0} | legal | changes)) == reason
    assert switch.start_job(1, ports=0b1000, epoch=4, base=0, count=8) is None


def test_a_clamped_sum_is_reported_with_every_answer_and_counted_once():
    switch, top = model(), (1 << 31) - 1
    low = -top - 1
    assert switch.take(1, frame(1, payload=(top, low, 1, top, low, top, 0, -1))) == []
    payload = (1, -1, 1, 0, 0, low, 0, top)
    answers = switch.take(3, frame(3, payload=payload))
    answers += switch.take(3, frame(3, payload=payload))  # sent again
    assert len(answers) == 3
    for _, data in answers:
        answer = WireFrame.from_bytes(data)
        assert answer.payload == (top, low, 2, top, low, -1, 0, top - 1)
        assert answer.saturated == 0b11
    assert switch.saturations == 2
