import numpy as np
from scipy.sparse import csr_array

from sim.switchgnn.golden.aggregation import aggregate


def test_a_sum_of_large_features_is_exact():
    adjacency = csr_array(np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]], np.int8))
    features = np.array([[1, -32768], [2, 32767], [3, 32767]], np.int16)
    assert aggregate(adjacency, features).tolist() == [[5, 65534], [0, 0], [1, -32768]]
    assert aggregate(adjacency, features).dtype == np.int64
