"""Computes the logistic sigmoid in fixed point: segment ends in a table, linear interpolation."""

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from sim.golden.arithmetic import FRACTION_BITS, Integers, round_shift

SEGMENTS = 512
RANGE = 16
"""The table covers |x| < RANGE; from there on the sigmoid is taken as 0 or 1."""

SEGMENT_BITS = 5
"""Segments per unit, as a power of two: SEGMENTS = RANGE * 2**SEGMENT_BITS."""


def error_bound(fraction_bits: int = FRACTION_BITS) -> float:
    """Return the largest possible |sigmoid(x) / 2**F - sigma(x / 2**F)|, F = fraction_bits.

    Inside the table three errors add up:

    - a chord differs from its curve by at most h**2 / 8 * max|sigma''|, with segments of
      h = 1/32 and max|sigma''| = 1 / (6 sqrt 3);
    - the ends are rounded to nearest, 2**-F / 2 each, and so is every point between them;
    - the interpolation is rounded to nearest, 2**-F / 2.

    Beyond it the only error is the clamp's, at most 1 - sigma(16).
    """
    chord = 2.0 ** (-2 * SEGMENT_BITS) / 8 / (6 * math.sqrt(3))
    clamp = 1 - _sigma(RANGE)
    return max(chord + 2.0**-fraction_bits, clamp)


@cache
def table(fraction_bits: int = FRACTION_BITS) -> Integers:
    """Return the SEGMENTS + 1 segment ends, entry i = floor(sigma(i / 32) * 2**F + 1/2)."""
    ends = [
        math.floor(math.ldexp(_sigma(i / 2**SEGMENT_BITS), fraction_bits) + 0.5)
        for i in range(SEGMENTS + 1)
    ]
    values = np.array(ends, dtype=np.int64)
    values.flags.writeable = False
    return values


def sigmoid(x: ArrayLike, fraction_bits: int = FRACTION_BITS) -> Integers:
    """Return the sigmoid of signed 32-bit fixed-point numbers, 0 .. 2**F, F = fraction_bits.

    |x| selects a segment with its bits from F - 5 upwards; the bits below interpolate. Negative x
    take 1 - sigmoid(|x|) exactly. F is 5..26, so that 16.0 has a code. Products stay below 2**F *
    2**(F - 5) < 2**47. P4SGD, loss derivative of logistic regression.
    """
    x = np.asarray(x, dtype=np.int64)
    item = 1 << fraction_bits
    offset_bits = fraction_bits - SEGMENT_BITS
    magnitude = np.abs(x)
    index = np.minimum(magnitude >> offset_bits, SEGMENTS - 1)
    offset = magnitude & ((1 << offset_bits) - 1)
    low = table(fraction_bits)[index]
    high = table(fraction_bits)[index + 1]
    inside = low + round_shift((high - low) * offset, offset_bits)
    positive = np.where(magnitude >= RANGE << fraction_bits, item, inside)
    return np.where(x < 0, item - positive, positive)


def _sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x))


ERROR_BOUND = error_bound()
"""The bound at the default number of fraction bits, about 1.19e-5."""
