"""Finds the streams of numbers again."""

import numpy as np
import pytest

from sim.harness.beats import Beats
from sim.harness.history import on_port, search
from sim.harness.mismatch import Wrong, difference

NOW = 99
FRAMES = [{"tag": k % 2, "data": [5 * k, 5 * k + 1]} for k in range(6)]


@pytest.fixture
def known():
    cycles = list(range(10, 16))
    return [
        Beats([7, 8, 9, 10, 11, 12], stream="i", cycles=cycles),
        Beats(FRAMES, stream="o", cycles=cycles),
    ]


def found(left, right, known):
    return search(left, right, known, NOW, lambda name: name == "i")


def test_a_field(known):
    expected = Wrong(stream="o", index=3, cycle=13, field="data", expected="44", got="16")
    received = np.array([frame["data"] for frame in FRAMES[1:]])
    golden = received.copy()
    golden[2, 1] = 44
    assert found(received, golden, known) == expected
    assert found(golden.reshape(-1), received, known) == expected


def test_whole_beats(known):
    received = [value for frame in FRAMES for value in (frame["tag"], *frame["data"])]
    assert found([*received[:-1], 0], received, known) == Wrong(
        stream="o", index=5, cycle=15, expected="0", got="26"
    )


def test_one_that_has_not_come(known):
    assert found([7, 8, 9, 10, 11, 12], [7, 8, 9, 10, 11, 12, 13], known) == Wrong(
        stream="i", index=6, cycle=NOW, expected="13", got="no beat"
    )


def test_what_could_be_anything_is_nothing(known):
    assert found([1, 0], [1, 2], known) is None, "stands in several places"
    assert found([7], [8], known) is None, "too short"
    assert found([1, 2, 3], [1, 2, 4], known) is None
    assert found(5, 6, known) is None


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
