from decimal import Decimal, localcontext

import numpy as np
import pytest

from sim.p4sgd.golden.sigmoid import ERROR_BOUND, SEGMENTS, error_bound, sigmoid, table

ONE = 1 << 23
CLAMP = 16 * ONE


def largest_error(first: int, count: int) -> float:
    x = np.arange(first, first + count)
    exact = x * (-1 / ONE)
    np.exp(exact, out=exact)
    exact += 1
    np.reciprocal(exact, out=exact)
    exact -= sigmoid(x) / ONE
    return float(np.abs(exact, out=exact).max())


def test_error_bound_holds_for_every_input_of_the_table() -> None:
    block = 1 << 18
    worst = max(largest_error(first, block) for first in range(0, CLAMP, block))
    assert ERROR_BOUND == error_bound(23) < 1.19e-5
    assert 0.98 * ERROR_BOUND < worst <= ERROR_BOUND  # the bound is nearly met


def test_table_is_rounded_from_exact_values() -> None:
    with localcontext() as context:
        context.prec = 40
        exact = [ONE / (1 + (-Decimal(i) / 32).exp()) for i in range(SEGMENTS + 1)]
        ends = [int(value + Decimal("0.5")) for value in exact]
        margins = [abs((value % 1) - Decimal("0.5")) for value in exact]
    assert table().tolist() == ends
    assert min(margins) > Decimal("1e-6")  # float64 could not have rounded the other way


def test_hand_computed_values() -> None:
    # The first segment rises by 65,531 over 2**18 inputs.
    assert table()[:2].tolist() == [4_194_304, 4_259_835]
    expected = {0: 0, 2: 0, 3: 1, 1 << 17: 32_766}  # the last is a tie: 32,765.5
    assert {x: int(sigmoid(x)) - ONE // 2 for x in expected} == expected


def test_clamp_and_extremes() -> None:
    top = (1 << 31) - 1
    assert sigmoid([CLAMP, CLAMP + 1, top]).tolist() == [ONE] * 3
    assert sigmoid([-CLAMP, -CLAMP - 1, -top - 1]).tolist() == [0] * 3
    assert sigmoid([CLAMP - 1, 1 - CLAMP]).tolist() == [ONE - 1, 1]
    assert abs(1 - 1 / (1 + np.exp(-16.0))) <= ERROR_BOUND


def test_segment_ends_are_the_table() -> None:
    ends = np.arange(SEGMENTS) << 18
    assert sigmoid(ends).tolist() == table()[:-1].tolist()


def test_negative_is_the_complement() -> None:
    x = np.random.default_rng(1).integers(1, 1 << 31, 10_000)
    assert np.array_equal(sigmoid(-x), ONE - sigmoid(x))


def test_monotone_at_segment_ends() -> None:
    ends = np.arange(1, SEGMENTS + 1) << 18
    near = (ends[:, None] + np.arange(-2, 3)).ravel()
    assert (np.diff(sigmoid(near)) >= 0).all()


@pytest.mark.parametrize("fraction_bits", [5, 8, 16, 26])
def test_other_fraction_bits_keep_their_bound(fraction_bits: int) -> None:
    x = np.unique(np.linspace(-17, 17, 100_001) * 2**fraction_bits // 1).astype(np.int64)
    exact = 1 / (1 + np.exp(-x / 2.0**fraction_bits))
    worst = np.abs(sigmoid(x, fraction_bits) / 2.0**fraction_bits - exact).max()
    assert worst <= error_bound(fraction_bits)
