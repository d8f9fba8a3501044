"""Runs both switches' host software on a stand-in for a card: what it writes, and refuses."""

import pytest

from gen.designs.catalogue import find_design
from gen.designs.design import load
from hdl.allreduce.wide_params import WideVerdict
from hdl.p4sgd.switch.params import Verdict
from hdl.switch.params import Refusal
from hdl.switch.tenancy_head import Reason
from sim.host.device import DeviceError
from sim.host.switch.job_switch import CommandRefused
from sim.host.switch.mina_switch import MinaSwitch
from tests.gen.software.fake_card import FakeCard

SWITCH, GROUP = bytes(range(1, 7)), bytes(range(11, 17))
PLACE = {"ports": [0, 1], "base": 4, "slots": 2}


def card_of(name):
    design = find_design(name)
    card = FakeCard(load(design.software)(design.params_of("tiny")))
    return card, card.attach()


@pytest.fixture
def p4sgd():
    return card_of("p4sgd-switch")


@pytest.fixture
def mina():
    return card_of("mina-switch")


@pytest.fixture(params=["p4sgd-switch", "mina-switch", "allreduce-switch"])
def either(request):
    return card_of(request.param)


def heard(card, *names):
    return tuple(card.heard(name) for name in names)


def test_addresses(either):
    card, switch = either
    switch.set_addresses(SWITCH, GROUP)
    assert card.heard_wide("switch_address").to_bytes(6, "little") == SWITCH
    assert card.heard_wide("group_address").to_bytes(6, "little") == GROUP
    with pytest.raises(ValueError, match="group_address must be 6 bytes"):
        switch.set_addresses(SWITCH, GROUP[:5])


def test_a_job_is_started_and_stopped(p4sgd):
    card, switch = p4sgd
    switch.start_job(1, epoch=9, **PLACE)
    names = ("job_number", "job_epoch", "job_ports", "job_base", "job_slots")
    assert heard(card, *names) == (1, 9, 3, 4, 2)
    switch.stop_job(0)
    assert heard(card, "job_number") == (0,)
    assert card.log == ["start_job", "stop_job"]


def test_a_job_gets_the_switch_and_gives_it_back(mina):
    card, switch = mina
    switch.share(most=1, ports_apart=True)
    switch.open_ports([3])
    switch.set_parents(GROUP, 5)
    assert heard(card, "most_granted", "ports_apart", "control_ports") == (1, 1, 8)
    assert card.heard_wide("parent_address").to_bytes(6, "little") == GROUP
    assert heard(card, "place_at_parents") == (5,)
    switch.register(1, parent=2, epoch=6, **PLACE)
    names = ("job_number", "job_epoch", "job_ports", "job_base", "job_slots")
    assert heard(card, *names) == (1, 6, 3, 4, 2)
    assert heard(card, "job_has_parent", "job_parent_port") == (1, 2)
    switch.acquire(1, 7)
    assert heard(card, "job_epoch", "job_force") == (7, 0)
    switch.release(1, 7, force=True)
    assert heard(card, "job_force") == (1,)
    switch.register(0, **PLACE)
    assert heard(card, "job_has_parent", "job_epoch") == (0, 0)
    assert card.log == ["register_job", "acquire_job", "release_job", "register_job"]


def test_a_job_that_drains_is_waited_for(mina):
    card, switch = mina
    switch.seconds = 0.01
    card.say(draining_jobs=0b01)
    switch.release(1, 7)
    card.say(draining_jobs=0b10)
    with pytest.raises(DeviceError, match=r"release_job has not ended within 0\.01 s"):
        switch.release(1, 7)


def test_refusals_have_their_reasons(p4sgd, mina):
    card, switch = p4sgd
    card.say(refused=1, reason=Refusal.PORTS_TAKEN.value)
    with pytest.raises(CommandRefused, match="PORTS_TAKEN, another active job has some") as refused:
        switch.start_job(1, epoch=9, **PLACE)
    assert refused.value.reason == "PORTS_TAKEN"
    card, switch = mina
    card.say(refused=1, reason=Reason.SWITCH_TAKEN.value)
    with pytest.raises(CommandRefused, match="SWITCH_TAKEN, to acquire: most_granted other jobs"):
        switch.acquire(1, 9)


