"""Shows that each clause of SwitchGNN's rules is needed: without it something goes wrong."""

from dataclasses import replace

import pytest

from tests.protocol.explore import STUCK, explore
from tests.protocol.ordered_nodes import OrderedNodes
from tests.protocol.switchgnn.instances import PAIR, TRIANGLE
from tests.protocol.switchgnn.nodes import (
    ALARM,
    FAULTS,
    LEFT_BEHIND,
    TWICE,
    WRONG_COPY,
    WRONG_SUM,
    Rules,
)
from tests.protocol.switchgnn.paper import LosingControl, paper
from tests.protocol.switchgnn.test_rule import LOADS
from tests.protocol.switchgnn.two_leaves import TwoLeaves
from tests.protocol.switchgnn.two_levels import TwoLevels
from tests.protocol.switchgnn.variants import (
    HARMLESS,
    UNSAFE,
    UNSAFE_COPIES,
    UNSAFE_LATE,
    UNSAFE_LEAVES,
    UNSAFE_LEVELS,
    UNSAFE_LOADS,
    UNSAFE_OPEN,
)

TWO_TURNS = replace(PAIR, open_turns=2)
LATE_SUMS = replace(PAIR, late_sums=True)
#: A's vertex 0 is added to B's sum, and B's vertex 1 goes to A as it is.
ONE_COPY = replace(PAIR, owners=[0, 1], edges={0: [1]}, copies={1: [0]}, open_turns=2)
WITH_LOADS = replace(PAIR, turns=3, **LOADS)
LEVELS = TwoLevels(upwards=2, turns=1)
LEAVES = TwoLeaves(racks=((0, 2), (1,)))

EXPECTED = {  # what goes wrong first, after how many steps
    "no seen bitmap": (WRONG_SUM, 4),
    "no turn check": (WRONG_SUM, 14),
    "a turn of one bit": (LEFT_BEHIND, 26),
    "sum freed when sent": (STUCK, 2),
    "FETCH without tag check": (WRONG_SUM, 14),
    "FETCH of a sum that is not complete": (WRONG_SUM, 4),
    "FETCH not answered": (STUCK, 2),
    "DONEs counted": (LEFT_BEHIND, 7),
    "DONE of any turn": (LEFT_BEHIND, 15),
    "ADVANCE not repeated": (STUCK, 11),
    "repeated frame not acknowledged": (STUCK, 2),
    "frame below the base not acknowledged": (STUCK, 2),
    "windows kept": (STUCK, 0),
    "result of any turn": (WRONG_SUM, 13),
    "sum taken again": (TWICE, 4),
    "shared aggregators": (STUCK, 5),
    "shared windows": (STUCK, 6),
    "sum leaves unfinished": (WRONG_SUM, 21),
    "RAWFETCH not passed": (STUCK, 2),
    "RAW of any turn": (WRONG_SUM, 6),
    "feature taken again": (TWICE, 4),
    "RAWFETCH answered by a FEATURE": (STUCK, 2),
    "RAWFETCH answered with the newest feature": (WRONG_COPY, 8),
    "RAWFETCH answered before the turn has begun": (WRONG_COPY, 5),
    "frame acknowledged before the load": (STUCK, 3),
    "frame added before the load": (ALARM, 2),
    "load gives the turn's tag": (WRONG_SUM, 17),
    "load leaves sums complete": (WRONG_SUM, 15),
    "PARTIAL not repeated": (STUCK, 2),
    "aggregator freed when its PARTIAL has left": (STUCK, 2),
    "leaf does not wait for the spine": (STUCK, 8),
    "DONE passed upwards once": (STUCK, 8),
    "PARTIAL added whenever it comes": (ALARM, 3),
    "PARTIAL not acknowledged": (STUCK, 0),
    "DONE passed upwards for one worker": (LEFT_BEHIND, 18),
    "DONE upwards of the next turn": (LEFT_BEHIND, 29),
}
GROUPS = [
    (PAIR, UNSAFE),
    (TWO_TURNS, UNSAFE_OPEN),
    (LATE_SUMS, UNSAFE_LATE),
    (ONE_COPY, UNSAFE_COPIES),
    (WITH_LOADS, UNSAFE_LOADS),
    (LEVELS, UNSAFE_LEVELS),
    (LEAVES, UNSAFE_LEAVES),
]
CASES = [
    pytest.param(instance, rules, name, id=name)
    for instance, group in GROUPS
    for name, rules in group.items()
]


def check(name, system, fault, steps):
    found = explore(system)
    print(f"{name}: {found}")
    assert (found.fault, len(found.trace)) == (fault, steps), str(found)


@pytest.mark.parametrize(("instance", "rules", "name"), CASES)
def test_each_clause_is_needed(instance, rules, name):
    fault, steps = EXPECTED[name]
    options = (
        {} if fault == ALARM or instance in (LEVELS, LEAVES) else {"watched": FAULTS - {ALARM}}
    )
    check(name, instance.system(rules, **options), fault, steps)


def test_a_turn_of_one_bit_among_three_workers():
    check("one bit", TRIANGLE.system(UNSAFE["a turn of one bit"]), LEFT_BEHIND, 29)


@pytest.mark.parametrize("instance", [PAIR, TWO_TURNS], ids=["one turn", "two turns"])
@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_variants(name, instance):
    found = explore(instance.system(HARMLESS[name]))
    print(f"{name}: {found}")
    assert found.fault == "", str(found)


def test_each_specified_clause_alone_is_what_differs():
    """With the rules as specified, the same systems are safe and live."""
    for instance, _ in GROUPS:
        found = explore(instance.system(Rules()))
        assert found.fault == "", str(found)


def test_a_doubled_packet_makes_the_papers_sum_wrong():
    check("doubled", paper(PAIR, doubles=True), WRONG_SUM, 4)


def test_an_early_timeout_makes_the_papers_sum_wrong():
    """The timeout is worker B's; nothing is doubled; B's last result and its DONE are one step."""
    check("early timeout", paper(PAIR, timeouts=[0, 1]), WRONG_SUM, 22)


def test_an_early_timeout_makes_the_papers_sum_wrong_on_links_that_are_in_order():
    """On links that lose, double and reorder nothing: a fetch is answered before the regular copy
    leaves, which enters the aggregator that the answer has released, and stays for the next block.
    """
    check("in order", paper(TRIANGLE, timeouts=[1], network=OrderedNodes), WRONG_SUM, 25)
    assert explore(paper(TRIANGLE, network=OrderedNodes)).fault == "", "without a timeout"


def test_the_papers_protocol_is_stuck_when_a_done_or_an_advance_is_lost():
    """It is stuck once somebody has said DONE, which is not repeated."""
    system = paper(replace(PAIR, turns=1), network=LosingControl)
    check("lost DONE", system, STUCK, 4)
