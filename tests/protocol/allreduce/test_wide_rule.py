"""Shows where acknowledgements may ride in the next activation, and that each clause is needed."""

import pytest

from sim.golden.reduction.allreduce import Verdict
from tests.long import short_and_long
from tests.protocol.allreduce.network import Lifetime, flat
from tests.protocol.allreduce.nodes import WRONG_SUM
from tests.protocol.allreduce.wide_variants import HARMLESS, UNSOUND, wide
from tests.protocol.explore import check
from tests.protocol.slots import Slots

REACHED = {
    *(Verdict.ADDED, Verdict.REPEATED_PARTIAL, Verdict.ACKNOWLEDGED, Verdict.REPEATED_ACK),
    *(Verdict.STALE, Verdict.FULL, Verdict.FREED, Verdict.REPEATED),
}


def rode(workers=2, width=1, **settings):
    """Return workers below a switch; no packet of use n - (2^w - 1) outlives the sum of use n."""
    return flat(workers, width=width, **{"rules": wide()} | settings)


def reached(system):
    return system.verdicts(range(len(system.nodes)))


SIZES = [(2, 1), (2, 2), (3, 1), (3, 2)]


@pytest.mark.parametrize(("workers", "width"), short_and_long(SIZES, SIZES[:3]))
def test_sound_within_the_bound_for_ever(workers, width):
    """One bit cannot tell the next use from the one before."""
    system = rode(workers, width).system()
    check(f"{workers} workers, w = {width}, bounded", system)
    assert reached(system) == REACHED | ({Verdict.EARLY} if width > 1 else set())


@pytest.mark.parametrize("workers", [2, 3])
def test_sound_within_the_bound_with_three_bits_without_a_last_use(workers):
    rules = wide(acknowledges_in=())
    check(f"{workers} workers, w = 3, bounded", rode(workers, 3, rules=rules).system())


def test_sound_within_the_bound_with_numbers_that_never_recur():
    check("2 workers, w = 1, counted", rode(total=6).system())


def test_two_slots_sound_within_the_bound():
    check("2 slots, bounded", Slots(rode().system()))


LINKS = [(2, 1, 1), (2, 2, 1), (2, 1, 2), (3, 1, 1)]


@pytest.mark.parametrize(("workers", "width", "capacity"), short_and_long(LINKS, LINKS[:2]))
def test_sound_on_links_that_keep_order(workers, width, capacity):
    """One bit is enough there."""
    system = rode(workers, width).on_links(capacity)
    check(f"{workers} workers, w = {width}, ordered, {capacity} in flight", system)
    assert reached(system) == REACHED


@pytest.mark.parametrize("width", [1, 2])
def test_the_bound_cannot_be_one_use_longer(width):
    """The shortest counterexample: the sum of 2^w uses ago is accepted."""
    system = rode(width=width, distance=1 << width).system()
    result = check(f"w = {width}, bound of 2^w uses", system, WRONG_SUM, 6 * (1 << width) + 1)
    assert result.trace[-1] == "A takes FA 0: full"


@pytest.mark.parametrize("width", [1, 2])
def test_no_width_survives_unbounded_delay(width):
    tree = rode(width=width, total=(1 << width) + 1, lifetime=Lifetime.UNBOUNDED)
    check(f"w = {width}, unbounded", tree.system(), WRONG_SUM, 6 * (1 << width) + 1)


@pytest.mark.parametrize("name", UNSOUND)
def test_unsound_variants_are_detected(name):
    rules, fault, _, workers = UNSOUND[name]
    check(name, rode(workers or 2, 1 if workers else 2, rules=rules).system(), fault)


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_variants_are_sound(name):
    check(name, rode(width=2, rules=HARMLESS[name].rules).system())
