"""Adds up floats over workers by all-reduces of whole numbers, which a switch can do.

Numbers are taken block by block. The largest exponent of a block on all workers comes first, by an
all-reduce with MAX; then each worker scales its block by it and rounds to whole numbers, and the
sums of these become floats again. A vector is float32, or bfloat16 as its bits in uint16.

With M workers, at most 32, a block whose numbers are all below 2**E has mantissas of B = 31 -
ceil(log2 M) bits. So no sum of mantissas overflows, and a sum differs from the exact one by at most
M * 2**(E - B - 1) (:func:`error_bound`), which is M**2 * 2**-31 times the block's largest number
where M is a power of 2, before it is rounded to the type of the vector. Numbers within B - 24
powers of 2 of that one are exact. Subnormals are numbers as all others; a zero is +0 in the result.
A sum beyond the type's largest number is infinite. An infinity or a NaN of one worker is a
ValueError on all of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 256  #: numbers of a block: a frame's
MOST_WORKERS = 32
NOTHING, NOT_FINITE = -(1 << 15), 1 << 15  #: exponents of a block of zeros, and of one without
Ints = NDArray[np.int32]
AllReduce = Callable[[Ints, str], Ints]  #: of the numbers of this worker, by "MAX" or by "SUM"


def add_up(
    values: NDArray[Any], workers: int, all_reduce: AllReduce, block: int = BLOCK
) -> NDArray[Any]:
    """Return the sums of the workers' ``values``, of the same type; all have as many values."""
    tops = all_reduce(exponents(values, block), "MAX")
    sums = all_reduce(mantissas(values, tops, workers, block), "SUM")
    return floats(sums, tops, workers, block, values.dtype)


def exponents(values: NDArray[Any], block: int = BLOCK) -> Ints:
    """Return the least E of each block for which all its numbers are below 2**E."""
    parts = in_blocks(as_float64(values), block)
    powers = np.where(parts == 0, NOTHING, np.frexp(parts)[1])
    return np.where(np.isfinite(parts), powers, NOT_FINITE).max(1, initial=NOTHING).astype(np.int32)


def mantissas(values: NDArray[Any], tops: Ints, workers: int, block: int = BLOCK) -> Ints:
    """Return the values as whole numbers, each block scaled by the exponent of all workers."""
    if (tops == NOT_FINITE).any():
        block_number = int((tops == NOT_FINITE).argmax())
        raise ValueError(f"a worker has an infinity or a NaN in block {block_number}")
    parts = in_blocks(as_float64(values), block)
    scaled = np.rint(np.ldexp(parts, (bits(workers) - tops)[:, None]))
    return scaled.astype(np.int32).ravel()[: len(values)]


def floats(
    sums: Ints, tops: Ints, workers: int, block: int = BLOCK, dtype: Any = np.float32
) -> NDArray[Any]:
    """Return the sums of all workers' mantissas as floats."""
    parts = in_blocks(sums.astype(np.float64), block)
    with np.errstate(over="ignore"):
        result = np.ldexp(parts, (tops - bits(workers))[:, None]).astype(np.float32)
    return as_type(result.ravel()[: len(sums)], dtype)


def error_bound(tops: Ints, workers: int, block: int = BLOCK) -> NDArray[np.float64]:
    """Return by how much the sum of each number differs at most before it is rounded to its type.

    There are as many as numbers in whole blocks.
    """
    return np.repeat(np.ldexp(float(workers), tops - bits(workers) - 1), block)


def bits(workers: int) -> int:
    """Return the bits of a mantissa beside its sign; ValueError for too many workers."""
    if not 1 <= workers <= MOST_WORKERS:
        raise ValueError(f"workers must be from 1 to {MOST_WORKERS}: {workers}")
    return 31 - (workers - 1).bit_length()


def in_blocks(numbers: NDArray[Any], block: int) -> NDArray[Any]:
    """Return numbers as rows of a block each, with zeros behind the last."""
    return np.pad(numbers, (0, -len(numbers) % block)).reshape(-1, block)


def as_float64(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return a vector's numbers exactly; ValueError for another type."""
    if values.dtype == np.uint16:
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if values.dtype != np.float32:
        raise ValueError(f"values must be float32, or bfloat16 as uint16: {values.dtype}")
    return values.astype(np.float64)


def as_type(values: NDArray[np.float32], dtype: Any) -> NDArray[Any]:
    """Return finite numbers and infinities as bfloat16, to the nearest, ties to even, or as is."""
    if dtype != np.uint16:
        return values
    wide = values.view(np.uint32)
    return (wide + 0x7FFF + (wide >> 16 & 1) >> 16).astype(np.uint16)
