import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from sim.netsparse.golden.redundancy import distinct_in_windows, header_share, redundancy
from sim.workloads.partition import Partition

PAPER_HEADERS = {1: 97.6, 2: 95.2, 4: 90.9, 8: 83.3, 16: 71.4, 32: 55.6, 64: 38.5, 128: 23.8}


def by_hand(matrix: csr_array, partition: Partition, window: int, rack: int) -> dict[str, float]:
    """Apply the definitions to one nonzero at a time."""
    owner = [next(k for k in range(partition.nodes) if i < partition.boundaries[k + 1])
             for i in range(partition.count)]  # fmt: skip
    requested = [[] for _ in range(partition.nodes)]
    for row, column in zip(*matrix.nonzero(), strict=True):
        if owner[row] != owner[column]:
            requested[owner[row]].append(int(column))
    windows = [
        len({owner[idx] for idx in stream[k : k + window]})
        for stream in requested
        for k in range(0, len(stream) - window + 1, window)
    ]
    shared = sum(
        any(other != node and other // rack == node // rack and idx in requested[other]
            for other in range(partition.nodes))
        for node in range(partition.nodes) for idx in set(requested[node])
    )  # fmt: skip
    useful = sum(len(set(stream)) for stream in requested)
    remote = sum(map(len, requested))
    sent = sum(node != source for node in range(partition.nodes) for source in owner)
    return {
        "nonzeros_per_row": matrix.nnz / partition.count,
        "share_remote": remote / matrix.nnz,
        "su": (sent - useful) / useful,
        "sa": (remote - useful) / useful,
        "share_shared": shared / useful,
        "destinations": sum(windows) / len(windows),
    }


@pytest.mark.parametrize("partition", [Partition.blocks(50, 7), Partition((0, 3, 3, 40, 41, 50))])
@pytest.mark.parametrize(("window", "rack"), [(1, 1), (4, 2), (7, 3), (16, 16)])
def test_by_hand(partition: Partition, window: int, rack: int) -> None:
    rng = np.random.default_rng(window)
    matrix = csr_array((rng.random((50, 50)) ** 2 < 0.1).astype(int))
    result = redundancy(matrix, partition, window=window, rack=rack)
    for name, value in by_hand(matrix, partition, window, rack).items():
        assert getattr(result, name) == pytest.approx(value), name


def test_blocks_by_their_number() -> None:
    matrix = csr_array(np.ones((50, 50), int))
    assert redundancy(matrix, 7) == redundancy(matrix, Partition.blocks(50, 7))


def test_figure_1() -> None:
    """Eight rows lie on four nodes; two of node 2's nonzeros share idx 3, and two are local."""
    rows, columns = [0, 2, 4, 5, 3, 6], [4, 6, 3, 3, 2, 7]
    matrix = csr_array((np.ones(6, int), (rows, columns)), (8, 8))
    result = redundancy(matrix, 4)
    assert (result.remote, result.useful, result.unaware) == (4, 3, 24)
    assert (result.su, result.sa) == (7, pytest.approx(1 / 3))
    assert math.isnan(result.destinations)  # no window of 64


def test_one_node_has_nothing_remote() -> None:
    result = redundancy(csr_array(np.ones((4, 4), int)), 1)
    assert (result.remote, result.useful, result.unaware, result.share_remote) == (0, 0, 0, 0)
    assert math.isnan(result.su)
    assert math.isnan(result.sa)


def test_windows() -> None:
    values = np.array([1, 1, 2, 5, 5, 5, 3, 4, 3, 9, 9])
    assert distinct_in_windows(values, 3).tolist() == [2, 1, 2]
    assert distinct_in_windows(values, 12).tolist() == []


def test_table_3() -> None:
    for elements, percent in PAPER_HEADERS.items():
        paper = 160 / (160 + 4 * elements)
        assert 100 * paper == pytest.approx(percent, abs=0.06)
        assert header_share(elements) == pytest.approx(164 / (164 + 4 * elements))
        assert abs(header_share(elements) - paper) < 0.0065


def test_headers_of_concatenated_prs() -> None:
    assert header_share(16, 17) == pytest.approx((2 * 64 + 17 * 36) / (2 * 64 + 17 * (36 + 64)))
    assert header_share(1, 1e9) == pytest.approx(36 / 40)
