"""Shows that each clause of SwitchGNN's rules is needed: without it something goes wrong."""

from dataclasses import replace

import pytest

from tests.protocol.explore import STUCK, check
from tests.protocol.ordered import Lossless
from tests.protocol.switchgnn.instances import LOADS, PAIR, TRIANGLE
from tests.protocol.switchgnn.nodes import (
    ALARM,
    FAULTS,
    LEFT_BEHIND,
    WRONG_SUM,
    Rules,
)
from tests.protocol.switchgnn.paper import LosingControl, paper
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
    UNSAFE_SPINES,
)
from tests.protocol.unordered import Unordered
from tests.protocol.variants import parametrized

TWO_TURNS = replace(PAIR, open_turns=2)
LATE_SUMS = replace(PAIR, late_sums=True)
#: A's vertex 0 is added to B's sum, and B's vertex 1 goes to A as it is.
ONE_COPY = replace(PAIR, owners=[0, 1], edges={0: [1]}, copies={1: [0]}, open_turns=2)
WITH_LOADS = replace(PAIR, turns=3, **LOADS)
LEVELS = TwoLevels(upwards=2, turns=1)
LEAVES = TwoLeaves(racks=((0, 2), (1,)))
SPINES = TwoLeaves(spines=2, turns=2)

GROUPS = [
    (PAIR, UNSAFE),
    (TWO_TURNS, UNSAFE_OPEN),
    (LATE_SUMS, UNSAFE_LATE),
    (ONE_COPY, UNSAFE_COPIES),
    (WITH_LOADS, UNSAFE_LOADS),
    (LEVELS, UNSAFE_LEVELS),
    (LEAVES, UNSAFE_LEAVES),
    (SPINES, UNSAFE_SPINES),
]


@pytest.mark.parametrize(("name", "instance", "variant"), parametrized(*GROUPS))
def test_each_clause_is_needed(name, instance, variant):
    sees_alarm = variant.fault == ALARM or instance in (LEVELS, LEAVES, SPINES)
    options = {} if sees_alarm else {"watched": FAULTS - {ALARM}}
    check(name, instance.system(variant.rules, **options), variant.fault, variant.steps)


def test_a_turn_of_one_bit_among_three_workers():
    check("one bit", TRIANGLE.system(UNSAFE["a turn of one bit"].rules), LEFT_BEHIND, 29)


@pytest.mark.parametrize("instance", [PAIR, TWO_TURNS], ids=["one turn", "two turns"])
@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_variants(name, instance):
    check(name, instance.system(HARMLESS[name].rules))


def test_each_specified_clause_alone_is_what_differs():
    """With the rules as specified, the same systems are safe and live."""
    for instance, _ in GROUPS:
        check("as specified", instance.system(Rules()))


def test_a_doubled_packet_makes_the_papers_sum_wrong():
    check("doubled", paper(PAIR, network=Unordered), WRONG_SUM, 4)


def test_an_early_timeout_makes_the_papers_sum_wrong():
    """The timeout is worker B's; nothing is doubled; B's last result and its DONE are one step."""
    check("early timeout", paper(PAIR, timeouts=[0, 1]), WRONG_SUM, 22)


def test_an_early_timeout_makes_the_papers_sum_wrong_on_links_that_are_in_order():
    """On links that lose, double and reorder nothing: a fetch is answered before the regular copy
    leaves, which enters the aggregator that the answer has released, and stays for the next block.
    """
    check("in order", paper(TRIANGLE, timeouts=[1], network=Lossless), WRONG_SUM, 25)
    check("without a timeout", paper(TRIANGLE, network=Lossless))


def test_the_papers_protocol_is_stuck_when_a_done_or_an_advance_is_lost():
    """It is stuck once somebody has said DONE, which is not repeated."""
    system = paper(replace(PAIR, turns=1), network=LosingControl)
    check("lost DONE", system, STUCK, 4)
