"""Quantises real features to integer codes of 1..16 bits, and converts trained weights back."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.golden.arithmetic import FRACTION_BITS, Integers

Floats = NDArray[np.float64]
Codes = NDArray[np.integer]
ROWS = 256  #: samples that are quantised at a time
LEAST_SCALE = 1e-300  #: of a feature, for weights in its unit to be finite


@dataclass(frozen=True)
class Quantiser:
    """Shifts, scales, rounds, saturates: (feature - offset) / scale = code / 2**shift.

    shift is bits (unsigned, codes 0 .. 2**bits - 1) or bits - 1 (signed, two's complement). P4SGD,
    MLWeaving's data layout.
    """

    bits: int  # 1..16
    signed: bool
    scale: Floats  # [D], above 0
    offset: Floats | float = 0.0  # [D], or none

    def __post_init__(self) -> None:
        _check_bits(self.bits)

    @classmethod
    def fit(
        cls,
        features: Floats,
        bits: int,
        signed: bool | None = None,
        per_feature: bool = True,
        center: bool = False,
    ) -> "Quantiser":
        """Choose the scale of features[S, D] so that the largest magnitude gets the top code.

        signed None means: signed if any feature is negative. A signed code of one bit is -1 or 0.
        Without `per_feature` one scale serves the data set. A feature that is always 0 has scale 1.
        `center` takes each feature's mean off it first, but off none that is always the same: the
        codes become signed, so a bit of the precision becomes the sign. Zeros of sparse data get
        the code of minus the mean; memory holds every code anyway, so that costs no cycles.
        """
        _check_bits(bits)
        offset: Floats | float = 0.0
        low, high = features.min(axis=0), features.max(axis=0)
        if center:
            offset = np.where(low == high, 0.0, features.mean(axis=0))
            low, high = low - offset, high - offset
        negative = bool((low < 0).any())
        if signed is None:
            signed = negative
        elif negative and not signed:
            raise ValueError(f"unsigned codes need features of at least 0, found {low.min():g}")
        largest = np.maximum(-low, high)
        if not per_feature:
            largest = np.full_like(largest, largest.max())
        codes = 1 << (bits - 1 if signed else bits)
        with np.errstate(over="ignore"):  # reported below
            scale = np.where(largest > 0, largest * (codes / max(codes - 1, 1)), 1.0)
        if not np.isfinite(scale).all():
            raise ValueError(f"features are too large to scale: {largest.max():g}")
        if scale.min() < LEAST_SCALE:
            raise ValueError(f"features are too small to scale: {scale.min():g}; multiply them")
        return cls(bits, signed, scale, offset)

    @property
    def shift(self) -> int:
        """Return the number of fraction bits of a code."""
        return self.bits - 1 if self.signed else self.bits

    def scaled(self, features: Floats) -> Floats:
        """Return features[S, D] in the codes' units, unquantised, as float SGD trains on them."""
        return np.divide(result := features - self.offset, self.scale, out=result)

    def encode(self, features: Floats) -> Codes:
        """Return the codes of features[S, D], rounded by floor(v + 1/2) and saturated."""
        item = 1 << self.shift
        codes = np.empty(features.shape, np.int16 if self.shift < 16 else np.int32)
        for start in range(0, len(features), ROWS):  # data may fill half of the memory
            rounded = np.floor(self.scaled(features[start : start + ROWS]) * item + 0.5)
            codes[start : start + ROWS] = np.clip(rounded, -item if self.signed else 0, item - 1)
        return codes

    def to_original(self, weights: ArrayLike, fraction_bits: int = FRACTION_BITS) -> Floats:
        """Return trained fixed-point weights[D] in the units of the data.

        Then z = features @ weights + intercept(weights).
        """
        return from_fixed(weights, fraction_bits) / self.scale

    def intercept(self, original: Floats) -> Floats:
        """Return what the offset adds to every activation, for weights[D] in original units.

        It has no dimension; for weights [classes, D] it is [classes].
        """
        return -np.sum(self.offset * original, axis=-1)


def truncate(codes: NDArray[np.integer], from_bits: int, to_bits: int) -> NDArray[np.integer]:
    """Return floor(code / 2**(from_bits - to_bits)), which is what reading fewer planes gives."""
    if not 1 <= to_bits <= from_bits:
        raise ValueError(f"to_bits must be 1..{from_bits}, not {to_bits}")
    return codes >> (from_bits - to_bits)


def to_fixed(values: ArrayLike, fraction_bits: int = FRACTION_BITS) -> Integers:
    """Return reals as signed 32-bit fixed point, rounded by floor(v + 1/2) and saturated."""
    codes = np.floor(np.asarray(values, dtype=np.float64) * 2.0**fraction_bits + 0.5)
    return np.clip(codes, -(2.0**31), 2.0**31 - 1).astype(np.int64)


def from_fixed(values: ArrayLike, fraction_bits: int = FRACTION_BITS) -> Floats:
    """Return fixed-point integers as reals, exactly."""
    return np.asarray(values, dtype=np.float64) * 2.0**-fraction_bits


def _check_bits(bits: int) -> None:
    if not 1 <= bits <= 16:
        raise ValueError(f"bits must be 1..16, not {bits}")
