"""Rounds, saturates and quantises in fixed point, as all golden models do."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

FRACTION_BITS = 23
"""Fraction bits of weights, activations and labels unless a model is told otherwise."""

MANTISSA_BITS = 17
"""Magnitude bits of a step's mantissa: with its sign, the 18-bit operand of a DSP48E2."""

LARGEST_EXPONENT = 63

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


def round_shift(value: ArrayLike, shift: int) -> Integers:
    """Return floor(value / 2**shift + 1/2), ties upwards.

    Any int64 value is legal for shift 0 (identity) and 2..64; for shift 1 below 2**63 - 1.
    """
    value = np.asarray(value, dtype=np.int64)
    if shift == 0:
        return value
    # floor((floor(v / 2**(s-1)) + 1) / 2) is the same number, without a sum that could overflow.
    return ((value >> (shift - 1)) + 1) >> 1


def saturate(value: ArrayLike, bits: int = 32) -> tuple[Integers, Mask]:
    """Clamp to the range of a signed integer of `bits`; the mask tells which entries changed."""
    value = np.asarray(value, dtype=np.int64)
    limit = 1 << (bits - 1)
    clamped = np.clip(value, -limit, limit - 1)
    return clamped, clamped != value


@dataclass(frozen=True)
class Step:
    """Holds the step size eta / B as the hardware does: mantissa * 2**-exponent.

    The mantissa is a positive number of an 18-bit signed operand. It is normalised
    (2**16 <= mantissa < 2**17) unless the exponent has reached its largest value.
    """

    mantissa: int  # 1 .. 2**17 - 1
    exponent: int  # 1 .. 63

    def __post_init__(self) -> None:
        if not 1 <= self.mantissa < 1 << MANTISSA_BITS:
            raise ValueError(f"mantissa must be 1..{(1 << MANTISSA_BITS) - 1}, not {self.mantissa}")
        if not 1 <= self.exponent <= LARGEST_EXPONENT:
            raise ValueError(f"exponent must be 1..{LARGEST_EXPONENT}, not {self.exponent}")

    @classmethod
    def of(cls, eta: float, batch: int = 1) -> "Step":
        """Return the step nearest to eta / B for the learning rate eta and mini-batches of B.

        Below 2**-47 it has fewer mantissa bits; it is at least 2**-63.
        """
        largest, eta_over_b = ((1 << MANTISSA_BITS) - 1) / 2, eta / batch
        if not 0 < eta_over_b <= largest:
            legal = f"eta must be above 0 and at most {largest * batch:.12g}"
            raise ValueError(f"{legal} with mini-batches of {batch}: {eta}")
        exponent = min(MANTISSA_BITS - math.frexp(eta_over_b)[1], LARGEST_EXPONENT)
        mantissa = _nearest(eta_over_b, exponent)
        if mantissa == 1 << MANTISSA_BITS:  # rounding carried into the next power of two
            mantissa, exponent = mantissa >> 1, exponent - 1
        return cls(max(mantissa, 1), exponent)

    @property
    def value(self) -> float:
        """Return the step as a number, exactly."""
        return math.ldexp(self.mantissa, -self.exponent)


def _nearest(value: float, exponent: int) -> int:
    return math.floor(Fraction(value) * Fraction(2) ** exponent + Fraction(1, 2))
