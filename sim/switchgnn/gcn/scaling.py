"""Scales a vertex's numbers to the 16-bit features that are sent, and sums back.

The hosts scale, the switch only adds. A graph convolution is

    y_v = sum over v and its neighbours u of f_u g_v x_u,

with the factors f of a source and g of a destination (:func:`factors_of`). The owner of u sends
s_u = round(2^k f_u x_u), saturated to the feature's bits; the owner of v takes
round(2^-k g_v (sum of s)). All workers use the same k.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.golden.arithmetic import Integers, round_shift, saturate
from sim.switchgnn.gcn.fixed_point import ROOT_FRACTION, inverse_roots, inverses
from sim.switchgnn.gcn.workload import Norm

HEADROOM = 1  #: bits by which a feature may grow in an epoch before it saturates


@dataclass(frozen=True)
class Factors:
    """Says by what numbers, of ROOT_FRACTION bits, each end of an edge multiplies a feature.

    Both follow from a vertex's degree d: its edges out, or in, and the one to itself.
    """

    source: Callable[[Integers], Integers]
    destination: Callable[[Integers], Integers]


def factors_of(norm: Norm, *, backward: bool = False) -> Factors:
    """Return the factors of a direction: 1 / sqrt(d) of both ends, or 1 / d of one.

    A mean divides by the degree of what has it: a destination, ``backward`` a source.
    """
    if norm is Norm.SYMMETRIC:
        return Factors(inverse_roots, inverse_roots)
    return Factors(inverses, ones) if backward else Factors(ones, inverses)


def ones(degrees: Integers) -> Integers:
    """Return a factor of 1 for each degree."""
    return np.full_like(degrees, 1 << ROOT_FRACTION)


@dataclass(frozen=True)
class Scale:
    """Says how the features of one aggregation are scaled."""

    exponent: int  #: k
    fraction: int  #: bits of what comes in and goes out
    bits: int  #: width of a feature, its sign included

    @classmethod
    def fitting(cls, largest: int, fraction: int, bits: int) -> "Scale":
        """Return the finest scale that leaves HEADROOM above ``largest``, a :func:`magnitude`."""
        room = bits - 1 - HEADROOM
        exponent = room + fraction + ROOT_FRACTION - largest.bit_length()
        # What is sent and what comes back is shifted right: neither may be shifted left instead.
        most, least = fraction + ROOT_FRACTION, fraction - ROOT_FRACTION
        return cls(min(max(exponent, least), most), fraction, bits)

    def sent(self, values: Integers, factors: Integers) -> tuple[NDArray[np.int16], int]:
        """Return the features [vertices, width] to send, and how many of them saturate.

        ``factors`` are those of their vertices as sources.
        """
        shift = self.fraction + ROOT_FRACTION - self.exponent
        features, wrong = saturate(round_shift(values * factors[:, None], shift), self.bits)
        return features.astype(np.int16), int(np.count_nonzero(wrong))

    def received(self, sums: Integers, factors: Integers) -> Integers:
        """Return the values of sums [vertices, width]; ``factors`` are those of destinations.

        A sum of d features is below d 2^15, its product with a factor below d 2^43.
        """
        shift = ROOT_FRACTION + self.exponent - self.fraction
        return saturate(round_shift(sums * factors[:, None], shift))[0]


def magnitude(values: Integers, factors: Integers) -> int:
    """Return the largest |f_u x_u|, with ROOT_FRACTION bits more than x."""
    return int(np.abs(values * factors[:, None]).max(initial=0))
