"""Shows that the specification is safe and live on each network it is made for, and on no worse."""

import pytest

from sim.golden.reduction.allreduce import Verdict
from tests.long import short_and_long
from tests.protocol.allreduce.network import Lifetime, flat
from tests.protocol.allreduce.nodes import WRONG_SUM
from tests.protocol.explore import check
from tests.protocol.slots import Slots

REACHED = {
    *(Verdict.ADDED, Verdict.REPEATED_PARTIAL, Verdict.ACKNOWLEDGED, Verdict.REPEATED_ACK),
    *(Verdict.PREVIOUS_ACK, Verdict.FULL, Verdict.FREED, Verdict.REPEATED, Verdict.STALE),
}


def reached(system):
    return system.verdicts(range(len(system.nodes)))


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("workers", [2, 3])
def test_sound_within_the_bound_for_ever(workers, width):
    """Any number of uses. The switch never sees an acknowledgement of an incomplete sum."""
    system = flat(workers, width=width).system()
    check(f"{workers} workers, w = {width}, bounded", system)
    assert reached(system) == REACHED | {Verdict.EARLY}


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("workers", [2, 3])
def test_sound_within_the_bound_with_numbers_that_never_recur(workers, width):
    """The checker's numbers are not reduced modulo anything, and all uses come to their end."""
    system = flat(workers, width=width, total=2 * (1 << width) + 2).system()
    check(f"{workers} workers, w = {width}, counted", system)


SLOT_SIZES = [(2, 1), (2, 2), (3, 1), (3, 2)]


@pytest.mark.parametrize(("workers", "width"), short_and_long(SLOT_SIZES, SLOT_SIZES[:2]))
def test_two_slots_sound_within_the_bound(workers, width):
    slot = flat(workers, width=width).system()
    check(f"2 slots, {workers} workers, w = {width}, bounded", Slots(slot))


LINKS = [(2, 1, 1), (2, 1, 2), (3, 1, 1), (2, 1, 3), (2, 2, 2)]


@pytest.mark.parametrize(("workers", "width", "capacity"), short_and_long(LINKS, LINKS[:3]))
def test_sound_on_links_that_keep_order(workers, width, capacity):
    """One bit is enough; the switch never sees a partial activation too early."""
    system = flat(workers, width=width).on_links(capacity)
    check(f"{workers} workers, w = {width}, ordered, {capacity} in flight", system)
    assert reached(system) == REACHED


def test_sound_on_links_that_keep_order_with_numbers_that_never_recur():
    check("2 workers, w = 1, ordered, 2 in flight, counted", flat(total=6).on_links(2))


@pytest.mark.parametrize("total", short_and_long([1, 2], [1]))
def test_two_slots_sound_on_links_that_keep_order(total):
    slot = flat(total=total).on_links(1)
    check(f"2 slots, 2 workers, w = 1, ordered, 1 in flight, {total} uses", Slots(slot))


WAITED = [(2, None), (2, 6), (3, 2)]


@pytest.mark.parametrize(("workers", "total"), short_and_long(WAITED, WAITED[:2]))
def test_one_bit_sound_if_freed_slots_wait(workers, total):
    """Three workers with three uses are sound as well: 2 M states, a minute."""
    system = flat(workers, total=total, lifetime=Lifetime.WAITED).system()
    check(f"{workers} workers, w = 1, waited", system)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_no_width_survives_unbounded_delay(width):
    """The first use's sum is accepted 2^w uses later. Without waiting, w = 1 fails alike."""
    tree = flat(width=width, total=(1 << width) + 1, lifetime=Lifetime.UNBOUNDED)
    title = f"2 workers, w = {width}, unbounded"
    result = check(title, tree.system(), WRONG_SUM, 10 * (1 << width) + 1)
    assert result.trace[-1] == "A takes FA 0: full"


@pytest.mark.parametrize("width", [1, 2])
def test_the_bound_cannot_be_one_use_longer(width):
    system = flat(width=width, distance=1 << width).system()
    check(f"2 workers, w = {width}, bound of 2^w uses", system, WRONG_SUM)


@pytest.mark.parametrize("width", [1, 2])
def test_a_use_has_finished_with_the_last_acknowledgement(width):
    """It has not with the last worker's freeing: an old packet may have begun the next use."""
    system = flat(width=width, lifetime=Lifetime.FREED).system()
    check(f"2 workers, w = {width}, bounded by the freeing", system, WRONG_SUM)


@pytest.mark.parametrize(("workers", "width"), [(0, 1), (2, 0), (3, 10)])
def test_settings_are_checked(workers, width):
    with pytest.raises(ValueError, match=r"a tree has|width must be|told apart"):
        flat(workers, width=width).system()
