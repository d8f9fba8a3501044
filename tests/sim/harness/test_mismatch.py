"""Finds first differences, and says whose fault they are."""

from dataclasses import dataclass

import numpy as np
import pytest

from sim.harness.beats import Beats
from sim.harness.mismatch import Mismatch, Wrong, decoded, differ, difference, wrong_of

NOW = 99


@dataclass
class Packet:
    idx: int
    data: list


def keys(left, right):
    return [pair.key for pair in difference(left, right)[1:]]


@pytest.mark.parametrize(
    ("left", "right", "path"),
    [
        ([1, 2, 3], [1, 5, 4], [1]),
        ([1, 2], (1, 2, 3), [2]),
        ([], [7], [0]),
        ({"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 3]}, ["b", 1]),
        ({"a": 1}, {"a": 1, "b": 2}, ["b"]),
        (Packet(1, [2]), Packet(1, [3]), ["data", 0]),
        ([Packet(1, [])], [Packet(2, [])], [0, "idx"]),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 5]], [1, 1]),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0]), [1]),
        (np.zeros(3), np.zeros(4), [3]),
        (b"abc", b"abd", [2]),
        (range(3), [0, 1, 3], [2]),
        (3, 4, []),
        ([1], 1, []),
    ],
)
def test_the_path_to_the_first_difference(left, right, path):
    assert keys(left, right) == path
    assert keys(right, left) == path


def test_equal_values_do_not_differ():
    for value in ([1, {"a": (2,)}], np.arange(4), b"x", 3):
        assert not differ(value, value)
        assert keys(value, value) == []


def test_what_was_seen_is_what_was_got():
    beats = Beats([1, 2, 3], stream="o", cycles=[10, 20, 30])
    right = Wrong(stream="o", index=1, cycle=20, expected="5", got="2")
    for sides in ((beats, [1, 5, 3]), ([1, 5, 3], beats)):
        assert wrong_of(difference(*sides), NOW, lambda name: False) == right
    assert wrong_of(difference([1], [2]), NOW, lambda name: False) is None


def test_the_test_itself_is_right():
    sent = Beats([1, 2], stream="i", cycles=[3, 4])
    received = Beats([1, 7], stream="o", cycles=[5, 6])
    for sides in ((sent, received), (received, sent)):
        wrong = wrong_of(difference(*sides), NOW, {"i": True, "o": False}.__getitem__)
        assert (wrong.stream, wrong.expected, wrong.got) == ("o", "2", "7")


def test_what_has_not_come_is_missed_now():
    beats = Beats([{"a": 1}, {"a": 2}], stream="o", cycles=[10, 20])
    expected = Wrong(stream="o", index=2, cycle=NOW, expected="{'a': 3}", got="no beat")
    path = difference(beats, [{"a": 1}, {"a": 2}, {"a": 3}])
    assert wrong_of(path, NOW, lambda name: False) == expected
    path = difference([beat["a"] for beat in beats], [1, 2, 3])
    wrong = wrong_of(path, NOW, lambda name: False)
    assert (wrong.index, wrong.cycle, wrong.expected, wrong.got) == (2, NOW, "3", "no beat")


def test_long_beats_show_the_field_only():
    beat = {"last": 1, "weights": list(range(1000, 1100))}
    beats = Beats([beat], stream="o", cycles=[7])
    expected = [{"last": 1, "weights": [*range(1000, 1099), 4]}]
    wrong = wrong_of(difference(beats, expected), NOW, lambda name: False)
    assert (wrong.field, wrong.expected, wrong.got) == ("weights[99]", "4", "1099")


def test_values_in_a_line():
    assert decoded({"a": np.int64(4), "b": [1, 1 << 40]}) == "{'a': 4, 'b': [1, 0x10000000000]}"
    assert decoded(np.arange(30)).endswith("15, ...]")
    assert decoded(b"\x00\x01") == repr(b"\x00\x01")


def test_in_words():
    wrong = Wrong(stream="o", index=3, cycle=17, field="idx", expected="1", got="2")
    assert str(wrong) == "o, beat 3, cycle 17, idx: expected 1, got 2"
    assert str(Wrong(stream="p", index=None, cycle=None, expected="1", got="2")) == (
        "p: expected 1, got 2"
    )
    assert Mismatch("text", wrong).wrong is wrong
