"""Checks features as they are sent, and what comes of their sums."""

import numpy as np
import pytest

from sim.switchgnn.gcn.fixed_point import (
    GRADIENT_FRACTION,
    ROOT_FRACTION,
    VALUE_FRACTION,
    inverse_roots,
)
from sim.switchgnn.gcn.scaling import HEADROOM, Scale, magnitude

ONE = np.array([1 << ROOT_FRACTION])


@pytest.mark.parametrize("bits", [8, 12, 16])
@pytest.mark.parametrize("fraction", [VALUE_FRACTION, GRADIENT_FRACTION])
def test_the_largest_feature_leaves_the_headroom(rng, bits, fraction):
    for size in (1, 4, 100, 1 << 20, (1 << 31) - 1):
        values = rng.integers(-size, size + 1, (50, 3))
        values[0, 0] = -size
        roots = inverse_roots(rng.integers(1, 300, 50))
        scale = Scale.fitting(magnitude(values, roots), fraction, bits)
        features, saturations = scale.sent(values, roots)
        assert saturations == 0
        most = 1 << bits - 1 - HEADROOM
        if size > 1 << bits + 8:  # else numbers are so small that they need no more bits
            assert most / 2 <= np.abs(features.astype(int)).max() <= most
        real = values * roots[:, None] / 2.0 ** (fraction + ROOT_FRACTION)
        np.testing.assert_allclose(features * 2.0**-scale.exponent, real, atol=2.0**-scale.exponent)


def test_what_is_too_large_saturates_and_is_counted():
    scale = Scale(exponent=8, fraction=8, bits=8)  # a feature is the value itself
    values = np.array([[127, 128, -128, -129, 5000]])
    features, saturations = scale.sent(values, ONE)
    assert features.dtype == np.int16
    assert features.tolist() == [[127, 127, -128, -128, 127]]
    assert saturations == 3


def test_what_is_sent_comes_back(rng):
    """Both who sends it and who gets it divide by sqrt(d)."""
    degrees = rng.integers(1, 1000, 60)
    roots, values = inverse_roots(degrees), rng.integers(-(1 << 20), 1 << 20, (60, 4))
    scale = Scale.fitting(magnitude(values, roots), VALUE_FRACTION, 16)
    features, _ = scale.sent(values, roots)
    result = scale.received(features.astype(np.int64), roots)
    error = np.abs(result - values / degrees[:, None]).max()
    assert error <= 2.0 ** (VALUE_FRACTION - scale.exponent)


def test_nothing_has_a_scale_too():
    scale = Scale.fitting(0, GRADIENT_FRACTION, 8)
    assert scale.sent(np.zeros((1, 2), np.int64), ONE)[0].tolist() == [[0, 0]]
    assert scale.received(np.array([[1 << 20]]), ONE).tolist() == [[0]]
