"""Scales a vertex's numbers to the 16-bit features that are sent, and sums back.

The hosts scale, the switch only adds. A graph convolution is

    y_v = sum over v and its neighbours u of x_u / sqrt(d_u d_v).

The owner of u sends s_u = round(2^k x_u / sqrt(d_u)), saturated to the feature's bits; the owner of
v takes round(2^-k (sum of s) / sqrt(d_v)). All workers use the same k.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.golden.arithmetic import Integers, round_shift, saturate
from sim.switchgnn.gcn.fixed_point import ROOT_FRACTION

HEADROOM = 1  #: bits by which a feature may grow in an epoch before it saturates


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

    def sent(self, values: Integers, roots: Integers) -> tuple[NDArray[np.int16], int]:
        """Return the features [vertices, width] to send, and how many of them saturate.

        ``roots`` are 1 / sqrt(d_u) of their vertices.
        """
        shift = self.fraction + ROOT_FRACTION - self.exponent
        features, wrong = saturate(round_shift(values * roots[:, None], shift), self.bits)
        return features.astype(np.int16), int(np.count_nonzero(wrong))

    def received(self, sums: Integers, roots: Integers) -> Integers:
        """Return the values of sums [vertices, width]; ``roots`` are their vertices' 1 / sqrt(d_v).

        A sum of d features is below d 2^15, its product with the root below 2^43 sqrt(d).
        """
        shift = ROOT_FRACTION + self.exponent - self.fraction
        return saturate(round_shift(sums * roots[:, None], shift))[0]


def magnitude(values: Integers, roots: Integers) -> int:
    """Return the largest |x_u| / sqrt(d_u), with ROOT_FRACTION bits more than x."""
    return int(np.abs(values * roots[:, None]).max(initial=0))
