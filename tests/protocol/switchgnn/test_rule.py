"""The rules of SwitchGNN are safe and live, whatever is lost, doubled, late or out of order."""

from dataclasses import replace

import pytest

from tests.long import short_and_long
from tests.protocol.explore import check
from tests.protocol.switchgnn.instances import COPIES, LOADS, PAIR, TRIANGLE
from tests.protocol.switchgnn.two_leaves import TwoLeaves
from tests.protocol.switchgnn.two_levels import TwoLevels

TRIANGLE_COPIES = {"copies": {0: [1, 2], 1: [2]}}

#: The short form takes about three seconds; the largest systems have a million states.
SYSTEMS = {
    "one turn": replace(TRIANGLE, turns=3),
    "one turn, late sums": replace(TRIANGLE, turns=3, late_sums=True),
    "one turn, window of two": replace(PAIR, turns=3, window=2),
    "two turns": replace(PAIR, open_turns=2),
    "two turns, three workers": replace(TRIANGLE, turns=3, open_turns=2),
    "two turns, late sums": replace(TRIANGLE, open_turns=2, late_sums=True),
    "two turns, late sums, window of two": replace(PAIR, open_turns=2, late_sums=True, window=2),
    "loads": replace(TRIANGLE, turns=4, late_sums=True, **LOADS),
    "loads, two turns": replace(PAIR, turns=4, open_turns=2, late_sums=True, **LOADS),
    "loads, two turns, three workers": replace(
        TRIANGLE, turns=4, open_turns=2, late_sums=True, **LOADS
    ),
    "copies": replace(PAIR, **COPIES),
    "copies, loads": replace(PAIR, turns=3, **COPIES, **LOADS),
    "copies, late sums": replace(PAIR, late_sums=True, **COPIES),
    "copies, three workers": replace(TRIANGLE, **TRIANGLE_COPIES),
    "copies, two turns": replace(PAIR, open_turns=2, **COPIES),
    "two levels": TwoLevels(),
    "two levels, late sums": TwoLevels(turns=1, late_sums=True),
    "two levels, two sums upwards": TwoLevels(upwards=2, late_sums=True),
    "two levels, two turns": TwoLevels(open_turns=2),
    "two levels, two turns, late sums": TwoLevels(open_turns=2, late_sums=True),
    "two levels, two turns, two sums upwards": TwoLevels(upwards=2, open_turns=2),
    "two leaves": TwoLeaves(turns=2),
    "two leaves, three workers": TwoLeaves(racks=((0, 2), (1,)), turns=2),
    "two leaves, two turns": TwoLeaves(turns=2, open_turns=2),
    "two spines": TwoLeaves(spines=2, turns=3),
    "two spines, three workers": TwoLeaves(racks=((0, 2), (1,)), spines=2, turns=2),
    "two spines, two turns": TwoLeaves(spines=2, turns=2, open_turns=2),
    "two spines, late sums": TwoLeaves(spines=2, turns=2, late_sums=True),
}
SHORT = [
    "one turn",
    "one turn, window of two",
    "two turns",
    "two turns, three workers",
    "loads",
    "loads, two turns",
    "copies",
    "two levels",
    "two levels, late sums",
    "two leaves",
    "two leaves, three workers",
    "two spines",
]


@pytest.mark.parametrize("name", short_and_long(SYSTEMS, SHORT))
def test_safe_and_live(name):
    check(name, SYSTEMS[name].system())
