"""What the switch and its workers compute together: Y = A X (SwitchGNN, equation 1)."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def aggregate(adjacency: csr_array, features: NDArray[np.integer]) -> NDArray[np.int64]:
    """The sum of every vertex's neighbours' features, exact in 64 bits.

    ``adjacency`` has a one in row v, column u for each edge from u to v: [vertices, vertices].
    ``features`` and the sums are [vertices, features].
    """
    return adjacency.astype(np.int64) @ features.astype(np.int64)
