"""Makes matrices from the positions of their nonzeros, and checks options of all families."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sim.workloads.files import InputError

LARGEST_VALUE = 9

Ints = NDArray[np.int64]


def assembled(rows: Ints, columns: Ints, count: int, *, seed: int) -> csr_array:
    """Return the ``count`` x ``count`` matrix with nonzeros at these places, repeats merged."""
    ones = np.ones(np.size(rows), np.int32)
    matrix = csr_array((ones, (rows, columns)), (count, count))
    return with_integer_values(matrix, seed=seed)


def with_integer_values(matrix: csr_array, *, seed: int) -> csr_array:
    """Return the same pattern with values 1 to 9: products with small integers are exact."""
    values = np.random.default_rng([seed, 9]).integers(
        1, LARGEST_VALUE + 1, matrix.indices.size, dtype=np.int32
    )
    return csr_array((values, matrix.indices, matrix.indptr), matrix.shape)


def check_at_least(least: int, **values: float) -> None:
    """Raise InputError unless every value is at least ``least``."""
    for name, value in values.items():
        if not value >= least:
            raise InputError(f"{name} must be at least {least}, not {value}")


def check_shares(**values: float) -> None:
    """Raise InputError unless every value is a probability."""
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise InputError(f"{name} must be between 0 and 1, not {value}")


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """Return starts[0] .. + lengths[0] - 1, starts[1] .. and so on, in one array."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())
