"""Checks the self-tests of cards on a stand-in: what it keeps is right, and what is not is told."""

import pytest

from gen.designs.catalogue import find_design
from gen.designs.design import load
from sim.host.fake import Fake
from tests.gen.software.fake_card import FakeCard
from tests.gen.software.selftests import SelfTest

#: a design, a field of its that can be written, and a counter as its check calls it; all but the
#: last one have MACs
DESIGNS = {
    "p4sgd-switch": ("job_slots", "verdict, port 0 ADDED"),
    "mina-switch": ("most_granted", "verdict, port 0 ADDED"),
    "switchgnn-switch": ("ack_delay", "verdict, port 0 ADDED"),
    "netsparse-switch": ("stall_limit", "port 0 reads_in_packets"),
    "netsparse-snic": ("watchdog", "unit 0 consumed"),
    "gather-engine": ("row_bytes", "cycles"),
}
COUNTS = ("counter_value", "verdict_count", "port_count", "unit_count", "engine_count")
CHECKS = ("--only", "registers", "--only", "counters")


@pytest.fixture(params=DESIGNS)
def card(request):
    """Return a stand-in for a card with a design, its self-test, and the design's names above."""
    design = find_design(request.param)
    card = FakeCard(load(design.software)(design.params_of("tiny")))
    return card, SelfTest(card.software, card, seconds=0.05), *DESIGNS[request.param]


def test_a_card_that_is_right_passes(card):
    card, selftest, field, _ = card
    card.say(**{field: 5})
    status, lines = selftest(*CHECKS)
    assert (status, lines[-1]) == (0, "PASS: registers, counters"), lines
    assert card.heard(field) == 5  # as before
    assert "clear_counters" in card.log


def test_a_field_that_reads_wrong_is_reported(card):
    card, selftest, field, _ = card
    place = card.module.FIELDS[field]
    card.read = lambda address: (
        Fake.read(card, address) | (address == place.address) << place.offset
    )
    status, lines = selftest(*CHECKS)
    assert (status, len(lines)) == (1, 1)
    assert lines[0].startswith(f"FAIL: registers: {field} reads 0x")


def test_a_counter_that_cannot_be_cleared_is_reported(card):
    card, selftest, _, counter = card
    card.say(**{name: 7 for name in COUNTS if name in card.module.FIELDS})
    status, lines = selftest(*CHECKS)
    assert (status, lines[1:]) == (
        1,
        [f"FAIL: counters: the counter {counter} is 7 after it was cleared"],
    )


def test_another_version_is_reported(card):
    card, selftest, *_ = card
    expected = card.software.build["fixed"]["version"]
    card.say(version=expected + 1)
    reported = f"the device holds another design: version is {expected + 1}, not {expected}"
    assert selftest() == (1, [f"FAIL: {reported}"])


@pytest.mark.parametrize("card", [*DESIGNS][:-1], indirect=True)
def test_a_mac_that_does_not_hear_itself_is_reported(card):
    card, selftest, *_ = card
    assert selftest("--only", "links")[0] == 0
    assert {*card.loops} == {0, 2}
    card.linked = 0
    status, lines = selftest("--only", "links", "--loopback", "pcs")
    reported = "the wait for the link of cage 0 to itself has not ended within 0.05 s"
    assert (status, lines, card.loops[-2:]) == (1, [f"FAIL: links: {reported}"], [1, 0])
