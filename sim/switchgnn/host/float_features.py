"""Sums features of any finite floats, by whole numbers of 16 bits that each lane scales for itself.

The largest exponent of a lane on all workers comes first: each worker has its own
(:func:`exponents`) and sends them as a feature in a job that takes the largest (``maximum`` of
:meth:`GnnSwitch.start_job`); the larger of its own and of what comes are the lane's. Then workers
send :func:`features`, and :func:`floats` makes floats of the sums.

Where all numbers of a lane are below 2**E, a sum of n features differs from the exact one by at
most n * 2**(E - 15) (:func:`error_bound`), before it is rounded to float32.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

BITS = 15  #: of a feature beside its sign
NOTHING, NOT_FINITE = -(1 << 15), (1 << 15) - 1  #: exponents of zeros, and of an infinity or a NaN


def exponents(values: NDArray[Any]) -> NDArray[np.int16]:
    """Return for each lane of ``values`` [vertices, lanes] the least E that puts all below 2**E."""
    powers = np.where(values == 0, NOTHING, np.frexp(values)[1])
    powers = np.where(np.isfinite(values), powers, NOT_FINITE)
    return powers.max(0, initial=NOTHING).astype(np.int16)


def features(values: NDArray[Any], tops: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return the features to send, by the largest exponents of all workers.

    ValueError if a worker has an infinity or a NaN; they all have it then.
    """
    if (tops == NOT_FINITE).any():
        lane = int((tops == NOT_FINITE).argmax())
        raise ValueError(f"a worker has an infinity or a NaN in lane {lane}")
    most = (1 << BITS) - 1
    scaled = np.rint(np.ldexp(values.astype(np.float64), BITS - tops.astype(int)))
    return scaled.clip(-most, most).astype(np.int16)


def floats(sums: NDArray[Any], tops: NDArray[np.int16]) -> NDArray[np.float32]:
    """Return sums of features as floats; those beyond the largest float are infinite."""
    with np.errstate(over="ignore"):
        result = np.ldexp(sums.astype(np.float64), tops.astype(int) - BITS)
        return result.astype(np.float32)


def error_bound(tops: NDArray[np.int16], added: ArrayLike) -> NDArray[np.float64]:
    """Return by how much sums of so many features differ at most from the exact ones."""
    return np.ldexp(np.asarray(added, np.float64), tops.astype(int) - BITS)
