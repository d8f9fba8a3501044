"""Checks what a SwitchGNN switch's host software reports, on a stand-in for a card.

That the hardware takes its tables and jobs is ``test_switchgnn_switch_on_rtl.py``.
"""

from dataclasses import replace

import pytest

from gen.designs.catalogue import find_design
from gen.software.switchgnn_switch import software
from hdl.switch.params import Refusal
from hdl.switchgnn.switch.banks.aggregator_params import TableError
from sim.host.device import DeviceError
from sim.host.switch.job_switch import CommandRefused
from sim.switchgnn.host.gnn_switch import Tables
from tests.gen.software.fake_card import FakeCard

BUILT = software(find_design("switchgnn-switch").params_of("tiny"))
TABLES = Tables(
    lists=[[0, None], [2, 1], [None, 2]],
    blocks=[{0: (2, 1), 5: (65535, 0)}, {}, {3: (1, 1)}],
    program=[(2, 3), (0, 1)],
    list_base=7,
    descriptor_base=4,
)
PLACE = {"ports": [0, 1], "epoch": 9, "base": 4, "depth": 6, "two": True}


@pytest.fixture
def driven():
    card = FakeCard(BUILT)
    return card, card.attach()


def test_settings_and_counters(driven):
    card, switch = driven
    switch.set_acks(every=3, delay=70)
    assert (card.heard("ack_every"), card.heard("ack_delay")) == (3, 70)
    card.say(verdict_count=4, port_count=5, total_count=6)
    assert switch.verdicts()[2]["UNLOADED"] == 4
    assert switch.port_counters()[1]["overflows"] == 5
    assert switch.counters()["additions"] == 6


def test_links():
    params = replace(find_design("switchgnn-switch").params_of("tiny"), links=2)
    card = FakeCard(software(params))
    switch = card.attach()
    switch.set_links(above=2, far_port=1, timeout=900)
    heard = [card.heard(name) for name in ("above", "far_port", "link_timeout")]
    assert heard == [2, 1, 900]
    for above in (-1, 3):
        with pytest.raises(ValueError, match=f"above must be 0 to 2: {above}"):
            switch.set_links(above=above, far_port=1, timeout=900)


def test_table_errors(driven):
    card, switch = driven
    assert switch.table_errors(0).cause == "NONE"
    card.say(first_cause=TableError.UNUSED.value, first_turn=3, first_row=2, error_unused=8)
    result = switch.table_errors(1)
    assert (result.cause, result.counts["UNUSED"], result.where["row"]) == ("UNUSED", 8, 2)
    assert result.meaning.startswith("the block expects no contribution")
    assert card.heard("job_number") == 1


def test_refusals_and_waits(driven):
    card, switch = driven
    card.say(refused=1, reason=Refusal.SLOTS_TAKEN.value)
    with pytest.raises(CommandRefused, match="SLOTS_TAKEN, another active job has some of the agg"):
        switch.start_job(1, tables=TABLES, **PLACE)
    switch.seconds = 0.01
    card.say(busy=1)
    with pytest.raises(DeviceError, match="the last command has not ended"):
        switch.stop_job(1)


@pytest.mark.parametrize(
    ("place", "tables", "text"),
    [
        ({"ports": [3]}, {}, r"ports must be some of 0 to 2: \[3\]"),
        ({"depth": 5}, {}, "two turns share an even number: 5 from 4"),
        ({"depth": 14}, {}, "a bank has 16 aggregators"),
        ({"epoch": 1 << 16}, {}, "epoch must be from 0 to 65535"),
        ({}, {"lists": [[3, None]]}, "a row has 2 indices below 3, or None"),
        ({}, {"lists": [[0]]}, "a row has 2 indices below 3, or None"),
        ({}, {"list_base": 254}, "there are 256 rows of lists"),
        ({}, {"descriptor_base": 63}, "there are 64 rows of descriptors"),
        ({}, {"blocks": [{6: (1, 0)}]}, "aggregator 6 must be below 6"),
        ({}, {"blocks": [{0: (0, 0)}]}, "with 1 to 65535 contributions"),
        ({}, {"blocks": [{0: (1, 2)}]}, "and a port of the job: 1, 2"),
        ({}, {"program": []}, "a program has 1 to 256 steps: 0"),
        ({}, {"program": [(3, 1)]}, "a step names a block and at least one turn: 3, 1"),
    ],
)
def test_what_cannot_be(driven, place, tables, text):
    card, switch = driven
    with pytest.raises(ValueError, match=text):
        switch.start_job(1, **PLACE | place, tables=replace(TABLES, **tables))
    assert not card.log
    with pytest.raises(ValueError, match="every must be 1 to 255"):
        switch.set_acks(every=0, delay=1)
