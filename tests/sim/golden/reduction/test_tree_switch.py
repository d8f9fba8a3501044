"""Tests a tree's golden switch by hand, against the one without a parent, and in a tree."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.golden.reduction.allreduce import Packet, SwitchSlot, Verdict, switch_rule
from sim.golden.reduction.frames import WireFrame
from sim.golden.reduction.tree_frames import long_frame, read
from sim.golden.reduction.tree_rule import root_rule
from sim.golden.reduction.tree_switch import TreeSwitchModel
from sim.golden.tenancy import Command, Refused, Verb
from sim.golden.tree_plan import TreePlan
from tests.sim.golden.reduction.tree_network import (
    Chances,
    Network,
    grant,
    right_sums,
    some_partials,
)

ADDRESS, GROUP, ABOVE = b"switch", b"group.", b"above."
CHILDREN, PARENT, PLACE = 0b1010, 2, 5


def model():
    switch = TreeSwitchModel(4, 16, 2, ADDRESS, GROUP, above=ABOVE, place=PLACE)
    fields = {"ports": CHILDREN, "parent": PARENT, "base": 4, "count": 4}
    grant(switch, 1, 3, **fields)
    return switch


def release(switch, *, force=False):
    return switch.command(Command(verb=Verb.RELEASE, switch=0, job=1, epoch=3, force=force)).verb


FRAME = WireFrame(destination=ADDRESS, is_agg=True, job=1, epoch=3, seq=5)
FULL = replace(FRAME, bm=0xFF, payload=(7,) * 8, saturated=0b101)


def partial(port, value=0, **changes):
    return replace(FRAME, bm=1 << port, payload=(value,) * 8, **changes).to_bytes()


def ack(port, **changes):
    return replace(FRAME, bm=1 << port, is_agg=False, **changes).to_bytes()


ACKED = replace(FRAME, bm=1 << PLACE, is_agg=False, acked=True).to_bytes()


def verdicts(switch):
    return {verdict for _, verdict in switch.counters}


def test_an_allreduce():
    """Sums and acknowledgements go up once all are in, and what comes down goes to all."""
    switch = model()
    low = -(1 << 31)
    assert switch.take(1, partial(1, low)) == []
    ((port, up),) = switch.take(3, partial(3, low))
    frame, long = read(up)
    assert (port, long) == (PARENT, True)
    assert frame == WireFrame(
        destination=ABOVE,
        source=ADDRESS,
        is_agg=True,
        bm=1 << PLACE,
        job=1,
        epoch=3,
        seq=5,
        payload=(2 * low,) * 8,
    )
    # Repeated: to the parent again, and the child hears that it waits for others.
    (child, reported), again = switch.take(3, partial(3, low))
    assert (child, read(reported)[0].packet) == (
        3,
        Packet(True, 8, 0, acked=True, payload=(0,) * 8),
    )
    assert again == (port, up)
    assert switch.take(1, ack(1)) == []  # premature
    down = switch.take(PARENT, FULL.to_bytes())
    assert [port for port, _ in down] == [1, 3]
    answer = replace(FULL, destination=GROUP, source=ADDRESS, bm=CHILDREN)
    assert down[0][1] == answer.to_bytes()
    assert switch.take(1, partial(1)) == [(1, replace(answer, bm=2).to_bytes())]
    assert switch.take(1, ack(1)) == []
    ((port, up),) = switch.take(3, ack(3))
    assert (port, len(up), read(up)[0].packet.bm) == (PARENT, 60, 1 << PLACE)
    assert not read(up)[0].is_agg
    assert switch.unfinished(1) == 1
    assert switch.take(1, partial(1, use=1)) == []  # early
    acked = switch.take(PARENT, ACKED)
    assert [(port, read(data)[0].acked) for port, data in acked] == [(1, True), (3, True)]
    assert (switch.unfinished(1), switch.operations[1]) == (0, 1)
    assert switch.take(1, ack(1))[0][0] == 1
    assert switch.take(1, partial(1, use=1)) == []
    assert switch.take(3, ack(3))[0][0] == 3  # of the use before
    assert switch.counters[PARENT, Verdict.FULL] == switch.counters[PARENT, Verdict.FREED] == 1
    assert {Verdict.EARLY, Verdict.PREMATURE_ACK, Verdict.PREVIOUS_ACK} <= verdicts(switch)
    assert switch.saturations == 0


def test_what_a_parent_may_say_in_vain():
    switch = model()
    pending = replace(FRAME, bm=1 << PLACE, acked=True)
    cases = [
        (replace(FULL, use=255), Verdict.REPEATED),
        (replace(pending, use=255), Verdict.REPEATED),
        (FULL, Verdict.STALE),
    ]
    for frame, verdict in cases:
        assert switch.take(PARENT, frame.to_bytes()) == []
        assert switch.counters[PARENT, verdict]
    switch.take(1, partial(1))
    for data in (FULL.to_bytes(), ACKED, pending.to_bytes()):
        switch.counters.clear()
        assert switch.take(PARENT, data) == []
        assert verdicts(switch) == {Verdict.UNASKED}
    switch.take(3, partial(3))
    switch.counters.clear()
    assert switch.take(PARENT, pending.to_bytes()) == []
    assert switch.take(PARENT, ACKED) == []
    assert verdicts(switch) == {Verdict.PENDING, Verdict.UNASKED}


def test_the_first_reason_counts():
    """It does for a packet of a child, and for one of the parent."""
    for port, frame, path in (
        (1, replace(FRAME, bm=2), {"acked": True}),
        (PARENT, replace(FULL, bm=1 << PLACE), {"is_agg": False, "saturated": 0}),
    ):
        worse = [
            (Verdict.WRONG_SLOT, {"seq": 8}),
            (Verdict.WRONG_RUN, {"epoch": 2}),
            (Verdict.WRONG_WORKER, {"bm": 1 << 9}),
            (Verdict.WRONG_WAY, path),
            (Verdict.WRONG_JOB, {"job": 0}),
            (Verdict.MALFORMED, {"saturated": 1, "is_agg": False}),
            (Verdict.FOREIGN, {"version": 1}),
        ]
        changes = {}
        for verdict, change in worse:
            changes |= change
            switch = model()
            assert switch.take(port, replace(frame, **changes).to_bytes()) == []
            assert switch.counters == {(port, verdict): 1}
    switch = model()
    assert release(switch, force=True) is Verb.RELEASED
    switch.take(PARENT, FULL.to_bytes())
    assert switch.counters == {(PARENT, Refused.NOT_GRANTED): 1}
    long = long_frame(replace(FULL, bm=1 << PLACE), FULL.payload)
    for data, verdict in ((long, Verdict.WRONG_WAY), (long[:62], Verdict.MALFORMED)):
        switch = model()
        assert switch.take(PARENT, data) == []
        assert verdicts(switch) == {verdict}


def test_a_job_that_drains_begins_no_use():
    switch = model()
    switch.take(1, partial(1))
    assert release(switch) is Verb.DRAINING
    assert switch.take(1, partial(1, seq=6)) == []
    assert switch.counters[1, Refused.DRAINING] == 1
    assert switch.take(3, partial(3))


VALUES = st.integers(-(1 << 31), (1 << 31) - 1)


@given(st.data())
def test_the_root_is_p4sgds_switch(data):
    """It equals that whatever comes, as long as sums have 37 bits."""
    everyone = 0b111
    first = second = SwitchSlot.at_start(everyone, 1)
    for _ in range(20):
        use = (first.use + data.draw(st.sampled_from((-1, 0, 0, 1)))) % 256
        bm = 1 << data.draw(st.integers(0, 2))
        packet = Packet(data.draw(st.booleans()), bm, use, payload=(data.draw(VALUES),))
        left, right = root_rule(first, packet, everyone), switch_rule(second, packet, everyone)
        assert left == right
        first, second = left.slot, right.slot


@pytest.mark.parametrize(
    "below", [(2, 2), (None, 3), ((2, 2), (2, 2)), ((1, None), (3,)), ((((2,),),),)]
)
@pytest.mark.parametrize("bad", [False, True])
def test_sums_of_a_tree_are_exact(below, bad):
    """Links lose, double and reorder three of ten frames, each."""
    random.seed(1)
    plan = TreePlan(below)
    partials = some_partials(plan, 40)
    chances = Chances() if bad else Chances(drop=0, duplicate=0, reorder=0)
    network = Network(plan, partials, 3, chances)
    network.run()
    sums, clamped = right_sums(partials)
    for worker in network.workers.values():
        assert [worker.sums[j] for j in range(40)] == sums
        assert [worker.clamped[j] for j in range(40)] == clamped
    assert any(clamped)
    counts = [sum(item.counters.values()) for item in network.switches.values()]
    assert all(counts)
    root, *others = network.switches.values()
    assert root.saturations == sum(bits.bit_count() for bits in clamped)
    assert not any(item.saturations for item in others)
    assert not any(verdict is Verdict.UNASKED for item in others for verdict in verdicts(item))
