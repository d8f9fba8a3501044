"""Checks that products are exact, inverse roots the nearest, and softmax near float64's."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import softmax as reference

from sim.harness.session import RunFailed
from sim.switchgnn.gcn.fixed_point import (
    GRADIENT_FRACTION,
    ONE_THREAD,
    ROOT_FRACTION,
    VALUE_FRACTION,
    by_rows,
    inverse_roots,
    inverses,
    product,
    rounded,
    to_fixed,
)
from sim.switchgnn.gcn.softmax import softmax


@pytest.mark.parametrize("bits", [8, 22, 24, 26])
def test_products_are_exact(rng, bits):
    """They are below 2^53, where float64 computes them, around it, and above."""
    limit = 1 << bits
    left, right = rng.integers(-limit, limit, (7, 20)), rng.integers(-limit, limit, (20, 5))
    left[0], right[:, 0] = limit - 1, limit - 1  # as large as a sum can be
    exact = left.astype(object) @ right.astype(object)
    assert product(left, right).tolist() == exact.tolist()


def test_a_product_of_nothing_is_zero():
    nothing = np.zeros((4, 0), np.int64)
    assert product(nothing, nothing.T).tolist() == np.zeros((4, 4)).tolist()


def test_a_sum_beyond_58_bits_is_refused():
    large = np.full((1, 1), 1 << 29)
    assert product(large, large - 1) == (1 << 58) - (1 << 29)
    with pytest.raises(RunFailed, match=r"the training diverges: .* a lower --eta helps"):
        product(large, large)


def test_inverses_and_roots_are_the_nearest():
    counts = np.array([1, 2, 3, 4, 5, 1797, 65_535, 65_536, 10**9])
    for count, root in zip(counts.tolist(), inverse_roots(counts).tolist(), strict=True):
        # root - 1/2 <= 2^F / sqrt(count) <= root + 1/2, squared
        exact = Fraction(1 << 2 * ROOT_FRACTION, count)
        assert (root - Fraction(1, 2)) ** 2 <= exact <= (root + Fraction(1, 2)) ** 2
    for count, inverse in zip(counts.tolist(), inverses(counts).tolist(), strict=True):
        assert abs(Fraction(1 << ROOT_FRACTION, count) - inverse) <= Fraction(1, 2)


def test_numbers_are_rounded_once_and_saturate():
    assert to_fixed([0.5, -0.3, 100.0], 2).tolist() == [2, -1, 400]
    assert rounded(np.array([5, 6, -6, 1 << 40]), 2).tolist() == [1, 2, -1, 2**31 - 1]


ONE = 1 << GRADIENT_FRACTION


def test_it_is_near_the_real_one(rng):
    for spread in (0.01, 1, 10, 1000):
        logits = np.rint(rng.normal(0, spread, (500, 10)) * 2**VALUE_FRACTION).astype(np.int64)
        shares = softmax(logits) / ONE
        np.testing.assert_allclose(shares, reference(logits * 2.0**-VALUE_FRACTION, 1), atol=2e-6)
        np.testing.assert_allclose(shares.sum(1), 1, atol=10 / ONE)


def test_extremes():
    low, high = -(1 << 31), (1 << 31) - 1
    logits = np.array([[low, high], [high, high], [low, low], [0, -1]])
    result = softmax(logits)
    assert result[:3].tolist() == [[0, ONE], [ONE // 2, ONE // 2], [ONE // 2, ONE // 2]]
    assert result[3, 0] > result[3, 1]
    assert softmax(np.zeros((0, 4), np.int64)).shape == (0, 4)


@pytest.mark.parametrize("rows", [0, 1, 1023, 1024, 1025, 5000])
def test_pieces_make_the_whole(rng, rows):
    left, right = rng.integers(-9, 9, (rows, 16)) * 1.0, rng.integers(-9, 9, (16, 16)) * 1.0
    assert ONE_THREAD // right.size == 1024
    assert (by_rows(left, right) == left @ right).all()
