"""Measures cycles of an AllReduce in RTL, and checks what is said of them."""

import pytest

from sim.p4sgd.reproduce.allreduce import Latencies, Order, claims, latencies, shadow_claims

STEP, RANDOM, LATE = Order(0, 0, 3), Order(0, 64, 3), Order(130, 0, 3)


def holds(*result):
    return [claim.holds for claim in claims(result)]


@pytest.mark.parametrize(
    ("step", "random", "expected"),
    [
        ([25, 25], [18, 19], [True, True, True, True]),
        ([25, 26], [18, 19], [True, True, False, True]),
        ([25, 25], [18, 49], [True, True, True, False]),
        ([300, 300], [18, 18], [True, False, True, True]),
    ],
)
def test_claims(step, random, expected):
    late = Latencies(LATE, [285, 285])  # 1.14 us
    assert holds(Latencies(STEP, step), Latencies(RANDOM, random), late) == expected


def test_shadow_copies_save_the_acknowledgement():
    """The latency is the same, a slot is free with the sum, and sums follow twice as fast."""
    orders = [Order(0, 0, 3), Order(40, 0, 3), Order(40, 0, 60, 8)]
    own, other = (latencies(orders, workers=2, shadow=shadow) for shadow in (False, True))
    for at in (0, 1):
        assert own[at].cycles == other[at].cycles
        assert other[at].free - other[at].mean <= 2 < own[at].free / 2 - other[at].free / 2
        assert (own[at].packets, other[at].packets) == (2, 1)
    assert len(own[2].cycles) == len(other[2].cycles) == 59
    assert 0.9 <= own[2].mean / other[2].mean <= 1.1  # eight slots for two ways, four for one
    assert [claim.holds for claim in shadow_claims([*own, *other])] == [False, True]


def test_two_workers():
    orders = [Order(0, 0, 5), Order(40, 0, 5), Order(0, 30, 20)]
    bare, late, spread = latencies(orders, workers=2)
    assert [len(each.cycles) for each in (bare, late, spread)] == [10, 10, 40]
    assert len(set(bare.cycles)) == 1
    assert bare.mean <= 40
    assert set(late.cycles) == {bare.cycles[0] + 80}
    assert bare.cycles[0] - 2 <= min(spread.cycles) <= max(spread.cycles) <= bare.cycles[0]
