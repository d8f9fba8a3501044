"""Computes softmax in whole numbers, so that every machine finds the same bits."""

import math
from functools import cache

import numpy as np

from sim.golden.arithmetic import Integers, round_shift
from sim.switchgnn.gcn.fixed_point import GRADIENT_FRACTION, VALUE_FRACTION

LOG2_E_FRACTION = 24
LOG2_E = round(math.log2(math.e) * (1 << LOG2_E_FRACTION))
EXPONENT_FRACTION = 24  #: bits of a logit that is multiplied by log2 e
SEGMENT_BITS = 8  #: bits of an index that choose a segment of the table; the others interpolate
OFFSET_BITS = EXPONENT_FRACTION - SEGMENT_BITS
POWER_FRACTION = 30  #: bits of a power of two below 1
NOTHING = 62  #: a power of two with this many zeros in front counts as 0


@cache
def table() -> Integers:
    """Return 2^-(i / 256) for i from 0 to 256."""
    ends = [round(2.0 ** (POWER_FRACTION - i / (1 << SEGMENT_BITS))) for i in range(257)]
    return np.array(ends, np.int64)


def negative_powers(exponents: Integers) -> Integers:
    """Return 2^-x for x of at least 0, by straight lines between 256 points: at most 1e-6 off."""
    whole, part = exponents >> EXPONENT_FRACTION, exponents & (1 << EXPONENT_FRACTION) - 1
    segment, offset = part >> OFFSET_BITS, part & (1 << OFFSET_BITS) - 1
    low, high = table()[segment], table()[segment + 1]
    between = low + round_shift((high - low) * offset, OFFSET_BITS)
    return between >> np.minimum(whole, NOTHING)


def softmax(logits: Integers) -> Integers:
    """Return the shares of e^z in each row, from VALUE_FRACTION to GRADIENT_FRACTION bits.

    A row's largest logit is 2^0, so that a row's sum of powers is at least 1. Logits have 32 bits:
    products with log2 e are below 2^58.
    """
    below = logits.max(1, keepdims=True) - logits
    shift = VALUE_FRACTION + LOG2_E_FRACTION - EXPONENT_FRACTION
    powers = negative_powers(round_shift(below * LOG2_E, shift))
    sums = powers.sum(1, keepdims=True)
    return ((powers << GRADIENT_FRACTION) + sums // 2) // sums
