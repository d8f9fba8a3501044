"""Runs a SwitchGNN switch's host software on a stand-in for a card: tables, jobs, errors."""

from dataclasses import replace

import pytest

from gen.designs.catalogue import find_design
from gen.software.emitted.device import DeviceError
from gen.software.emitted.switch.gnn_switch import Tables
from gen.software.emitted.switch.job_switch import CommandRefused
from gen.software.switchgnn_switch import software
from hdl.switch.params import Refusal
from hdl.switchgnn.switch.aggregator_params import TableError
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup, Step
from sim.switchgnn.switch_driver import block_rows, list_rows, list_words
from tests.gen.guides import gnn_switch_from_the_guide as independent
from tests.gen.software.fake_card import FakeCard

DESIGN = find_design("switchgnn-switch")
TABLES = Tables(
    lists=[[0, None], [2, 1], [None, 2]],
    blocks=[{0: (2, 1), 5: (65535, 0)}, {}, {3: (1, 1)}],
    program=[(2, 3), (0, 1)],
    list_base=7,
    descriptor_base=4,
)
PLACE = {"ports": [0, 1], "epoch": 9, "base": 4, "depth": 6, "two": True}


def card_of(**changes):
    made = software(DESIGN.params_of("tiny", **changes))
    card = FakeCard(made)
    card.written = {}
    at = [0]

    def begin():
        at[0] = 0

    def push():
        place = card.heard("table"), card.heard("table_row")
        card.written.setdefault(place, []).append(card.heard("table_word"))

    card.commands |= {"begin_table": begin, "write_word": push}
    return card, card.attach()


@pytest.fixture
def driven():
    return card_of()


def golden():
    """Return the same job as the project's own driver has it."""
    blocks = [{a: Descriptor(*told) for a, told in block.items()} for block in TABLES.blocks]
    program = [Step(*step) for step in TABLES.program]
    return JobSetup(
        ports=3, banks=2, depth=3, window=4, blocks=blocks, program=program, rows=TABLES.lists
    )


def test_a_job_is_started_with_its_tables(driven):
    card, switch = driven
    switch.start_job(1, tables=TABLES, **PLACE)
    rows, steps = block_rows(golden(), TABLES.descriptor_base)
    assert card.written == {(0, 7): list_words(golden()), (1, 4): rows, (2, 0): steps}
    fields = {"number": 1, "epoch": 9, "ports": 3, "base": 4, "depth": 6, "two": 1}
    fields |= {"last_step": 1, "list_base": 7, "list_rows": 3}
    assert {name: card.heard(f"job_{name}") for name in fields} == fields
    assert card.log[-1] == "start_job"
    switch.stop_job(0)
    assert card.log[-1] == "stop_job"


def test_tables_in_memory_lie_where_the_guide_says():
    sizes = {"tables": "memory", "rows": 1024, "descriptor_rows": 512, "tasks": 256}
    card, switch = card_of(**sizes, table_ports=4)
    switch.start_job(1, tables=TABLES, **PLACE)
    rows, steps = block_rows(golden(), TABLES.descriptor_base)
    assert card.written == {(2, 0): steps}
    whole = [rows[k] | rows[k + 1] << 32 for k in range(0, len(rows), 2)]
    room, half = 1 << 28, 1 << 22
    assert (card.heard("list_line"), card.heard("descriptor_line")) == (0, half)
    for table, size, first, line in (
        (list_rows(golden()), 4, 7, 0),
        (whole, 8, 4, half),
    ):
        for port, at, octets in independent.in_memory(table, size, first, line, 4):
            assert card.read_memory(room * port + at, len(octets)) == octets
    assert "revive_tables" in card.log


def test_settings_and_counters(driven):
    card, switch = driven
    switch.set_acks(every=3, delay=70)
    assert (card.heard("ack_every"), card.heard("ack_delay")) == (3, 70)
    card.say(verdict_count=4, port_count=5, total_count=6)
    assert switch.verdicts()[2]["UNLOADED"] == 4
    assert switch.port_counters()[1]["overflows"] == 5
    assert switch.counters()["additions"] == 6


def test_table_errors(driven):
    card, switch = driven
    assert switch.table_errors(0).cause == "NONE"
    card.say(first_cause=TableError.UNUSED.value, first_turn=3, first_row=2, error_unused=8)
    found = switch.table_errors(1)
    assert (found.cause, found.counts["UNUSED"], found.where["row"]) == ("UNUSED", 8, 2)
    assert found.meaning.startswith("the block expects no contribution")
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
