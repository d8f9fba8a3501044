"""Compares softmax in whole numbers with float64's."""

import numpy as np
from scipy.special import softmax as reference

from sim.switchgnn.gcn.fixed_point import GRADIENT_FRACTION, VALUE_FRACTION
from sim.switchgnn.gcn.softmax import softmax

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
    found = softmax(logits)
    assert found[:3].tolist() == [[0, ONE], [ONE // 2, ONE // 2], [ONE // 2, ONE // 2]]
    assert found[3, 0] > found[3, 1]
    assert softmax(np.zeros((0, 4), np.int64)).shape == (0, 4)
