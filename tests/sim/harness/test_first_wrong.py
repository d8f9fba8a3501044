"""Finds the first wrong beat of tests that fail, on a relay with faults."""

import json

import pytest

from sim.harness import first_wrong
from sim.harness.verilator import SimulationError, simulate
from tests.sim.p4sgd import faulty_relay
from tests.sim.p4sgd.faulty_relay import BAD, BEATS, WRONG, Relay, RelayParams

HURT = BEATS[WRONG]["data"]  #: what it ought to be
NUMBERS = {"index": WRONG, "expected": str(HURT), "got": str(BAD["data"]), "field": "data"}


def decoded(beat):
    return f"{{'data': {beat['data']}, 'tag': {beat['tag']}}}"


WHOLE = NUMBERS | {"expected": decoded(BEATS[WRONG]), "got": decoded(BAD)}
EXPECTED = {
    "whole_beats": WHOLE,
    "expected_on_the_left": WHOLE,
    "one_field_of_each": NUMBERS,
    "in_a_loop": NUMBERS | {"expected": str(HURT - 1), "got": str(BAD["data"] - 1)},
    "against_what_went_in": WHOLE,
    "as_an_array": NUMBERS,
    "as_equal_arrays": NUMBERS,
    "one_is_lost": WHOLE | {"field": "tag", "got": decoded(BEATS[WRONG + 1])},
    "one_is_too_many": {"index": 11, "expected": "no beat", "got": decoded(BEATS[11])},
    "none_is_missing_at_the_end": {"index": 4, "expected": decoded(BEATS[4]), "got": "no beat"},
    "cycles_of_beats": {"index": 2, "field": "cycle"},
    "not_equal": {"index": 2, "field": "tag", "expected": "2 > 9", "got": "2"},
    "nothing_was_to_come": {"index": 0, "got": decoded(BEATS[0])},
    "waits_for_ever": {"index": WRONG, "expected": "7 more beats"},
    "cannot_send": {"stream": "i", "index": WRONG, "expected": "7 more beats"},
    "changes_while_it_waits": WHOLE | {"field": ""},
    "a_port": {"stream": "total", "index": None, "expected": "7"},
    "a_port_read_before": {"stream": "total", "index": None, "expected": "7"},
}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Return what the simulator wrote down, by case."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.raises(SimulationError) as error:
        # With waves, as test_rerun.py: both need one simulator.
        simulate(Relay(RelayParams()), faulty_relay.__name__, seed=1, waves=True, folder=folder)
    failed = [case.name for case in error.value.run.failures]
    found = json.loads((folder / first_wrong.FILE).read_text())
    assert [record["case"] for record in found] == failed
    return {record["case"]: record for record in found}


@pytest.mark.parametrize("case", EXPECTED)
def test_names_the_beat(records, case):
    wrong = records[case]["first_wrong"]
    assert wrong is not None
    expected = {"stream": "o"} | EXPECTED[case]
    assert {name: wrong[name] for name in expected} == expected
    assert isinstance(wrong["cycle"], int)


def test_is_silent_about_what_it_cannot_tell(records):
    record = records["nothing_to_do_with_a_stream"]
    assert record["first_wrong"] is None
    assert record["error"].startswith("AssertionError: assert 2 == 3")
    assert set(records) == {*EXPECTED, "nothing_to_do_with_a_stream"}, "and of nothing else"


def test_says_who_waits(records):
    streams = {stream["stream"]: stream for stream in records["waits_for_ever"]["streams"]}
    assert streams["i"]["state"] == "valid waits for ready"
    assert streams["o"]["state"] == "ready waits for valid"
    assert streams["i"]["beats"] == streams["o"]["beats"] == WRONG
    wrong = records["waits_for_ever"]["first_wrong"]
    assert wrong["cycle"] == streams["o"]["last_cycle"]
    assert wrong["got"].startswith("none: ready waits for valid")