def test_waits_are_bounded(either):
    card, switch = either
    switch.seconds = 0.01
    card.say(busy=1)
    with pytest.raises(DeviceError, match=r"has not ended within 0\.01 s"):
        switch.acquire(0, 1) if isinstance(switch, MinaSwitch) else switch.stop_job(0)
    card.say(clearing_counters=1)
    with pytest.raises(DeviceError, match="clear_counters has not ended"):
        switch.clear_counters()


def test_counters(either):
    card, switch = either
    card.say(counter_value=3, packets=4)
    counts = switch.verdicts()
    assert {*counts} == set(range(card.software.build["fixed"]["ports"]))
    assert counts[1]["ADDED"] == 3
    kinds = WideVerdict if card.software.map.name == "allreduce_switch" else Verdict
    assert {*counts[0]} >= {*kinds.__members__} - {"NONE"}
    assert "NONE" not in counts[0]
    assert switch.counters() == {"packets": 4, "cycles": 0, "saturations": 0}
    assert "overflows" in switch.port_counters()[0]


def test_counters_of_a_tenant(mina):
    card, switch = mina
    card.say(tenant_count=5)
    assert switch.tenant_counters(1)["grants"] == 5
    assert card.heard("counter_job") == 1


@pytest.mark.parametrize(
    ("call", "shown", "by"),
    [
        ("tenant_verdicts", "tenant_verdicts", "counter_verdict"),
        ("tenant_counters", "tenant_count", "tenant_counter"),
        ("control_counters", "control_count", "control_counter"),
    ],
)
def test_the_first_read_may_come_too_soon(mina, monkeypatch, call, shown, by):
    card, switch = mina
    place, read, latest = card.module.FIELDS[shown].address, card.read, [99]

    def late(address):
        if address == place:
            latest.append(card.heard(by))
        return latest[-2] if address == place else read(address)

    monkeypatch.setattr(card, "read", late)
    result = list(getattr(switch, call)(1).values())
    assert result == [*range(result[0], result[0] + len(result))]  # each has its own number


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"job": 2}, "job must be from 0 to 1: 2"),
        ({"epoch": 1 << 16}, "epoch must be from 0 to 65535: 65536"),
        ({"epoch": -1}, "epoch must be from 0 to 65535: -1"),
        ({"ports": []}, r"ports must be some of 0 to 1: \[\]"),
        ({"ports": [0, 2]}, r"ports must be some of 0 to 1: \[0, 2\]"),
        ({"slots": 0}, "slots must be some of 0 to 255: 0 from 4"),
        ({"base": 255}, "slots must be some of 0 to 255: 2 from 255"),
    ],
)
def test_a_job_that_cannot_be(p4sgd, how, text):
    card, switch = p4sgd
    with pytest.raises(ValueError, match=text):
        switch.start_job(**{"job": 1, "epoch": 9, **PLACE} | how)
    assert not card.log


def test_what_a_tenant_cannot_be(mina):
    card, switch = mina
    for call, text in (
        (lambda: switch.share(most=3, ports_apart=False), "most must be from 1 to 2: 3"),
        (lambda: switch.open_ports([4]), "ports must be some of 0 to 3"),
        (lambda: switch.register(0, parent=4, **PLACE), "parent must be a port below 4: 4"),
        (lambda: switch.acquire(2, 1), "job must be from 0 to 1: 2"),
        (lambda: switch.acquire(0, 1 << 32), "epoch must be from 0 to 4294967295"),
        (lambda: switch.tenant_counters(2), "job must be from 0 to 1: 2"),
    ):
        with pytest.raises(ValueError, match=text):
            call()
    assert not card.log


def test_another_design_is_refused(either):
    card, _ = either
    card.say(jobs=1)
    with pytest.raises(DeviceError, match="another design: jobs is 1, not 2"):
        card.attach()
