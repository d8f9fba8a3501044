"""Splits numbers of 64 bits into those of 32 that an all-reduce adds up, and joins their sums.

A number is below MAX_PART; limb k of it stands for 2^(k bits), and only the last one has a sign.
"""

import numpy as np
from numpy.typing import NDArray

from sim.golden.arithmetic import Integers
from sim.switchgnn.gcn.fixed_point import MAX_PART


def sizes(workers: int) -> tuple[int, int]:
    """Return the bits of a limb, so few that no sum of ``workers`` is clamped, and their number."""
    bits = 31 - (workers - 1).bit_length()
    return bits, -(-MAX_PART.bit_length() // bits)


def limbs(numbers: Integers, workers: int) -> Integers:
    """Return the limbs of numbers, the lowest ones of all first."""
    bits, count = sizes(workers)
    lower = [numbers >> bits * k & (1 << bits) - 1 for k in range(count - 1)]
    return np.concatenate([*lower, numbers >> bits * (count - 1)])


def joined(sums: NDArray[np.integer], workers: int) -> Integers:
    """Return the sums of numbers, from those of their limbs over all workers."""
    bits, count = sizes(workers)
    parts = sums.astype(np.int64).reshape(count, -1)
    return np.sum([part << bits * k for k, part in enumerate(parts)], axis=0)
