"""Sums of limbs, each clamped to 32 bits, give the exact sums of numbers of 58 bits."""

import numpy as np
import pytest

from sim.network_switch.step.limbs import joined, limbs
from sim.switchgnn.gcn.fixed_point import MAX_PART


@pytest.mark.parametrize("workers", range(2, 9))
def test_no_limb_is_clamped(workers, seed):
    rng = np.random.default_rng(seed)
    extremes = [-MAX_PART, 1 - MAX_PART, -1, 0, 1, MAX_PART - 1]
    parts = [np.array([*extremes, *rng.integers(-MAX_PART, MAX_PART, 50)]) for _ in range(workers)]
    sums = sum(limbs(part, workers) for part in parts)
    assert np.array_equal(sums, np.clip(sums, -(1 << 31), (1 << 31) - 1))
    assert np.array_equal(joined(sums.astype(np.int32), workers), sum(parts))
