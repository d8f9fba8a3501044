"""Finds the first wrong beat of tests that fail, on a relay with faults."""

import json

import numpy as np
import pytest

from sim.harness import first_wrong
from sim.harness.beats import Beats
from sim.harness.history import on_port, search
from sim.harness.mismatch import Wrong, difference
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
    result = json.loads((folder / first_wrong.FILE).read_text())
    assert [record["case"] for record in result] == failed
    return {record["case"]: record for record in result}


@pytest.mark.parametrize("case", EXPECTED)
def test_names_the_beat(records, case):
    wrong = records[case]["first_wrong"]
    assert wrong is not None
    expected = {"stream": "o"} | EXPECTED[case]
    assert {name: wrong[name] for name in expected} == expected
    assert isinstance(wrong["cycle"], int)


def test_is_silent_about_what_it_cannot_know(records):
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


NOW = 99
FRAMES = [{"tag": k % 2, "data": [5 * k, 5 * k + 1]} for k in range(6)]


@pytest.fixture
def known():
    cycles = list(range(10, 16))
    return [
        Beats([7, 8, 9, 10, 11, 12], stream="i", cycles=cycles),
        Beats(FRAMES, stream="o", cycles=cycles),
    ]


def result(left, right, known):
    return search(left, right, known, NOW, lambda name: name == "i")


def test_a_field(known):
    expected = Wrong(stream="o", index=3, cycle=13, field="data", expected="44", got="16")
    received = np.array([frame["data"] for frame in FRAMES[1:]])
    golden = received.copy()
    golden[2, 1] = 44
    assert result(received, golden, known) == expected
    assert result(golden.reshape(-1), received, known) == expected


def test_whole_beats(known):
    received = [value for frame in FRAMES for value in (frame["tag"], *frame["data"])]
    assert result([*received[:-1], 0], received, known) == Wrong(
        stream="o", index=5, cycle=15, expected="0", got="26"
    )


def test_one_that_has_not_come(known):
    assert result([7, 8, 9, 10, 11, 12], [7, 8, 9, 10, 11, 12, 13], known) == Wrong(
        stream="i", index=6, cycle=NOW, expected="13", got="no beat"
    )


def test_what_could_be_anything_is_nothing(known):
    assert result([1, 0], [1, 2], known) is None, "stands in several places"
    assert result([7], [8], known) is None, "too short"
    assert result([1, 2, 3], [1, 2, 4], known) is None
    assert result(5, 6, known) is None


def test_a_port_that_shows_it():
    ports = {"tdata": 0x12345678, "count": 3, "other": 3}
    path = difference(0x12345678, 0x12345679)
    assert on_port(path, ports, NOW) == Wrong(
        stream="tdata", index=None, cycle=NOW, expected="305419897", got="305419896"
    )
    path = difference(bytes.fromhex("78573412"), bytes.fromhex("78563412"))
    assert on_port(path, ports, NOW) == Wrong(
        stream="tdata", index=None, cycle=NOW, field="[1]", expected="87", got="86"
    )
    assert on_port(difference(3, 4), ports, NOW) is None, "too small to tell"
    assert on_port(difference("a", "b"), ports, NOW) is None
    twice = ports | {"copy": 0x12345678}
    assert on_port(difference(0x12345678, 1), twice, NOW) is None
