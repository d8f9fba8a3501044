"""Tests values that know which beat they are, and are plain values otherwise."""

import copy
import json
import pickle
from enum import Enum

import numpy as np
import pytest

from sim.harness.beats import Beats, Moments, origin_of, path_of, plain


class Colour(Enum):
    RED = 1


PLAIN = [
    {"tag": k, "pr": {"idx": 10 * k, "set": [k, k + 1]}, "colour": Colour.RED} for k in range(8)
]


@pytest.fixture
def beats():
    cycles = Moments([100 + 3 * k for k in range(8)], stream="o")
    return Beats(copy.deepcopy(PLAIN), stream="o", cycles=cycles)


def places(values):
    return [(origin.index, origin.cycle) for origin in map(origin_of, values)]


def test_what_is_read_knows_its_place(beats):
    origin = origin_of(beats[2])
    assert (origin.stream, origin.index, origin.cycle, origin.field) == ("o", 2, 106, "")
    assert origin.beat == PLAIN[2]
    origin = origin_of(beats[-1]["pr"]["set"][1])
    assert (origin.index, origin.cycle, origin.field) == (7, 121, "pr.set[1]")
    assert origin.beat == PLAIN[7]
    assert places(beats) == [(k, 100 + 3 * k) for k in range(8)]
    assert places([beat["tag"] for beat in beats]) == places(beats)
    assert origin_of(beats[1].get("tag")).field == "tag"
    assert origin_of(next(iter(beats[3]["pr"]["set"]))).field == "pr.set[0]"
    assert origin_of(beats[3]["pr"]["set"][1:][0]).field == "pr.set[1]"


def test_slices_keep_places(beats):
    assert places(beats[3:]) == [(k, 100 + 3 * k) for k in range(3, 8)]
    assert places(beats[1::2][1:]) == [(3, 109), (5, 115), (7, 121)]
    assert places(beats[::-1]) == [(k, 100 + 3 * k) for k in reversed(range(8))]
    assert beats[2:].place(0) == 2
    assert beats[2:2].place(1) == 3
    assert beats.place(8) == beats[5:].place(3) == 8


def test_what_is_forgotten_still_counts(beats):
    beats.clear()
    assert beats == []
    beats.append({"tag": 8})
    beats.cycles.append(150)
    assert places(beats) == [(8, 150)]
    beats.cycles.clear()
    beats.clear()
    beats.append({"tag": 9})
    beats.cycles.append(170)
    assert places(beats) == places(beats[:]) == [(9, 170)]


def test_a_port_has_cycles_only():
    shown = Beats([5, 6, 7], stream="sum", cycles=range(40, 43), numbered=False)
    assert places(shown[1:]) == [(None, 41), (None, 42)]


def test_moments_are_cycles(beats):
    origin = origin_of(beats.cycles[4])
    assert (origin.stream, origin.index, origin.cycle, origin.field) == ("o", 4, 112, "cycle")
    assert places(beats.cycles[6:]) == [(6, 118), (7, 121)]


def test_they_are_plain_values_otherwise(beats):
    assert beats == PLAIN
    assert [*beats] == PLAIN
    assert repr(beats) == repr(PLAIN)
    tag = beats[3]["tag"]
    assert (tag, hash(tag), repr(tag), f"{tag:#x}", {3: "three"}[tag]) == (
        3,
        3,
        "3",
        "0x3",
        "three",
    )
    assert origin_of(tag + 1) is origin_of(3) is origin_of("text") is None
    assert beats[3]["colour"] is Colour.RED
    assert json.dumps(beats[3]["pr"]) == '{"idx": 30, "set": [3, 4]}'
    assert beats[0].get("nothing") is None
    for value in (beats, beats[1:], beats[3], beats[3]["pr"]["set"], tag):
        for twin in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), plain(value)):
            assert twin == value
            assert type(twin) in (list, dict, int)


def test_numpy_takes_them():
    wide = Beats([1 << 63, 1 << 70], stream="o")
    assert np.array([*wide]).tolist() == wide
    array = np.array([row for row in Beats([[1, 2], [3, 4]], stream="o")])
    assert array.dtype == np.int64
    assert array.tolist() == [[1, 2], [3, 4]]


def test_paths():
    assert path_of(["pr", "set", 3]) == "pr.set[3]"
    assert path_of([2, "idx"]) == "[2].idx"
    assert path_of([]) == ""
