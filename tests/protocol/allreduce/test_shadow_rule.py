"""Shows where AllReduce with shadow copies is safe and live, and that each clause is needed."""

import pytest

from sim.golden.reduction.allreduce import Verdict
from tests.long import short_and_long
from tests.protocol.allreduce.network import flat
from tests.protocol.allreduce.nodes import WRONG_SUM
from tests.protocol.allreduce.shadow_variants import HARMLESS, PRINTED, UNSOUND, shadow
from tests.protocol.explore import check, explore
from tests.protocol.slots import Slots

REACHED = {
    *(Verdict.ADDED, Verdict.REPEATED_PARTIAL, Verdict.EARLY, Verdict.STALE),
    *(Verdict.FULL, Verdict.REPEATED),
}


def bounded(width, workers=2, **settings):
    """Return workers whose packets of use n - (2^w - 2) are gone when use n is complete."""
    settings = {"rules": shadow(), "distance": (1 << width) - 2} | settings
    return flat(workers, width=width, **settings)


SIZES = [(2, 2), (2, 3), (3, 2), (3, 3)]


@pytest.mark.parametrize(("workers", "width"), short_and_long(SIZES, SIZES[:3]))
def test_sound_within_the_bound_for_ever(workers, width):
    system = bounded(width, workers).system()
    check(f"{workers} workers, w = {width}, bounded", system)
    assert system.verdicts(range(len(system.nodes))) == REACHED


def test_two_slots_sound_within_the_bound():
    check("2 slots, bounded", Slots(bounded(2).system()))


@pytest.mark.parametrize("width", [2, 3])
def test_the_bound_cannot_be_one_use_longer(width):
    result = explore(bounded(width, distance=(1 << width) - 1).system())
    assert result.fault, str(result)


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize(("rules", "width"), [(PRINTED, 1), (shadow(), 2)])
def test_sound_on_links_that_keep_order(rules, width, workers):
    """One bit is enough there, as SwitchML has it."""
    tree = flat(workers, width=width, rules=rules)
    check(f"{workers} workers, w = {width}, ordered", tree.on_links(1))


def test_the_printed_rule_sums_wrongly_on_links_that_reorder():
    """Even if no packet outlives its use, but for one that comes when the sum is complete."""
    tree = flat(width=1, distance=1, rules=PRINTED, watched=frozenset({WRONG_SUM}))
    check("SwitchML's rule", tree.system(), WRONG_SUM)


@pytest.mark.parametrize("name", UNSOUND)
def test_unsound_variants_are_detected(name):
    variant = UNSOUND[name]
    check(name, bounded(3, rules=variant.rules).system(), variant.fault)


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_variants_are_sound(name, width):
    check(name, bounded(width, rules=HARMLESS[name].rules).system())
