"""The rule of a tree is safe and live, whatever is lost, doubled, late or out of order."""

import pytest

from sim.golden.reduction.allreduce import Verdict
from tests.long import short_and_long
from tests.protocol.allreduce.network import Lifetime, Tree
from tests.protocol.allreduce.nodes import WRONG_SUM
from tests.protocol.explore import check

#: Within the bound, uses go on for ever.
TREES = {
    "two leaves of two workers": Tree(),
    "the same, w = 2": Tree(width=2),
    "the same, w = 3": Tree(width=3),
    "the same, three uses, numbers that never recur": Tree(width=2, total=3),
    "two leaves of three workers": Tree(shape=(3, 3)),
    "three leaves of two workers": Tree(shape=(2, 2, 2)),
    "a leaf and two workers": Tree(shape=(2, None, None)),
    "three levels": Tree(shape=((1, 1), (2,))),
    "three levels, four leaves, w = 2": Tree(shape=((1, 1), (1, 1)), width=2),
    "four levels": Tree(shape=(((2,),), 1)),
}
SHORT = [name for name in TREES if name != "three leaves of two workers"]
#: A switch with a parent sees all of these, and never one that answers what it has not sent.
REACHED = {
    *(Verdict.ADDED, Verdict.REPEATED_PARTIAL, Verdict.ACKNOWLEDGED, Verdict.REPEATED_ACK),
    *(Verdict.PREVIOUS_ACK, Verdict.EARLY, Verdict.STALE),
    *(Verdict.FULL, Verdict.FREED, Verdict.REPEATED),
}


@pytest.mark.parametrize("name", short_and_long(TREES, SHORT))
def test_sound_within_the_bound(name):
    system = TREES[name].system()
    check(name, system)
    if TREES[name].total is None:
        assert system.verdicts(system.job.plan.switches) == REACHED


@pytest.mark.parametrize("total", [1, 2, 3])
def test_sound_without_a_bound_if_numbers_never_recur(total):
    """Packets may come at any time, for ever."""
    tree = Tree(width=2, total=total, lifetime=Lifetime.UNBOUNDED)
    check(f"{total} uses, unbounded", tree.system())


@pytest.mark.parametrize("width", [1, 2])
def test_no_width_survives_unbounded_delay(width):
    tree = Tree(width=width, total=(1 << width) + 1, lifetime=Lifetime.UNBOUNDED)
    check(f"w = {width}, unbounded", tree.system(), WRONG_SUM)
