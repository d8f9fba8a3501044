"""Computes in the numbers of integer training: binary points, exact products, inverses."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.golden.arithmetic import Integers, round_shift, saturate
from sim.harness.session import RunFailed

ONE_THREAD = 1 << 18  #: multiplications up to which OpenBLAS uses one thread


def by_rows(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``left @ right``, computed in blocks of rows small enough to start no threads.

    On a busy machine threads wait for each other fifteen times as long as such a product takes.
    """
    rows, step = len(left), max(1, ONE_THREAD // max(1, right.size))
    if rows <= step:
        return left @ right
    return np.concatenate([left[at : at + step] @ right for at in range(0, rows, step)])


VALUE_FRACTION = 16  #: bits of inputs, activations and logits, which have 32
WEIGHT_FRACTION = 24  #: bits of weights, which have 32
GRADIENT_FRACTION = 24  #: bits of gradients by vertex, which have 32
ROOT_FRACTION = 28  #: bits of factors of vertices, at most 1: inverses of degrees, or their roots

EXACT_IN_FLOAT = 1 << 53  #: integers below are exact in float64
MAX_PART = 1 << 58  #: largest part of a sum that a worker has: those of 32 workers fit 64 bits


def to_fixed(values: ArrayLike, fraction: int) -> Integers:
    """Return real numbers that fit as integers, rounded to the nearest."""
    return np.rint(np.ldexp(np.asarray(values, np.float64), fraction)).astype(np.int64)


def product(left: Integers, right: Integers) -> Integers:
    """Return ``left @ right``, exact; raise RunFailed if a sum could need over 58 bits.

    Float64 adds up integers exactly while all sums, of whatever terms in whatever order, are below
    2^53; its products are many times faster than those of integers.
    """
    bound = most(left, 0) @ most(right, 1)
    if bound < EXACT_IN_FLOAT / 2:  # the bound is a float64 itself
        return by_rows(left.astype(np.float64), right.astype(np.float64)).astype(np.int64)
    if bound < MAX_PART:
        return left @ right
    raise RunFailed(
        f"the training diverges: a sum could be {bound:.3g}, over the {MAX_PART:.3g} that a worker"
        " may add up; a lower --eta helps"
    )


def most(values: Integers, axis: int) -> NDArray[np.float64]:
    """Return the largest magnitude along ``axis``."""
    return np.abs(values).max(axis, initial=0).astype(np.float64)


def rounded(sums: Integers, shift: int) -> Integers:
    """Return exact sums as 32-bit numbers with ``shift`` fewer fraction bits."""
    return saturate(round_shift(sums, shift))[0]


def inverse_roots(counts: Integers) -> Integers:
    """Return 1 / sqrt(count), rounded to the nearest, for counts of at least 1.

    Whole numbers all the way: 2^ROOT_FRACTION / sqrt(count) is isqrt(2^(2 ROOT_FRACTION) / count)
    with one bit more, which is then rounded off.
    """
    kinds, place = np.unique(counts, return_inverse=True)
    result = [
        (math.isqrt((1 << 2 * ROOT_FRACTION + 2) // count) + 1) >> 1 for count in kinds.tolist()
    ]
    return np.array(result, np.int64)[place]


def inverses(counts: Integers) -> Integers:
    """Return 1 / count, rounded to the nearest, for counts of at least 1."""
    return ((1 << ROOT_FRACTION + 1) // counts + 1) >> 1
