"""Shows that the specification is safe and live on each network it is made for, and on no worse."""

import pytest

from sim.p4sgd.golden.allreduce import Verdict
from tests.long import short_and_long
from tests.protocol.explore import explore
from tests.protocol.model import WRONG_SUM, Model
from tests.protocol.ordered import Ordered
from tests.protocol.slots import Slots
from tests.protocol.unordered import Lifetime, Unordered

REACHED = {
    *(Verdict.ADDED, Verdict.REPEATED_PARTIAL, Verdict.ACKNOWLEDGED, Verdict.REPEATED_ACK),
    *(Verdict.PREVIOUS_ACK, Verdict.FULL, Verdict.FREED, Verdict.REPEATED, Verdict.STALE),
}


def check(title, system):
    found = explore(system)
    print(f"{title}: {found}")
    assert found.fault == "", str(found)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("worker_count", [2, 3])
def test_sound_within_the_bound_for_ever(worker_count, width):
    """Any number of uses. The switch never sees an acknowledgement of an incomplete sum."""
    model = Model(worker_count=worker_count, width=width)
    check(f"{worker_count} workers, w = {width}, bounded", Unordered(model, Lifetime.BOUNDED))
    assert model.verdicts == REACHED | {Verdict.EARLY}


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("worker_count", [2, 3])
def test_sound_within_the_bound_with_numbers_that_never_recur(worker_count, width):
    """The checker's numbers are not reduced modulo anything, and all uses come to their end."""
    model = Model(worker_count=worker_count, width=width, total=2 * (1 << width) + 2)
    check(f"{worker_count} workers, w = {width}, counted", Unordered(model, Lifetime.BOUNDED))


SLOT_SIZES = [(2, 1), (2, 2), (3, 1), (3, 2)]


@pytest.mark.parametrize(("worker_count", "width"), short_and_long(SLOT_SIZES, SLOT_SIZES[:2]))
def test_two_slots_sound_within_the_bound(worker_count, width):
    slot = Unordered(Model(worker_count=worker_count, width=width), Lifetime.BOUNDED)
    check(f"2 slots, {worker_count} workers, w = {width}, bounded", Slots(slot))


LINKS = [(2, 1, 1), (2, 1, 2), (3, 1, 1), (2, 1, 3), (2, 2, 2)]


@pytest.mark.parametrize(("worker_count", "width", "capacity"), short_and_long(LINKS, LINKS[:3]))
def test_sound_on_links_that_keep_order(worker_count, width, capacity):
    """One bit is enough; the switch never sees a partial activation too early."""
    model = Model(worker_count=worker_count, width=width)
    title = f"{worker_count} workers, w = {width}, ordered, {capacity} in flight"
    check(title, Ordered(model, capacity))
    assert model.verdicts == REACHED


def test_sound_on_links_that_keep_order_with_numbers_that_never_recur():
    model = Model(worker_count=2, width=1, total=6)
    check("2 workers, w = 1, ordered, 2 in flight, counted", Ordered(model, 2))


@pytest.mark.parametrize("total", short_and_long([1, 2], [1]))
def test_two_slots_sound_on_links_that_keep_order(total):
    slot = Ordered(Model(worker_count=2, width=1, total=total), 1)
    check(f"2 slots, 2 workers, w = 1, ordered, 1 in flight, {total} uses", Slots(slot))


WAITED = [(2, None), (2, 6), (3, 2)]


@pytest.mark.parametrize(("worker_count", "total"), short_and_long(WAITED, WAITED[:2]))
def test_one_bit_sound_if_freed_slots_wait(worker_count, total):
    """Three workers with three uses are sound as well: 2 M states, a minute."""
    model = Model(worker_count=worker_count, width=1, total=total)
    check(f"{worker_count} workers, w = 1, waited", Unordered(model, Lifetime.WAITED))


@pytest.mark.parametrize("width", [1, 2, 3])
def test_no_width_survives_unbounded_delay(width):
    """The first use's sum is accepted 2^w uses later. Without waiting, w = 1 fails alike."""
    found = explore(Unordered(Model(worker_count=2, width=width, total=(1 << width) + 1)))
    print(f"2 workers, w = {width}, unbounded: {found}")
    assert found.fault == WRONG_SUM
    assert len(found.trace) == 10 * (1 << width) + 1
    assert found.trace[-1] == "A takes FA 0: full"


@pytest.mark.parametrize("width", [1, 2])
def test_the_bound_cannot_be_one_use_longer(width):
    system = Unordered(Model(worker_count=2, width=width), Lifetime.BOUNDED, distance=1 << width)
    found = explore(system)
    print(f"2 workers, w = {width}, bound of 2^w uses: {found}")
    assert found.fault == WRONG_SUM


@pytest.mark.parametrize("width", [1, 2])
def test_a_use_has_finished_with_the_last_acknowledgement(width):
    """It has not with the last worker's freeing: an old packet may have begun the next use."""
    found = explore(Unordered(Model(worker_count=2, width=width), Lifetime.FREED))
    print(f"2 workers, w = {width}, bounded by the freeing: {found}")
    assert found.fault == WRONG_SUM


@pytest.mark.parametrize(("workers", "width"), [(0, 1), (4, 1), (2, 0), (2, 9)])
def test_models_are_checked(workers, width):
    with pytest.raises(ValueError, match=r"workers must be|width must be|told apart"):
        Model(worker_count=workers, width=width)
